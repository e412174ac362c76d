"""Schemas and regular expressions drawn at random, over what the library supports."""

from __future__ import annotations

import json
import random
from typing import Any

Schema = dict[str, Any]
NAMES = ("name", "age", "city", "tags", "size", "is ready", "ö", 'a"b', "x/y", "$id2")
FORMATS = ("date", "time", "date-time", "uuid", "ipv4", "email", "hostname")
PATTERNS = ("^[a-z]{1,5}$", "^\\d{2}-\\d{2}$", "ab?", "^(yes|no)$", "^[A-Z][a-z]*$")


def schemas(count: int, seed: int = 4) -> list[Schema]:
    """So many, each different."""
    draw = random.Random(seed)
    found: dict[str, Schema] = {}
    while len(found) < count:
        made = _with_definition(draw) if draw.random() < 0.15 else _any(draw, 3)
        found.setdefault(json.dumps(made, sort_keys=True), made)
    return list(found.values())


def _any(draw: random.Random, depth: int) -> Schema:
    kinds = [_string, _string, _number, _integer, _enum, _const, _plain]
    if depth:
        kinds += [_object] * 5 + [_array] * 3 + [_either, _all_of, _types]
    return draw.choice(kinds)(draw, depth - 1)


def _string(draw: random.Random, depth: int) -> Schema:
    return draw.choice(
        [
            lambda: {"type": "string", "maxLength": draw.randint(0, 12)},
            lambda: {"type": "string", "minLength": 1, "maxLength": draw.randint(1, 12)},
            lambda: {"type": "string", "pattern": draw.choice(PATTERNS)},
            lambda: {"type": "string", "format": draw.choice(FORMATS)},
        ]
    )()


def _number(draw: random.Random, depth: int) -> Schema:
    low = draw.randint(-50, 50)
    low_key = draw.choice(["minimum", "exclusiveMinimum"])
    high_key = draw.choice(["maximum", "exclusiveMaximum"])
    return {"type": "number", low_key: low, high_key: low + draw.randint(2, 90) + 0.5}


def _integer(draw: random.Random, depth: int) -> Schema:
    low = draw.randint(-50, 50)
    made: Schema = {"type": "integer", "minimum": low, "maximum": low + draw.randint(10, 90)}
    if draw.random() < 0.3:
        made["multipleOf"] = draw.choice([2, 3, 5])
    return made


def _enum(draw: random.Random, depth: int) -> Schema:
    return {"enum": draw.sample(["red", "blüe", 1, 2.5, None, True, "a\nb", [], {}], 3)}


def _const(draw: random.Random, depth: int) -> Schema:
    return {"const": draw.choice(["only", 7, None, ["x", 1], {"k": False}])}


def _plain(draw: random.Random, depth: int) -> Schema:
    return {"type": draw.choice(["boolean", "null"]), "description": "said in words"}


def _types(draw: random.Random, depth: int) -> Schema:
    return {"type": draw.sample(["boolean", "null", "integer"], 2)}


def _object(draw: random.Random, depth: int) -> Schema:
    names = draw.sample(NAMES, draw.randint(0, 4))
    made: Schema = {
        "type": "object",
        "properties": {name: _any(draw, depth) for name in names},
        "required": [name for name in names if draw.random() < 0.7],
        "additionalProperties": False,
    }
    if draw.random() < 0.2:
        made["additionalProperties"] = _any(draw, 0)
        made["required"] = names  # the library counts only what is beyond them
        made["minProperties"] = len(names)
        made["maxProperties"] = len(names) + 2
    return made


def _array(draw: random.Random, depth: int) -> Schema:
    least = draw.randint(0, 2)
    made: Schema = {"type": "array", "minItems": least, "maxItems": least + draw.randint(0, 3)}
    if draw.random() < 0.3:
        made["prefixItems"] = [_any(draw, depth) for _ in range(2)]
    made["items"] = _any(draw, depth)
    return made


def _either(draw: random.Random, depth: int) -> Schema:
    return {"anyOf": [_any(draw, depth) for _ in range(draw.randint(1, 3))]}


def _all_of(draw: random.Random, depth: int) -> Schema:
    low = draw.randint(0, 9)
    return {"allOf": [{"type": "integer", "minimum": low}, {"maximum": low + 20}]}


def _with_definition(draw: random.Random) -> Schema:
    return {
        "$defs": {"leaf": _any(draw, 1)},
        "type": "object",
        "properties": {
            "leaf": {"$ref": "#/$defs/leaf"},
            "more": {"type": "array", "items": {"$ref": "#/$defs/leaf"}, "maxItems": 2},
        },
        "required": ["leaf"],
        "additionalProperties": False,
    }


def regexes(count: int, seed: int = 4) -> list[str]:
    """So many, each different, that `re` reads the same way."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[_alternatives(draw, 2)] = None
    return list(found)


def _alternatives(draw: random.Random, depth: int) -> str:
    return "|".join(_sequence(draw, depth) for _ in range(draw.choice([1, 1, 2])))


def _sequence(draw: random.Random, depth: int) -> str:
    return "".join(_repeated(draw, depth) for _ in range(draw.randint(1, 4)))


def _repeated(draw: random.Random, depth: int) -> str:
    atoms = ["[a-z]", "[0-9]", "\\d", "\\w", "[^a-z\\s]", "x", "Ü", "\\.", "-", "ab", "[A-Fa-f]"]
    atom = draw.choice(atoms)
    if depth and draw.random() < 0.35:
        atom = f"({draw.choice(['', '?:'])}{_alternatives(draw, depth - 1)})"
    elif len(atom) == 2 and atom.isalpha():
        return atom
    # without bounds inside of others: `re`, which checks the texts, tries for ever
    endless = ["+", "*"] if depth == 2 and not atom.startswith("(") else []
    return atom + draw.choice(["", "", "?", "{1,3}", "{2}", "{0,2}", *endless])
