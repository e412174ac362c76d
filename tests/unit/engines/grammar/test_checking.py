"""A grammar is tried out in a process that may be killed."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from bakeoff.core.errors import InvalidRequest, ServerBusy
from bakeoff.core.requests import Grammar
from bakeoff.engines.grammar.checking import Checker, GrammarLimits, depth_of
from bakeoff.engines.grammar.whole import follows

GOOD = Grammar("regex", "[0-9]+")


def check(checker, *grammars):
    """What is said of each, in one event loop: None where it is taken."""

    async def all_of_them():
        return [await refusal(one) for one in grammars]

    async def refusal(grammar):
        try:
            await checker.check(grammar, "the_field")
        except InvalidRequest as error:
            assert error.field == "the_field"
            return error.message
        return None

    return asyncio.run(all_of_them())


def running(code, seconds=20.0):
    """A checker whose process does something else."""
    return Checker(GrammarLimits(seconds=seconds), (sys.executable, "-c", code))


def test_each_grammar_is_tried_once():
    checker = Checker()
    bad = Grammar("json_schema", '{"not": {}}')
    said = check(checker, GOOD, bad, GOOD, bad)
    assert said[0] is said[2] is None
    assert said[1] == said[3] and '"not"' in said[1]
    assert checker.tried == 2


def test_any_object_needs_no_trial():
    checker = Checker()
    assert check(checker, Grammar("json_object")) == [None]
    assert checker.tried == 0


def test_one_that_takes_too_long_is_stopped_and_refused():
    (said,) = check(running("import time; time.sleep(600)", seconds=0.2), GOOD)
    assert "longer than 0.2 s" in said


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "print('no JSON')", "import os; os._exit(9)"]
)
def test_one_that_brings_the_process_down_is_refused(code):
    (said,) = check(running(code), GOOD)
    assert "smaller" in said


def test_no_process_is_no_fault_of_the_grammar():
    with pytest.raises(ServerBusy, match="could be started"):
        check(Checker(command=("/nonexistent/program",)), GOOD)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        (Grammar("regex", "a" * 70_000), "70000 characters"),
        (Grammar("json_schema", '{"items":' * 65 + "{}" + "}" * 65), "64 levels"),
    ],
)
def test_large_ones_are_not_even_tried(grammar, said):
    checker = Checker()
    assert said in check(checker, grammar)[0]
    assert checker.tried == 0


@pytest.mark.parametrize(
    ("text", "depth"), [("1", 0), ("[]", 1), ('{"a": [{}]}', 3), ('["[[\\"[", "\\\\"]', 1)]
)
def test_depth_counts_what_is_no_text(text, depth):
    assert depth_of(text) == depth
    json.loads(text)


@pytest.mark.parametrize(
    ("grammar", "text", "holds"),
    [
        (GOOD, "12", True),
        (GOOD, "12a", False),
        (GOOD, "", False),
        (Grammar("json_object"), '{"a": "ü"}', True),
        (Grammar("json_object"), '{"a": "ü"', False),
        # what a schema says to the library about itself does not loosen it
        (
            Grammar("json_schema", '{"type": "boolean", "x-guidance": {"lenient": true}}'),
            "1",
            False,
        ),
    ],
)
def test_a_whole_text_follows_or_not(grammar, text, holds):
    assert follows(text, grammar) is holds


def test_a_schema_cannot_make_the_library_lenient():
    schema = '{"type": "array", "uniqueItems": true, "x-guidance": {"lenient": true}}'
    assert "uniqueItems" in check(Checker(), Grammar("json_schema", schema))[0]
