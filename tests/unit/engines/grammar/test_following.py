"""Texts that follow a grammar, written by a trained model at temperature 1."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import jsonschema
import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.requests import GenerateRequest, GenerationParams, Grammar, Text
from tests.contract.targets import Target, collect, run
from tests.support import scale
from tests.unit.engines.grammar.drawn import regexes, schemas

pytestmark = pytest.mark.torch
LLAMA = Target("llama")
TOKENS = 200


@pytest.fixture(scope="module")
def llama():
    engine = LLAMA.open()
    yield engine
    run(engine.close())


def asked(name, grammar, **params):
    said = {"max_new_tokens": TOKENS, "temperature": 1.0, "seed": 3, **params}
    return GenerateRequest(name, Text("3 red, 2 blue"), GenerationParams(**said), grammar=grammar)


def written(engine, grammars, **params):
    """What is written for each, by place; all in one call."""
    requests = [asked(f"r{at}", one, **params) for at, one in enumerate(grammars)]
    made = {one.id: one for one in run(collect(engine.complete(requests)))}
    return [made[one.id] for one in requests]


def check(schema, value):
    """Raise where the schema does not allow the value, formats included."""
    kind = jsonschema.Draft202012Validator
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(value)


def cut(made):
    """Whether a text was cut by its limit; it says so, and only then."""
    assert made.finish in (FinishReason.STOP, FinishReason.LENGTH), made
    return made.finish is FinishReason.LENGTH


def test_json_follows_its_schema_or_is_cut_by_length(llama):
    said = schemas(200)[: scale(200)]
    found = written(llama, [Grammar("json_schema", json.dumps(one)) for one in said])
    whole = 0
    for schema, made in zip(said, found, strict=True):
        if not cut(made):
            whole += 1
            check(schema, json.loads(made.text))
    assert whole >= 0.5 * len(said)


def test_texts_match_their_expression_or_are_cut_by_length(llama):
    said = regexes(50)[: scale(50)]
    found = written(llama, [Grammar("regex", one) for one in said])
    whole = 0
    for expression, made in zip(said, found, strict=True):
        if not cut(made):
            whole += 1
            assert re.fullmatch(expression, made.text), (expression, made.text)
    assert whole >= 0.5 * len(said)


ANSWER = Grammar("json_schema", json.dumps({"enum": ["red", "blue, and more"]}))
DIGITS = Grammar("regex", "[0-9]+")


@pytest.mark.parametrize("lane", ["edit", "chat", "batch"])
def test_a_grammar_holds_in_every_lane_and_choice_and_ends_where_it_is_complete(llama, lane):
    request = replace(asked("a", ANSWER, n=4), lane=lane)
    made = run(collect(llama.complete([request])))
    assert {one.text for one in made} <= {'"red"', '"blue, and more"'}
    assert {one.finish for one in made} == {FinishReason.STOP}


def test_company_without_a_grammar_is_not_changed(llama):
    plain = [LLAMA.ask(text, f"p{at}") for at, text in enumerate(LLAMA.inputs(3))]
    alone = [one.text for one in run(llama.generate(plain))]
    chats = [replace(one, lane="chat") for one in plain]
    mixed = run(llama.generate([chats[0], asked("g", ANSWER), *chats[1:]]))
    assert [mixed[0].text, *(one.text for one in mixed[2:])] == alone
    assert json.loads(mixed[1].text) in ("red", "blue, and more")


def test_a_stream_says_the_same(llama):
    request = replace(asked("s", ANSWER), lane="chat")
    (whole,) = run(collect(llama.complete([request])))
    chunks = run(collect(llama.stream(request)))
    assert "".join(chunk.text for chunk in chunks) == whole.text
    assert chunks[-1].finish is FinishReason.STOP


@pytest.mark.parametrize(
    "rule", [{"min_new_tokens": 40}, {"no_repeat_ngram_size": 1}, {"stop_ids": (5,)}]
)
def test_the_grammar_wins_over_rules_that_forbid_all_it_allows(llama, rule):
    (made,) = written(llama, [ANSWER], **rule)
    assert json.loads(made.text) in ("red", "blue, and more")


def test_a_text_that_could_go_on_is_cut_by_its_limit(llama):
    (made,) = written(llama, [DIGITS], max_new_tokens=5, min_new_tokens=5)
    assert re.fullmatch("[0-9]+", made.text) and cut(made)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        (Grammar("json_schema", '{"not": {}}'), "not"),
        (Grammar("json_schema", "[1"), "cannot be"),
        (Grammar("regex", "(a)\\1"), "backreferences"),
        (Grammar("grammar", "root ::= foo"), "foo"),
    ],
)
def test_a_grammar_that_cannot_be_used_fails_its_own_row_alone(llama, grammar, said):
    bad, good = written(llama, [grammar, ANSWER])
    assert (bad.code, said in bad.message) == ("invalid_request", True), bad
    assert json.loads(good.text)


def test_beams_follow_no_grammar_and_say_so(llama):
    request = asked("b", ANSWER, num_beams=2, temperature=0.0)
    assert llama.unsupported(request) == ["num_beams"]
    (failure,) = run(collect(llama.complete([request])))
    assert "num_beams" in failure.message and "grammar" in failure.message


def test_grammars_of_both_spellings_are_taken(llama):
    gbnf = Grammar("grammar", 'root ::= "yes" | "no" [0-9]')
    lark = Grammar("grammar", 'start: "yes" | "no" DIGIT\nDIGIT: /[0-9]/')
    for made in written(llama, [gbnf, lark]):
        assert re.fullmatch("yes|no[0-9]", made.text)


def test_a_row_that_lost_its_place_goes_on_where_it_was(llama):
    """What picks tokens forgets a row that is put back, and reads its text again."""
    guides = llama._worker.stepper.scheduler._parts.chooser.guides
    ends = frozenset(guides.ends)
    steady, again = guides.open(DIGITS, ends), guides.open(DIGITS, ends)
    ids = llama._worker.loaded.tokenizer("12 3", add_special_tokens=False)["input_ids"][:1]
    steady.allowed([])
    assert (steady.allowed(ids) == again.allowed(ids)).all()


def test_the_library_loads_with_the_first_grammar_alone():
    code = (
        "import sys, bakeoff.engines.transformers.stepping.choosing as c;"
        "import bakeoff.engines.grammar.matching;"
        "assert 'llguidance' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["gpt2", "mistral", "phi3", "t5", "bart", "marian", "mt5", "nllb"])
def test_tokens_of_every_kind_follow(name):
    target = Target(name)
    engine = target.open()
    grammar = Grammar("regex", "[a-z]{2,5} [a-z]{2,5}")
    try:
        requests = [
            replace(target.ask(text, f"r{at}", temperature=1.0, num_beams=1), grammar=grammar)
            for at, text in enumerate(target.inputs(3))
        ]
        for made in run(collect(engine.complete(requests))):
            assert re.fullmatch(grammar.text, made.text), made
            assert made.finish is FinishReason.STOP
    finally:
        run(engine.close())
