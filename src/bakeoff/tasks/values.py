"""The plain values that templates handle, and what they weigh."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Undefined

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks.budget import MAX_BYTES, current

MAX_NUMBER_BITS = 256
MAX_SHOWN = 10 * 1024 * 1024
MAX_RANGE = 10_000

_SCALARS = (
    int,
    float,
    type(None),
    bytes,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
)
_LOOPED = (str, list, tuple, dict, range)


def weigh(value: Any, limit: int = MAX_BYTES) -> int:
    """Bytes of a value with everything in it, counted as often as it can be reached.

    `[a, a]` weighs twice as much as `a` although it takes no more memory: what Python does with
    a list in one go (compare, print, hash) costs its weight, and cannot be interrupted.

    Raises:
        TemplateFailed: it is heavier than `limit`, or holds something other than plain data.
        UndefinedError: it holds an undefined value.
    """
    budget = current()
    total = 0
    pending = [value]
    while pending:
        budget.step()
        item = pending.pop()
        total += sys.getsizeof(item)
        if isinstance(item, (list, tuple)):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif not isinstance(item, (str, range, *_SCALARS)):
            raise not_plain(item)
        if total > limit:
            raise TemplateFailed(f"the template handles a value of more than {limit // 2**20} MiB")
    return total


def settle(value: Any) -> Any:
    """Count what a call or a filter made.

    Raises:
        TemplateFailed: it is too much, or no plain data.
    """
    if isinstance(value, str):
        current().allocate(sys.getsizeof(value))
    elif isinstance(value, (list, tuple, dict)):
        current().allocate(sys.getsizeof(value))
        weigh(value)
    elif isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise TemplateFailed("the number is too large")
    return value


def as_text(value: Any) -> str:
    """How a value is printed.

    Raises:
        TemplateFailed: it has no value, or is no plain data.
        UndefinedError: it is undefined; the name is named.
    """
    if isinstance(value, str):
        return value
    if value is None:
        raise TemplateFailed(
            "the template prints a cell that has no value in this row: write {{ x or '' }}"
        )
    if isinstance(value, (list, tuple, dict, range, bytes)):
        weigh(value, MAX_SHOWN)
    elif not isinstance(value, _SCALARS):
        raise not_plain(value)
    return str(value)


def loops_over(values: Any) -> Iterator[Any]:
    """The elements, each of which costs a step.

    Raises:
        TemplateFailed: it has no elements, or they are too many.
    """
    if not isinstance(values, _LOOPED):
        if isinstance(values, Undefined):
            str(values)  # raises, naming the variable
        what = "a cell without a value" if values is None else f"a {type(values).__name__}"
        raise TemplateFailed(f"the template loops over {what}: it has no elements")
    budget = current()
    for value in values:
        budget.step()
        yield value


def not_plain(value: Any) -> TemplateFailed:
    """The refusal of something that is no plain data."""
    if isinstance(value, Undefined):
        str(value)  # raises, naming the variable
    name = getattr(value, "name", None) if type(value).__name__ == "Method" else None
    if isinstance(name, str):
        return TemplateFailed(f"the template uses the method {name} without calling it: {name}()")
    return TemplateFailed(f"the template uses a {type(value).__name__} as if it were text")


def make_range(*bounds: int) -> range:
    """`range`, for at most `MAX_RANGE` steps."""
    if not all(isinstance(b, int) and b.bit_length() < MAX_NUMBER_BITS for b in bounds):
        raise TemplateFailed("range takes whole numbers: write range(n | int)")
    values = range(*bounds)
    if (values.stop - values.start) // values.step > MAX_RANGE:
        raise TemplateFailed(f"range has more than {MAX_RANGE} steps")
    return values


def arithmetic(operator: str, left: Any, right: Any) -> None:
    """Refuse what grows without bounds or does something surprising.

    Raises:
        TemplateFailed: it does.
    """
    current().step()
    for side in (left, right):
        if isinstance(side, Undefined):
            str(side)  # raises, naming the variable
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        _numbers(operator, left, right)
    elif operator == "+" and _addable(left, right):
        current().allocate(sys.getsizeof(left) + sys.getsizeof(right))
        weigh([left, right])
    elif operator == "+":
        raise TemplateFailed(
            f"'+' cannot add {type(left).__name__} and {type(right).__name__}: '~' joins as text"
        )
    else:
        raise TemplateFailed(
            f"{operator!r} takes numbers, not {type(left).__name__} and {type(right).__name__}: "
            "write {{ x | float }} for a cell that holds a number"
        )


def _addable(left: Any, right: Any) -> bool:
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, list, tuple))


def _numbers(operator: str, left: float, right: float) -> None:
    bits = [abs(side).bit_length() for side in (left, right) if isinstance(side, int)]
    if any(b > MAX_NUMBER_BITS for b in bits):
        raise TemplateFailed("the number is too large")
    if operator == "**" and len(bits) == 2 and bits[0] * abs(right) > MAX_NUMBER_BITS:
        raise TemplateFailed("the number would be too large")
    if operator == "*" and len(bits) == 2 and sum(bits) > MAX_NUMBER_BITS:
        raise TemplateFailed("the number would be too large")


def by_path(value: Any, path: str | int) -> Any:
    """What lies at `a.b` or `0` in nested data.

    Raises:
        TemplateFailed: nothing does.
    """
    parts = [path] if isinstance(path, int) else str(path).split(".")[:100]
    for part in parts:
        key: str | int = int(part) if isinstance(part, str) and part.isdecimal() else part
        found = isinstance(value, Mapping) or (isinstance(value, Sequence) and isinstance(key, int))
        try:
            value = value[key] if found else value[None]
        except (LookupError, TypeError):
            raise TemplateFailed(f"a {type(value).__name__} has no {part!r}") from None
    return value
