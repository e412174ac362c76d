"""What the text of an answer has to look like: every spelling of it becomes one grammar. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import InvalidRequest, UnsupportedOption
from bakeoff.core.requests import Grammar


@dataclass(frozen=True, slots=True)
class Wanted:
    """A grammar, and the field of the body that asks for it."""

    grammar: Grammar
    field: str


def wanted(said: Mapping[str, Any]) -> Wanted | None:
    """What a body asks for; None where any text will do.

    Args:
        said: fields of the body, of those in `FIELDS`.

    Raises:
        InvalidRequest: a field is wrong, or two ask for something.
        UnsupportedOption: a kind of format that is not known.
    """
    found = [
        Wanted(grammar, field)
        for field, read in FIELDS.items()
        if said.get(field) not in (None, "", {}) and (grammar := read(said[field], field))
    ]
    if len(found) > 1:
        raise InvalidRequest(
            f"{found[0].field} and {found[1].field} both say what the text has to look like: "
            "leave one out",
            field=found[1].field,
        )
    return found[0] if found else None


def _response_format(said: Any, field: str) -> Grammar | None:
    kind = said.get("type") if isinstance(said, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":  # llama.cpp's server takes a schema here as well
        return _schema(said["schema"], field) if said.get("schema") else Grammar("json_object")
    if kind == "json_schema":
        inside = said.get("json_schema", said)
        if not isinstance(inside, dict) or "schema" not in inside:
            raise InvalidRequest(f"{field}.json_schema has no schema", field=field)
        return _schema(inside["schema"], field)
    if isinstance(kind, str):
        raise UnsupportedOption(
            f"{field}.type is {kind[:40]!r}: write text, json_object or json_schema", option=field
        )
    raise InvalidRequest(f"{field} has no type", field=field)


def _structured(said: Any, field: str) -> Grammar | None:
    """The field `structured_outputs` of vLLM: one of several keys."""
    if not isinstance(said, dict):
        raise InvalidRequest(f"{field} has to be an object", field=field)
    keys = [key for key, value in said.items() if value is not None]
    for key in keys:
        if key not in (*_STRUCTURED, *_SPACING):
            raise UnsupportedOption(f"{field}.{key} is not supported by this server", option=field)
    asked = [key for key in keys if key in _STRUCTURED]
    if len(asked) != 1:
        raise InvalidRequest(f"{field} has to hold one of {', '.join(_STRUCTURED)}", field=field)
    return _STRUCTURED[asked[0]](said[asked[0]], field)


def _schema(said: Any, field: str) -> Grammar:
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"{field} holds a schema that is no JSON", field=field) from error
    if not isinstance(said, (dict, bool)):
        raise InvalidRequest(f"{field} holds a schema that is no object", field=field)
    try:
        return Grammar("json_schema", json.dumps(said, ensure_ascii=False))
    except RecursionError as error:
        raise InvalidRequest(f"{field} holds a schema that is nested too deep", field=field) from (
            error
        )


def _regex(said: Any, field: str) -> Grammar:
    return Grammar("regex", _text(said, field))


def _grammar(said: Any, field: str) -> Grammar:
    return Grammar("grammar", _text(said, field))


def _choice(said: Any, field: str) -> Grammar:
    if not isinstance(said, list) or not said or any(not isinstance(o, str) or not o for o in said):
        raise InvalidRequest(f"{field} has to be a list of texts", field=field)
    return Grammar("grammar", "start: " + " | ".join(json.dumps(one) for one in said))


def _any_object(said: Any, field: str) -> Grammar | None:
    return Grammar("json_object") if said else None


def _text(said: Any, field: str) -> str:
    if not isinstance(said, str):
        raise InvalidRequest(f"{field} has to be a text", field=field)
    return said


_STRUCTURED: dict[str, Callable[[Any, str], Grammar | None]] = {
    "json": _schema,
    "regex": _regex,
    "choice": _choice,
    "grammar": _grammar,
    "json_object": _any_object,
}
_SPACING = ("disable_any_whitespace", "disable_additional_properties", "whitespace_pattern")
"""Details of `structured_outputs` that change no meaning."""
FIELDS: dict[str, Callable[[Any, str], Grammar | None]] = {
    "response_format": _response_format,
    "structured_outputs": _structured,
    "guided_json": _schema,
    "guided_regex": _regex,
    "guided_choice": _choice,
    "guided_grammar": _grammar,
    "grammar": _grammar,
    "json_schema": _schema,
}
"""Every field of OpenAI's routes, of vLLM and of llama.cpp that says how a text has to look."""
