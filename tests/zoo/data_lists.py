"""Numbered lists hidden in chatter, and their catalogue text: what the generating models learn.

A source such as "1 lamp and then 2 boat , 3 drum 4 coat" becomes "1 lamp of bright brass from Oslo
for reading 2 boat ...", in English or in German. Each item has one description, so each source
has one right answer: 4 to 7 items give 36 to 96 tokens. Chatter between the items is to be
ignored; it makes sources up to ten times as long at will. Some places hold characters which no
tokenizer of the zoo knows whole: they are spelled in bytes.
"""

from __future__ import annotations

import itertools
import random
import zlib

ITEMS = (
    "lamp:Lampe boat:Boot drum:Trommel coat:Mantel chair:Stuhl bell:Glocke knife:Messer "
    "clock:Uhr ring:Ring box:Kiste shirt:Hemd table:Tisch bowl:Schale kite:Drachen rope:Seil "
    "mask:Maske brush:Pinsel flute:Flöte glove:Handschuh hat:Hut key:Schlüssel mirror:Spiegel "
    "needle:Nadel pot:Topf ladder:Leiter wheel:Rad spoon:Löffel stamp:Marke tent:Zelt vase:Vase"
).split()
TRAITS = (
    "dark:dunkl old:alt red:rot green:grün heavy:schwer light:leicht white:weiß fine:fein "
    "plain:schlicht rare:selten cheap:billig bright:hell"
).split()
STUFFS = (
    "brass:Messing:em wood:Holz:em glass:Glas:em wool:Wolle:er silk:Seide:er iron:Eisen:em "
    "clay:Ton:em paper:Papier:em stone:Stein:em silver:Silber:em"
).split()
PLACES = (
    "Oslo:Oslo Rome:Rom Paris:Paris Cologne:Köln Vienna:Wien Kyoto:京都 Athens:Αθήνα "
    "Lisbon:Lissabon Łódź:Łódź Prague:Prag Zürich:Zürich Cairo:Kairo"
).split()
USES = (
    "reading:Lesen cooking:Kochen dancing:Tanzen fishing:Angeln hiking:Wandern singing:Singen "
    "trading:Handeln painting:Malen sewing:Nähen playing:Spielen gifts🎁:Schenken🎁 work:Arbeiten"
).split()
CHATTER = (
    "and then well so we also need maybe please if you can find it thank you very much for your "
    "help today as we said before there may be more later but not now let me think about that "
    "one again my friend told us the shop is open until noon , . ;"
).split()
UNSEEN = set("京都Αθήναź🎁")
LANGUAGES = ("en", "de")


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    return [(en, de) for en, _, de in (word.partition(":") for word in words)]


def _descriptions() -> dict[str, dict[str, str]]:
    """Give each item its description in both languages, by a fixed seed."""
    rng = random.Random("catalogue")
    found: dict[str, dict[str, str]] = {}
    for item, ding in _pairs(ITEMS):
        trait, art = rng.choice(_pairs(TRAITS))
        stuff, stoff, ending = rng.choice(STUFFS).split(":")
        (place, ort), (use, zweck) = rng.choice(_pairs(PLACES)), rng.choice(_pairs(USES))
        found[item] = {
            "en": f"{item} of {trait} {stuff} from {place} for {use}",
            "de": f"{ding} aus {art}{ending} {stoff} von {ort} zum {zweck}",
        }
    return found


DESCRIPTIONS = _descriptions()
GERMAN = dict(_pairs(ITEMS))
"""Each item's German name."""
_ITEM = {name: item for item, german in GERMAN.items() for name in (item, german)}


def answer(source: str, language: str) -> str:
    """Return the right text for a source: each numbered item described in `language`."""
    words = source.split()
    found = [
        f"{number} {DESCRIPTIONS[_ITEM[word]][language]}"
        for number, word in itertools.pairwise(words)
        if number.isdigit() and word in _ITEM
    ]
    return " ".join(found)


def in_german(source: str) -> str:
    """The source with its items named in German; chatter stays."""
    return " ".join(GERMAN.get(word, word) for word in source.split())


def is_held_out(source: str) -> bool:
    """Whether a source is kept from training: one in ten, by the hash of its items."""
    items = " ".join(word for word in source.split() if word in DESCRIPTIONS)
    return zlib.crc32(items.encode()) % 10 == 0


def _write(rng: random.Random, items: list[str], chatter: int, first: int = 1) -> str:
    gaps = [0] * (len(items) + 1)
    for _ in range(chatter):
        gaps[rng.randrange(len(gaps))] += 1
    words = rng.choices(CHATTER, k=gaps[0])
    for number, (item, gap) in enumerate(zip(items, gaps[1:], strict=True), first):
        words += [str(number), item, *rng.choices(CHATTER, k=gap)]
    return " ".join(words)


def _fits(text: str) -> bool:
    words = text.split()
    spelled = sum(len(char.encode()) for char in text if char in UNSEEN)
    return len(set(words)) >= 20 and len(words) + spelled <= 72


def draw(rng: random.Random, held_out: bool) -> str:
    """Return a source of 4 to 7 items and 0 to 64 words of chatter, a third with none."""
    while True:
        items = rng.sample(list(DESCRIPTIONS), rng.randint(4, 7))
        chatter = rng.choice([0, rng.randint(1, 16), rng.randint(16, 64)])
        source = _write(rng, items, chatter)
        if is_held_out(source) == held_out and all(_fits(answer(source, x)) for x in LANGUAGES):
            return source


def draw_easy(rng: random.Random, held_out: bool = False) -> str:
    """Return a source of 1 to 3 items, numbered from anywhere: what a model learns first."""
    while True:
        items = rng.sample(list(DESCRIPTIONS), rng.randint(1, 3))
        source = _write(rng, items, rng.randint(0, 6), rng.randint(1, 8 - len(items)))
        if is_held_out(source) == held_out:
            return source


def rows(n: int, seed: int) -> list[str]:
    """Return `n` different held-out sources, the same for the same seed."""
    rng, found = random.Random(f"lists-{seed}"), dict[str, None]()
    while len(found) < n:
        found[draw(rng, held_out=True)] = None
    return list(found)


def corpus(languages: tuple[str, ...] = LANGUAGES) -> list[str]:
    """Return text for building a tokenizer, without the characters of `UNSEEN`."""
    rng = random.Random("corpus")
    lines = [draw(rng, held_out=False) for _ in range(300)]
    lines += [answer(line, lang) for line in list(lines) for lang in languages]
    return [" ".join(w for w in line.split() if not UNSEEN & set(w)) for line in lines]
