"""The filters and tests that templates may use: a list of what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context
from jinja2.tests import TESTS as JINJA_TESTS

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks import filter_functions as does
from bakeoff.tasks.budget import current
from bakeoff.tasks.values import as_text, by_path, loops_over, settle, weigh


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


def _named(name: Any, known: Mapping[str, Callable[..., Any]], kind: str) -> Callable[..., Any]:
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


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: abs(settle(value)),
    "count": does.length,
    "d": does.default,
    "default": does.default,
    "first": does.first,
    "float": does.to_float,
    "int": does.to_int,
    "items": does.items_of,
    "join": does.joined,
    "last": does.last,
    "length": does.length,
    "list": lambda values: list(loops_over(values)),
    "max": does.extreme(max),
    "min": does.extreme(min),
    "replace": does.replaced,
    "reverse": does.reversed_,
    "round": does.rounded,
    "sort": does.in_order,
    "string": as_text,
    "sum": does.total,
    "tojson": does.as_json,
    "trim": does.of_text("strip"),
    "unique": does.unique,
    "wordcount": does.count_words,
    **{name: does.of_text(name) for name in ("capitalize", "lower", "title", "upper")},
}
_WITH_CONTEXT: Mapping[str, Callable[..., Any]] = {
    "map": _map,
    "reject": _chosen(False, False),
    "rejectattr": _chosen(False, True),
    "select": _chosen(True, False),
    "selectattr": _chosen(True, True),
}
FILTERS: Mapping[str, Callable[..., Any]] = {
    **{name: _counted(function) for name, function in _PLAIN.items()},
    **{name: _counted(function, True) for name, function in _WITH_CONTEXT.items()},
}


def _even(value: Any) -> bool:
    return _divisible(value, 2)


def _divisible(value: Any, by: Any) -> bool:
    # `%` on a text would format it
    if not isinstance(value, (int, float)) or not isinstance(by, (int, float)):
        raise TemplateFailed("even, odd and divisibleby take numbers")
    return value % by == 0


_JINJA: Mapping[str, Any] = JINJA_TESTS
_FROM_JINJA = (
    "boolean defined eq equalto false float ge gt in integer le lt mapping ne none number "
    "sequence string true undefined == != < <= > >="
)
_OWN: Mapping[str, Callable[..., Any]] = {
    "divisibleby": _divisible,
    "even": _even,
    "odd": lambda value: not _even(value),
}
TESTS: Mapping[str, Callable[..., Any]] = {
    **{name: _counted(function) for name, function in _OWN.items()},
    **{name: _counted(_JINJA[name]) for name in _FROM_JINJA.split()},
}
