"""The filters and tests that templates may use: a list of what is allowed.

They are written here rather than taken from Jinja, whose filters escape for HTML, give
generators, and do not count what they cost.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context
from jinja2.tests import TESTS as JINJA_TESTS

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks import methods
from bakeoff.tasks.budget import current
from bakeoff.tasks.values import MAX_SHOWN, as_text, by_path, loops_over, settle, weigh

_WORD = re.compile(r"\w+")
_MAX_DIGITS = 400
_MAX_PRECISION = 15


def _default(value: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if isinstance(value, Undefined) or (boolean and not value) else value


def _length(value: Any) -> int:
    if not isinstance(value, (str, list, tuple, dict, range)):
        as_text(value)  # raises for what is undefined or empty
        raise TemplateFailed(f"a {type(value).__name__} has no length")
    return len(value)


def _to_int(value: Any, default: int = 0) -> int:
    found = _to_float(value, math.nan)
    if math.isfinite(found) and isinstance(value, (str, int)):
        try:
            return int(value)
        except ValueError:
            pass  # text such as "3.7"
    return int(found) if math.isfinite(found) and abs(found) < 2**63 else default


def _to_float(value: Any, default: float = 0.0) -> float:
    if isinstance(value, Undefined):
        str(value)  # raises, naming the variable
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        raise TemplateFailed(f"a number has at most {_MAX_DIGITS} digits")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default


def _round(
    value: Any, precision: int = 0, method: Literal["common", "floor", "ceil"] = "common"
) -> float:
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


def _sort(
    values: Any,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Any]:
    return sorted(
        loops_over(values), key=_sort_key(case_sensitive, attribute), reverse=bool(reverse)
    )


def _unique(
    values: Any, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Any]:
    key = _sort_key(case_sensitive, attribute)
    found: dict[Any, Any] = {}
    for value in loops_over(values):
        found.setdefault(key(value), value)
    return list(found.values())


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def run(
        values: Any, case_sensitive: bool = False, attribute: str | int | None = None
    ) -> Any:
        return pick(_filled(values), key=_sort_key(case_sensitive, attribute))

    return run


def _filled(values: Any) -> list[Any]:
    found = list(loops_over(values))
    if not found:
        raise TemplateFailed("the list is empty in this row")
    return found


def _first(values: Any) -> Any:
    for value in loops_over(values):
        return value
    raise TemplateFailed("the list is empty in this row")


def _last(values: Any) -> Any:
    return values[-1] if isinstance(values, (str, list, tuple)) and values else _filled(values)[-1]


def _sum(values: Any, attribute: str | int | None = None, start: float = 0) -> float:
    total = start
    for value in loops_over(values):
        number = value if attribute is None else by_path(value, attribute)
        if not isinstance(number, (int, float)) or not isinstance(total, (int, float)):
            raise TemplateFailed("sum adds numbers only")
        total = settle(total + number)
    return total


def _join(values: Any, d: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        values = [by_path(value, attribute) for value in loops_over(values)]
    return methods.join(as_text(d), values)


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    return methods.replace(as_text(value), old, new, -1 if count is None else count)


def _tojson(value: Any, indent: int | None = None) -> str:
    weigh(value, MAX_SHOWN)
    space = None if indent is None else max(0, min(int(indent), 8))
    return json.dumps(value, ensure_ascii=False, indent=space, default=as_text)


def _items(value: Any) -> list[Any]:
    if not isinstance(value, Mapping):
        as_text(value)
        raise TemplateFailed(f"a {type(value).__name__} has no items")
    return list(value.items())


def _wordcount(value: Any) -> int:
    count = 0
    for count, _ in enumerate(_WORD.finditer(as_text(value)), start=1):
        current().step()
    return count


def _reverse(value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else list(loops_over(value))[::-1]


def _of_text(name: str) -> Callable[..., Any]:
    method = methods.methods_of("")[name]
    return lambda value, *args: method(as_text(value), *args)


def _map(context: Context, values: Any, *args: Any, **kwargs: Any) -> list[Any]:
    if "attribute" in kwargs:
        path, found = kwargs.pop("attribute"), list(loops_over(values))
        return [_at(item, path, **kwargs) for item in found]
    if not args:
        raise TemplateFailed("map takes a filter's name or attribute=")
    function = _named(args[0], FILTERS, "filter")
    return [function(context, item, *args[1:], **kwargs) for item in loops_over(values)]


def _at(item: Any, path: str | int, **default: Any) -> Any:
    try:
        return by_path(item, path)
    except TemplateFailed:
        if "default" in default:
            return default["default"]
        raise


def _chosen(keep: bool, by_attribute: bool) -> Callable[..., list[Any]]:
    def run(context: Context, values: Any, *args: Any) -> list[Any]:
        if by_attribute and not args:
            raise TemplateFailed("selectattr and rejectattr take an attribute's name")
        path, said = (args[0], args[1:]) if by_attribute else (None, args)
        test = _named(said[0], TESTS, "test") if said else (lambda _, value: bool(value))
        missing = context.environment.undefined(name=str(path))
        found = []
        for item in loops_over(values):
            value = item if path is None else _at(item, path, default=missing)
            if bool(test(context, value, *said[1:])) is keep:
                found.append(item)
        return found

    return run


def _named(
    name: Any, known: Mapping[str, Callable[..., Any]], kind: str
) -> Callable[..., Any]:
    if not isinstance(name, str) or name not in known:
        raise TemplateFailed(f"there is no {kind} {as_text(name)!r}")
    return known[name]


def _counted(function: Callable[..., Any], with_context: bool = False) -> Callable[..., Any]:
    """The same function, paid for.

    `pass_context` also keeps Jinja from evaluating it while it compiles.
    """

    @pass_context
    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        current().step()
        if args or kwargs:
            weigh([arg for arg in [*args, *kwargs.values()] if not isinstance(arg, Undefined)])
        given = (context, value) if with_context else (value,)
        return settle(function(*given, *args, **kwargs))

    return run


FILTERS: Mapping[str, Callable[..., Any]] = {
    **{
        name: _counted(function)
        for name, function in {
            "abs": lambda value: abs(settle(value)),
            "count": _length,
            "d": _default,
            "default": _default,
            "first": _first,
            "float": _to_float,
            "int": _to_int,
            "items": _items,
            "join": _join,
            "last": _last,
            "length": _length,
            "list": lambda values: list(loops_over(values)),
            "max": _extreme(max),
            "min": _extreme(min),
            "replace": _replace,
            "reverse": _reverse,
            "round": _round,
            "sort": _sort,
            "string": as_text,
            "sum": _sum,
            "tojson": _tojson,
            "trim": _of_text("strip"),
            "unique": _unique,
            "wordcount": _wordcount,
        }.items()
    },
    **{name: _counted(_of_text(name)) for name in ("capitalize", "lower", "title", "upper")},
    "map": _counted(_map, with_context=True),
    "reject": _counted(_chosen(False, False), with_context=True),
    "rejectattr": _counted(_chosen(False, True), with_context=True),
    "select": _counted(_chosen(True, False), with_context=True),
    "selectattr": _counted(_chosen(True, True), with_context=True),
}


def _even(value: Any) -> bool:
    return _divisible(value, 2)


def _divisible(value: Any, by: Any) -> bool:
    # `%` on a text would format it
    if not isinstance(value, (int, float)) or not isinstance(by, (int, float)):
        raise TemplateFailed("even, odd and divisibleby take numbers")
    return value % by == 0


_FROM_JINJA = (
    "boolean defined eq equalto false float ge gt in integer le lt mapping ne none number "
    "sequence string true undefined == != < <= > >="
)
TESTS: Mapping[str, Callable[..., Any]] = {
    "divisibleby": _counted(_divisible),
    "even": _counted(_even),
    "odd": _counted(lambda value: not _even(value)),
    **{name: _counted(JINJA_TESTS[name]) for name in _FROM_JINJA.split()},
}
