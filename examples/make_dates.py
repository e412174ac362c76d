"""Draw `examples/dates.csv`: run `python examples/make_dates.py` from any folder.

It needs the standard library and this project's own `tests/zoo/data_dates.py`, which spells dates
for the training of the small model `dates-t5`. Only days which that file keeps from training are
drawn, with a seed of our own, so that the model meets none of these rows before it is measured.
The same seed gives the same file, byte for byte; `--check` compares instead of writing.
"""

from __future__ import annotations

import csv
import io
import random
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # makes `tests` importable when run as a script

from tests.zoo.data_dates import FIRST, LAST, SPELLINGS, is_held_out  # noqa: E402

ROWS = 200
SEED = "examples/dates.csv, first edition"
HEADER = ("id", "style", "written", "iso")


def _days(rng: random.Random) -> Iterator[date]:
    """Yield the held-out days in random order, each once."""
    every = (FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1))
    held_out = [day for day in every if is_held_out(day)]
    rng.shuffle(held_out)
    yield from held_out


def _styles(rng: random.Random) -> Iterator[str]:
    """Yield names of spellings without end; each round holds every spelling once.

    Rounds keep the first rows of the file varied, for those who take only a few of them.
    """
    while True:
        names = list(SPELLINGS)
        rng.shuffle(names)
        yield from names


def draw(count: int, seed: str) -> list[tuple[str, str, str, str]]:
    """Return `count` rows (id, style, written, iso), no day twice, the same for the same seed."""
    rng = random.Random(seed)
    pairs = zip(range(1, count + 1), _styles(rng), _days(rng), strict=False)
    return [
        (f"date-{number:03}", style, SPELLINGS[style](day), day.isoformat())
        for number, style, day in pairs
    ]


def as_csv(rows: list[tuple[str, str, str, str]]) -> str:
    """Return the rows as CSV text with a header and plain line feeds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    return text.getvalue()


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` say whether it is what this script writes."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"unknown arguments {arguments!r}; use none or --check\n")
        return 2
    path, wanted = HERE / "dates.csv", as_csv(draw(ROWS, SEED)).encode("utf-8")
    if not arguments:
        path.write_bytes(wanted)
        return 0
    if path.is_file() and path.read_bytes() == wanted:
        return 0
    sys.stderr.write(f"{path} is not what make_dates.py writes; run it without --check\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
