"""What `bakeoff doctor` prints."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable

from bakeoff.cli.plain import one_line
from bakeoff.engines.doctor.diagnosis import Diagnosis, Finding

_WIDTH = 100
_MARK = max(len("warning"), len("problem"))


def print_diagnosis(found: Diagnosis, as_json: bool) -> None:
    """As aligned lines, or as one JSON object."""
    text = found.to_json() if as_json else "\n".join(lines(found))
    sys.stdout.write(text + "\n")


def lines(found: Diagnosis) -> list[str]:
    """A line a finding: mark, what, value; advice and code stand under what is wrong."""
    width = max((len(one.what) for one in found.findings), default=0)
    shown = [one_line(found.model), ""]
    for one in found.findings:
        shown += _finding(one, width)
    return [*shown, "", _summary(found)]


def _finding(one: Finding, width: int) -> list[str]:
    margin = " " * (_MARK + width + 4)
    first = f"{one.level:<{_MARK}}  {one.what:<{width}}  {one_line(one.value)}"
    if one.level == "ok":
        return _wrapped(first, margin)
    return [
        *_wrapped(f"{first} [{one.code}]", margin),
        *_wrapped(f"{margin}-> {one_line(one.advice)}", margin + "   "),
    ]


def _wrapped(text: str, margin: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent=margin,
        break_on_hyphens=False,
        break_long_words=False,
        drop_whitespace=True,
    )


def _summary(found: Diagnosis) -> str:
    counts = {level: len(found.codes(level)) for level in ("problem", "warning")}
    said = [f"{n} {level}{'' if n == 1 else 's'}" for level, n in counts.items() if n]
    looked = "" if found.loaded else " (the weights were not loaded)"
    return f"{', '.join(said) or 'healthy'}{looked}"


def stages(shown: bool) -> Callable[[str], None]:
    """What is told of the stages: a line on standard error each, or nothing."""

    def say(stage: str) -> None:
        if shown:
            sys.stderr.write(f"{one_line(stage)} ...\n")

    return say
