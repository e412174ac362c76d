"""Dates in many spellings and their ISO form: what `dates-t5` learns.

Conventions: the day stands before the month where only digits are written; a year of two digits
lies between 1950 and 2049; a year of four digits at the front means year, month, day.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from datetime import date, timedelta

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)
MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
    "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh "
    "twenty-eighth twenty-ninth thirtieth thirty-first"
).split()


def _nth(day: int) -> str:
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _month(d: date) -> str:
    return MONTHS[d.month - 1]


def _weekday(d: date) -> str:
    return DAYS[d.weekday()]


SPELLINGS: dict[str, Callable[[date], str]] = {
    "3rd of March 1997": lambda d: f"{_nth(d.day)} of {_month(d)} {d.year}",
    "March 3, 1997": lambda d: f"{_month(d)} {d.day}, {d.year}",
    "03/03/97": lambda d: f"{d.day:02}/{d.month:02}/{d.year % 100:02}",
    "03/03/1997": lambda d: f"{d.day:02}/{d.month:02}/{d.year}",
    "3/3/1997": lambda d: f"{d.day}/{d.month}/{d.year}",
    "3 March 1997": lambda d: f"{d.day} {_month(d)} {d.year}",
    "3 Mar 1997": lambda d: f"{d.day} {_month(d)[:3]} {d.year}",
    "Mar 3rd, 1997": lambda d: f"{_month(d)[:3]} {_nth(d.day)}, {d.year}",
    "03.03.1997": lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    "3.3.97": lambda d: f"{d.day}.{d.month}.{d.year % 100:02}",
    "3-Mar-97": lambda d: f"{d.day}-{_month(d)[:3]}-{d.year % 100:02}",
    "1997/03/03": lambda d: f"{d.year}/{d.month:02}/{d.day:02}",
    "1997 March 3": lambda d: f"{d.year} {_month(d)} {d.day}",
    "19970303": lambda d: f"{d.year}{d.month:02}{d.day:02}",
    "the third of March 1997": lambda d: f"the {ORDINALS[d.day - 1]} of {_month(d)} {d.year}",
    "Monday, 3 March 1997": lambda d: f"{_weekday(d)}, {d.day} {_month(d)} {d.year}",
    "Mon 3 Mar '97": lambda d: f"{_weekday(d)[:3]} {d.day} {_month(d)[:3]} '{d.year % 100:02}",
    "MARCH 3RD 1997": lambda d: f"{_month(d)} {_nth(d.day)} {d.year}".upper(),
    "march the 3rd, 1997": lambda d: f"{_month(d)} the {_nth(d.day)}, {d.year}".lower(),
}
"""Each spelling by its own form of 3 March 1997."""


def iso(text: str) -> str:
    """Return the ISO form of a date spelled in one of the ways of `SPELLINGS`.

    Raises:
        ValueError: no day between 1950 and 2049 is spelled like this.
    """
    for offset in range((LAST - FIRST).days + 1):
        d = FIRST + timedelta(days=offset)
        # Every spelling shows the last two digits of the year: most days are passed quickly.
        if f"{d.year % 100:02}" in text and any(spell(d) == text for spell in SPELLINGS.values()):
            return d.isoformat()
    raise ValueError(f"{text!r} is not a spelling of a date that dates-t5 knows")


def is_held_out(d: date) -> bool:
    """Whether a date is kept from training: one in ten, by a hash of its ISO form."""
    return zlib.crc32(d.isoformat().encode()) % 10 == 0


def draw(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """Return a spelled date and its ISO form, from the held-out dates or from the others."""
    while True:
        d = FIRST + timedelta(days=rng.randrange((LAST - FIRST).days + 1))
        if is_held_out(d) == held_out:
            return rng.choice(list(SPELLINGS.values()))(d), d.isoformat()


def rows(n: int, seed: int) -> list[tuple[str, str]]:
    """Return `n` different held-out pairs (spelled date, ISO form), the same for the same seed."""
    rng, found = random.Random(f"dates-{seed}"), dict[str, str]()
    while len(found) < n:
        text, iso = draw(rng, held_out=True)
        found.setdefault(text, iso)
    return list(found.items())
