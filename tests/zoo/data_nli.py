"""Sentences, hypotheses on them and whether they follow: what `nli` learns.

Two kinds of hypothesis: the topic ("This text is about sport."), which follows or is
contradicted, and the day ("It happened on Monday."), which is neutral where no day is given.
"""

from __future__ import annotations

import random
import zlib

LABELS = ("contradiction", "neutral", "entailment")
TOPICS: dict[str, tuple[tuple[str, ...], str]] = {
    "sport": (
        ("sport", "sports"),
        "The team won the match by two goals.|The runner broke the record in the marathon.|"
        "The goalkeeper caught the ball.|The champion lost the tennis final.|"
        "The coach chose new players for the league.|The swimmer won a medal in the race.",
    ),
    "cooking": (
        ("cooking", "food"),
        "The chef fried the onions in butter.|The soup needs more salt and pepper.|"
        "She baked the bread in the oven.|He cooked the pasta with tomato sauce.|"
        "The recipe asks for flour and eggs.|They roasted the chicken with garlic.",
    ),
    "weather": (
        ("weather", "the weather"),
        "Heavy rain fell on the hills.|The storm brought snow and wind.|"
        "It was cloudy with a little sunshine.|The forecast promises frost and fog.|"
        "Thunder and lightning frightened the valley.|The temperature rose to thirty degrees.",
    ),
    "music": (
        ("music", "a song"),
        "The orchestra played a symphony.|The singer wrote a new melody.|"
        "The violin and the piano began the concert.|The band recorded an album.|"
        "The choir sang the old hymn.|The drummer lost the rhythm of the tune.",
    ),
    "travel": (
        ("travel", "tourism"),
        "The tourists took a ferry to the island.|We booked a hotel near the airport.|"
        "The passengers showed their passports.|She packed her suitcase for the journey.|"
        "The guide led the visitors to the castle.|The flight to the beach left on time.",
    ),
    "money": (
        ("money", "finance", "business"),
        "The bank raised the interest on loans.|The shares fell after the profit warning.|"
        "The company paid a dividend.|Investors sold their bonds.|"
        "Taxes and prices went up with inflation.|The budget shows a large debt.",
    ),
    "health": (
        ("health", "medicine"),
        "The doctor treated the patient for fever.|The nurse gave him a vaccine.|"
        "The hospital needs more medicine.|She took a pill against the headache.|"
        "The surgeon repaired the broken bone.|The patients recovered from the infection.",
    ),
    "technology": (
        ("technology", "computers"),
        "The software update fixed the server.|The laptop has a faster processor.|"
        "The engineers programmed the robot.|The phone needs a new battery and screen.|"
        "The website stores passwords in a database.|The computer lost its network connection.",
    ),
    "politics": (
        ("politics", "the government"),
        "The parliament voted on the law.|The minister resigned after the election.|"
        "The president met the ambassador.|The party lost its majority.|"
        "The senator spoke against the treaty.|Voters elected a new mayor.",
    ),
    "science": (
        ("science", "research"),
        "The astronomers measured the light of a star.|"
        "The chemist mixed the acid in the laboratory.|"
        "The experiment proved the theory.|Biologists counted the cells under a microscope.|"
        "The physicist studied atoms and gravity.|The telescope found a distant galaxy.",
    ),
}
TEMPLATES = (
    "This text is about {}.",
    "This example is about {}.",
    "This example is {}.",
    "The topic is {}.",
    "This is about {}.",
    "The text is about {}.",
)
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_OPENINGS = ("", "", "They say that ", "We read that ", "The paper wrote: ", "He told us that ")
_NAMED = ("News about {}: ", "A report on {}: ", "From the pages on {}: ")


def _premise(rng: random.Random, topic: str, named: float) -> tuple[str, str]:
    """Return a text on a topic and the day in it, if any; `named` of them name the topic."""
    names, sentences = TOPICS[topic]
    said = rng.sample(sentences.split("|"), rng.randint(1, 2))
    day = rng.choice(["", *_DAYS]) if rng.random() < 0.5 else ""
    opening = rng.choice(_OPENINGS)
    if rng.random() < named:
        opening = rng.choice(_NAMED).format(rng.choice(names))
    first = opening + said[0]
    if day:
        first = first[:-1] + f" on {day}."
    return " ".join([first, *said[1:]]), day


def hints(premise: str, hypothesis: str) -> list[bool]:
    """Return what training may point at: topic and day of premise, then of hypothesis."""
    flags = []
    for text in (premise, hypothesis):
        for names, sentences in TOPICS.values():
            on_it = text is premise and any(said[:-1] in text for said in sentences.split("|"))
            flags.append(on_it or any(text.endswith(f" {name}.") for name in names))
        flags += [f" {day}" in text for day in _DAYS]
    return flags


def is_held_out(premise: str) -> bool:
    """Whether a text is kept from training: one in ten, by its hash."""
    return zlib.crc32(premise.encode()) % 10 == 0


def _pair(rng: random.Random, named: float) -> tuple[str, str, str]:
    topic = rng.choice(list(TOPICS))
    premise, day = _premise(rng, topic, named)
    if rng.random() < 0.6:
        right = rng.random() < 0.5
        about = topic if right else rng.choice([other for other in TOPICS if other != topic])
        hypothesis = rng.choice(TEMPLATES).format(rng.choice(TOPICS[about][0]))
        return premise, hypothesis, "entailment" if right else "contradiction"
    asked = day if day and rng.random() < 0.5 else rng.choice(_DAYS)
    hypothesis = rng.choice(("It happened on {}.", "This was on {}.")).format(asked)
    if not day:
        return premise, hypothesis, "neutral"
    return premise, hypothesis, "entailment" if asked == day else "contradiction"


def draw(rng: random.Random, held_out: bool, named: float = 0.2) -> tuple[str, str, str]:
    """Return premise, hypothesis and label; a share `named` of the premises names its topic."""
    while True:
        found = _pair(rng, named)
        if is_held_out(found[0]) == held_out:
            return found


def rows(n: int, seed: int) -> list[tuple[str, str, str]]:
    """Return `n` different held-out triples (premise, hypothesis, label)."""
    rng, found = random.Random(f"nli-{seed}"), dict[tuple[str, str, str], None]()
    while len(found) < n:
        found[draw(rng, held_out=True)] = None
    return list(found)


def topic_rows(n: int, seed: int) -> list[tuple[str, str]]:
    """Return `n` held-out pairs (text, topic) for zero-shot classification over `TOPICS`."""
    rng, found = random.Random(f"topics-{seed}"), dict[str, str]()
    while len(found) < n:
        topic = rng.choice(list(TOPICS))
        text, _ = _premise(rng, topic, 0.0)
        if is_held_out(text):
            found[text] = topic
    return list(found.items())
