"""Rules for column names, the same for every format."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.core.errors import BadDataset
from bakeoff.core.rows import Notice

_SHOWN = 60


def shortened(text: str) -> str:
    """At most 60 characters, for messages; what looks like a name may be a whole document."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def check_columns(names: Sequence[str], file: str, line: int | None = None) -> tuple[Notice, ...]:
    """Refuses blank and repeated names; says which ones differ only in case or outer blanks.

    Raises:
        BadDataset: a name is blank, or stands twice.
    """
    seen: dict[str, int] = {}
    alike: dict[str, list[str]] = {}
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise BadDataset(
                f"column {place} of {len(names)} has no name: name it in the header, or leave the "
                "column out (a table saved with its row numbers has such a column)",
                file=file,
                line=line,
            )
        if name in seen:
            raise BadDataset(
                f"the name stands twice, at places {seen[name]} and {place} of {len(names)}: "
                "rename one of the two",
                file=file,
                line=line,
                column=shortened(name),
            )
        seen[name] = place
        alike.setdefault(name.strip().casefold(), []).append(name)
    return _notices(names, [group for group in alike.values() if len(group) > 1])


def _notices(names: Sequence[str], groups: list[list[str]]) -> tuple[Notice, ...]:
    found = [
        Notice(
            "similar-columns",
            f"columns {', '.join(map(repr, group))} differ only in case or outer blanks",
        )
        for group in groups
    ]
    padded = [name for name in names if name != name.strip()]
    if padded:
        listed = ", ".join(map(repr, padded))
        found.append(Notice("blanks-in-column-name", f"blanks around a column name: {listed}"))
    return tuple(found)
