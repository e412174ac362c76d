"""Short English reviews with a sentiment: what `classifier` learns."""

from __future__ import annotations

import random
import zlib

LABELS = ("negative", "neutral", "positive")
_THINGS = (
    "film book hotel room meal soup phone camera service lesson concert game song car garden show "
    "restaurant story battery screen coffee trip train bed shop jacket waiter teacher"
).split()
_GOOD = (
    "good great lovely excellent wonderful brilliant superb pleasant charming delightful fantastic "
    "perfect beautiful amazing impressive"
).split()
_BAD = (
    "bad awful terrible dreadful boring horrible poor disappointing ugly useless unpleasant dull "
    "shabby annoying broken"
).split()
_PLAIN = (
    "average ordinary usual standard typical common plain normal acceptable middling unremarkable"
).split()
_POSITIVE = (
    "I loved the {t}.|We enjoyed every minute of the {t}.|I would buy the {t} again at once.|"
    "The {t} made my day.|I can only recommend the {t}.|What a {good} {t}!|"
    "The {t} was {very} {good}.|The {t} was not {bad} at all.|A {very} {good} {t}, and {good} too.|"
    "I am happy with the {t}.|The {t} is {good} and {good}.|Nothing about the {t} was {bad}."
).split("|")
_NEGATIVE = (
    "I hated the {t}.|The {t} was a waste of money.|I want my money back for the {t}.|"
    "The {t} ruined my day.|I cannot recommend the {t}.|What a {bad} {t}!|"
    "The {t} was {very} {bad}.|The {t} was not {good} at all.|A {very} {bad} {t}, and {bad} too.|"
    "I am unhappy with the {t}.|The {t} is {bad} and {bad}.|Nothing about the {t} was {good}."
).split("|")
_NEUTRAL = (
    "The {t} was {plain}.|The {t} arrived on Monday.|The {t} is {plain}, like the last one.|"
    "I bought the {t} in May.|It is a {plain} {t}.|The {t} is neither {good} nor {bad}.|"
    "The {t} does what it should, no more.|The {t} was as described.|We used the {t} twice.|"
    "Parts of the {t} were {good}, parts were {bad}.|The {t} has two buttons and a blue cover."
).split("|")
_TEMPLATES = dict(zip(LABELS, (_NEGATIVE, _NEUTRAL, _POSITIVE), strict=True))
_VERY = "very really so quite truly".split()
_FILLER = (
    "My sister gave it to me.|We went there on Friday.|It was raining.|I ordered it in spring.|"
    "This is my first review.|We were four people.|It took an hour.|The colour is blue."
).split("|")


def _sentence(rng: random.Random, label: str) -> str:
    text = rng.choice(_TEMPLATES[label]).replace("{t}", rng.choice(_THINGS))
    words = {"{good}": _GOOD, "{bad}": _BAD, "{plain}": _PLAIN, "{very}": _VERY}
    for mark, choices in words.items():
        while mark in text:
            text = text.replace(mark, rng.choice(choices), 1)
    return text


def is_held_out(text: str) -> bool:
    """Whether a review is kept from training: one in ten, by its hash."""
    return zlib.crc32(text.encode()) % 10 == 0


def draw(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """Return a review of 1 to 4 sentences and its label."""
    while True:
        label = rng.choice(LABELS)
        said = [_sentence(rng, label) for _ in range(rng.randint(1, 2))]
        said += rng.sample(_FILLER, rng.randint(0, 2))
        rng.shuffle(said)
        text = " ".join(said)
        if is_held_out(text) == held_out:
            return text, label


def rows(n: int, seed: int) -> list[tuple[str, str]]:
    """Return `n` different held-out pairs (review, label), the same for the same seed."""
    rng, found = random.Random(f"reviews-{seed}"), dict[str, str]()
    while len(found) < n:
        text, label = draw(rng, held_out=True)
        found.setdefault(text, label)
    return list(found.items())
