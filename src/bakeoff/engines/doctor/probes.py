"""What models are asked: short prompts, long ones, and ordinary prose."""

from __future__ import annotations

SHORT = (
    "What is the capital of France?",
    "Name three colours of the rainbow.",
    "Write one sentence about the sea.",
    "How many days has a week?",
    "Translate to German: good morning.",
    "Why is the sky blue?",
    "Give me a word that rhymes with house.",
    "Who wrote Romeo and Juliet?",
)
PROSE = (
    "The old harbour lies below the town, and every morning the boats go out before the sun is up. "
    "The fishermen know the water as others know their streets: where it is deep, where the "
    "current turns, and which clouds bring rain before noon. When they come back, the market is "
    "already full of people. Women with baskets ask for the price of the herring, children run "
    "between the stalls, and the owner of the small café opposite puts his chairs out on the "
    "pavement. It has been like this for as long as anyone can remember. In the last ten years, "
    "however, much has changed. The fish have become fewer, the fuel has become dearer, and the "
    "young people look for work in the city, two hours away by train. Of the forty boats that once "
    "lay here, twelve are left. The town council has made a plan: part of the harbour is to become "
    "a museum, with an old trawler that visitors can walk through, and a school where the men who "
    "are too old to go out will teach how nets are made. Some say that this is the end of the real "
    "harbour. Others say that it is the only way to keep it. The mayor, who was a fisherman "
    "himself, says that a harbour without boats is a pond, and a town without work is a picture."
)
LONG = tuple(f"{PROSE} {question}" for question in SHORT)
CONTINUED = (
    ("The capital of France is", " Paris, a large city on the river Seine."),
    ("One, two, three, four,", " five, six, seven"),
    (PROSE[:400], " The boats come home."),
)
"""Pairs of a context and a continuation to score; a blank begins each continuation."""
NEW_TOKENS = 32
"""Of a text that is compared or timed, at most."""
HELD = 2
"""So many of the compared prompts are asked once more for texts of full length."""


def compared() -> tuple[str, ...]:
    """Prompts whose texts are compared: short ones, and one about ten times as long."""
    return (*SHORT[:4], LONG[4])


def cut_to(text: str, tokens: int, most: int) -> str:
    """The end of a text that has `tokens` tokens, so that it has about `most` of them."""
    if tokens <= most:
        return text
    words = text.split(" ")
    kept = max(1, len(words) * most // tokens - 1)
    return " ".join(words[-kept:])
