"""`Codec`: the dataclasses of the port as JSON values and back, derived from their definitions."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from cattrs import Converter
from cattrs.preconf.json import make_converter
from pydantic import BaseModel

from bakeoff.core import errors
from bakeoff.core.errors import BakeoffError, EngineFailed


class Codec:
    """Turns values into JSON values and back, by the types that the port declares.

    In a union of several dataclasses each value carries the name of its class; nothing else needs
    a mark, as both ends know the types.
    """

    def __init__(self) -> None:
        """Reads no type yet: each is worked out when it is first met."""
        made = make_converter(detailed_validation=False, omit_if_default=True)
        made.register_unstructure_hook_factory(_is_model, _dumping)
        made.register_structure_hook_factory(_is_model, _validating)
        made.register_unstructure_hook_factory(_is_ambiguous, lambda union: _naming(union, made))
        made.register_structure_hook_factory(_is_ambiguous, lambda union: _named(union, made))
        made.register_structure_hook(types.NoneType, lambda _, kind: None)
        self._converter: Converter = made

    def plain(self, value: object, kind: Any) -> Any:
        """A value of that type as JSON values."""
        return self._converter.unstructure(value, kind)

    def value(self, plain: Any, kind: Any) -> Any:
        """The value that `plain` made these JSON values of."""
        return self._converter.structure(plain, kind)

    def plain_error(self, error: Exception) -> dict[str, Any]:
        """An error as JSON values; one that is not ours becomes a failure that names it."""
        if not isinstance(error, BakeoffError):
            error = EngineFailed(f"the engine failed with {type(error).__name__}: {error}")
        return {"class": type(error).__name__, "fields": vars(error)}

    def error(self, plain: dict[str, Any]) -> BakeoffError:
        """An error of the same class with the same fields."""
        kind = getattr(errors, plain["class"])
        made: BakeoffError = kind.__new__(kind)
        said = {name: tuple(v) if isinstance(v, list) else v for name, v in plain["fields"].items()}
        made.args = (said["message"],)
        vars(made).update(said)
        return made


def fingerprint(kinds: Iterable[Any]) -> str:
    """Changes with the definition of any class that these types reach."""
    lines = [f"{kind.__qualname__} {name} {hint}" for kind, name, hint in _parts(kinds)]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def _parts(kinds: Iterable[Any]) -> Iterator[tuple[type, str, Any]]:
    """Class, field and type of the field, for all classes that these types reach."""
    waiting, seen = list(kinds), set[type]()
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if not isinstance(kind, type) or kind in seen:
            continue
        if is_dataclass(kind) or _is_model(kind):
            seen.add(kind)
            hints = get_type_hints(kind)
            names = [f.name for f in fields(kind)] if is_dataclass(kind) else list(hints)
            for name in names:
                waiting.append(hints[name])
                yield kind, name, hints[name]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _dumping(kind: type[BaseModel]) -> Callable[[BaseModel], Any]:
    return lambda value: value.model_dump(mode="json", exclude_unset=True)


def _validating(kind: type[BaseModel]) -> Callable[[Any, Any], BaseModel]:
    return lambda plain, _: kind.model_validate(plain)


def _classes(union: Any) -> dict[str, type]:
    return {
        kind.__name__: kind
        for kind in get_args(union)
        if isinstance(kind, type) and is_dataclass(kind)
    }


def _is_ambiguous(kind: Any) -> bool:
    """Whether JSON values alone would not tell which of several dataclasses they were."""
    return get_origin(kind) in (Union, types.UnionType) and len(_classes(kind)) > 1


def _naming(union: Any, converter: Converter) -> Callable[[Any], Any]:
    classes, others = _classes(union), _others(union)

    def plain(value: Any) -> Any:
        name = type(value).__name__
        if type(value) is classes.get(name):
            return {name: converter.unstructure(value, classes[name])}
        if others is None:
            raise TypeError(f"{name} is none of {', '.join(classes)}")
        return converter.unstructure(value, others)

    return plain


def _named(union: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    classes, others = _classes(union), _others(union)

    def value(plain: Any, _: Any) -> Any:
        if isinstance(plain, dict) and len(plain) == 1 and (name := next(iter(plain))) in classes:
            return converter.structure(plain[name], classes[name])
        if others is None:
            raise TypeError(f"a value is none of {', '.join(classes)}")
        return converter.structure(plain, others)

    return value


def _others(union: Any) -> Any:
    """The rest of a union behind its dataclasses, or None."""
    others = [kind for kind in get_args(union) if kind not in _classes(union).values()]
    return Union[tuple(others)] if others else None  # noqa: UP007 - made at run time
