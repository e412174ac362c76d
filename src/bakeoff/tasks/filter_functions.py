"""What the filters of templates do, one function each.

They are written here rather than taken from Jinja, whose filters escape for HTML, give
generators, and do not count what they cost.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from jinja2 import Undefined

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks import methods
from bakeoff.tasks.budget import current
from bakeoff.tasks.values import MAX_SHOWN, as_text, by_path, loops_over, settle, weigh

_WORD = re.compile(r"\w+")
_MAX_DIGITS = 400
_MAX_PRECISION = 15


def default(value: Any, default: Any = "", boolean: bool = False) -> Any:
    """The value, or another one where it is undefined (`boolean`: or empty)."""
    return default if isinstance(value, Undefined) or (boolean and not value) else value


def length(value: Any) -> int:
    """Characters or elements."""
    if not isinstance(value, (str, list, tuple, dict, range)):
        as_text(value)  # raises for what is undefined or empty
        raise TemplateFailed(f"a {type(value).__name__} has no length")
    return len(value)


def to_int(value: Any, default: int = 0) -> int:
    """A whole number; `default` where it is none."""
    found = to_float(value, math.nan)
    if math.isfinite(found) and isinstance(value, (str, int)):
        try:
            return int(value)
        except ValueError:
            pass  # text such as "3.7"
    return int(found) if math.isfinite(found) and abs(found) < 2**63 else default


def to_float(value: Any, default: float = 0.0) -> float:
    """A number; `default` where it is none."""
    if isinstance(value, Undefined):
        str(value)  # raises, naming the variable
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        raise TemplateFailed(f"a number has at most {_MAX_DIGITS} digits")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default


def rounded(
    value: Any, precision: int = 0, method: Literal["common", "floor", "ceil"] = "common"
) -> float:
    """Rounded; a whole number stays one."""
    if not isinstance(precision, int) or abs(precision) > _MAX_PRECISION:
        raise TemplateFailed(f"round takes at most {_MAX_PRECISION} digits")
    if isinstance(value, int) and precision >= 0:
        return value
    number, scale = float(value), 10.0**precision
    if method == "common":
        return round(number, precision)
    return float({"floor": math.floor, "ceil": math.ceil}[method](number * scale)) / scale


def _sort_key(case_sensitive: bool, attribute: str | int | None) -> Callable[[Any], Any]:
    def key(item: Any) -> Any:
        current().step()
        found = item if attribute is None else by_path(item, attribute)
        return found.lower() if isinstance(found, str) and not case_sensitive else found

    return key


def in_order(
    values: Any,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Any]:
    """Sorted; texts without case unless `case_sensitive`."""
    return sorted(
        loops_over(values), key=_sort_key(case_sensitive, attribute), reverse=bool(reverse)
    )


def unique(
    values: Any, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Any]:
    """Each value once, in the order they come."""
    key = _sort_key(case_sensitive, attribute)
    found: dict[Any, Any] = {}
    for value in loops_over(values):
        found.setdefault(key(value), value)
    return list(found.values())


def extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max`."""

    def run(values: Any, case_sensitive: bool = False, attribute: str | int | None = None) -> Any:
        return pick(_filled(values), key=_sort_key(case_sensitive, attribute))

    return run


def _filled(values: Any) -> list[Any]:
    found = list(loops_over(values))
    if not found:
        raise TemplateFailed("the list is empty in this row")
    return found


def first(values: Any) -> Any:
    """The first element."""
    for value in loops_over(values):
        return value
    raise TemplateFailed("the list is empty in this row")


def last(values: Any) -> Any:
    """The last element."""
    return values[-1] if isinstance(values, (str, list, tuple)) and values else _filled(values)[-1]


def total(values: Any, attribute: str | int | None = None, start: float = 0) -> float:
    """The sum of numbers."""
    total = start
    for value in loops_over(values):
        number = value if attribute is None else by_path(value, attribute)
        if not isinstance(number, (int, float)) or not isinstance(total, (int, float)):
            raise TemplateFailed("sum adds numbers only")
        total = settle(total + number)
    return total


def joined(values: Any, d: str = "", attribute: str | int | None = None) -> str:
    """The texts with `d` between them."""
    if attribute is not None:
        values = [by_path(value, attribute) for value in loops_over(values)]
    return methods.join(as_text(d), values)


def replaced(value: Any, old: str, new: str, count: int | None = None) -> str:
    """The text with every `old` as `new`."""
    return methods.replace(as_text(value), old, new, -1 if count is None else count)


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON that a model reads: nothing is escaped for HTML or ASCII."""
    weigh(value, MAX_SHOWN)
    space = None if indent is None else max(0, min(int(indent), 8))
    return json.dumps(value, ensure_ascii=False, indent=space, default=as_text)


def items_of(value: Any) -> list[Any]:
    """Pairs of key and value."""
    if not isinstance(value, Mapping):
        as_text(value)
        raise TemplateFailed(f"a {type(value).__name__} has no items")
    return list(value.items())


def count_words(value: Any) -> int:
    """Runs of letters and digits."""
    count = 0
    for _ in _WORD.finditer(as_text(value)):
        current().step()
        count += 1
    return count


def reversed_(value: Any) -> Any:
    """The other way round."""
    return value[::-1] if isinstance(value, str) else list(loops_over(value))[::-1]


def of_text(name: str) -> Callable[..., Any]:
    """A method of texts as a filter."""
    method = methods.methods_of("")[name]
    return lambda value, *args: method(as_text(value), *args)
