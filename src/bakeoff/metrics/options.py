"""Options of a metric: read once, by name and type; everything else is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.core.errors import InvalidSpec, UnsupportedOption
from bakeoff.core.registry import near_matches


class Options:
    """Reads the options of one metric.

    The constructor refuses names that the metric does not have; the readers refuse values of the
    wrong kind. Messages name the metric, the option and the value.
    """

    def __init__(self, metric: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """`known` are the names that the metric has, in the order shown to people.

        Raises:
            UnsupportedOption: a name in `given` is not known.
        """
        self._metric = metric
        self._given = dict(given)
        for name in given:
            if name not in known:
                near = near_matches(str(name), known)
                hint = f"did you mean {near[0]!r}? " if near else ""
                listed = f"its options: {', '.join(known)}" if known else "it has no options"
                raise UnsupportedOption(
                    f"metric {metric!r} has no option {name!r}: {hint}{listed}", option=str(name)
                )

    def _wrong(self, name: str, wanted: str) -> InvalidSpec:
        value = self._given[name]
        return InvalidSpec(f"metric {self._metric!r}: option {name!r} is {value!r}; give {wanted}")

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(name, f"a whole number from {low} to {high}")
        return value

    def maybe_whole(self, name: str, low: int, high: int) -> int | None:
        """A whole number from `low` to `high`, or None where the option is absent."""
        if self._given.get(name) is None:
            return None
        return self.whole(name, low, low, high)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, f"a number from {low:g} to {high:g}")
        if not low <= value <= high:
            raise self._wrong(name, f"a number from {low:g} to {high:g}")
        return float(value)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of the allowed words."""
        value = self._given.get(name, default)
        if value not in allowed:
            raise self._wrong(name, f"one of {', '.join(allowed)}")
        return str(value)

    def text(self, name: str) -> str | None:
        """A text that is not blank, or None where the option is absent."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty where the option is absent."""
        value = self._given.get(name)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise self._wrong(name, "a list of texts")
        return tuple(value)
