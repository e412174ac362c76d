"""What crosses to a host and back is what it was, for every type that the port names."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import make_dataclass
from pprint import pformat
from typing import get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff.core import errors
from bakeoff.core.errors import BakeoffError, EngineFailed, PromptTooLong, UnknownName
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, TokenLogprob
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, Source, Text, Tokens
from bakeoff.engines.host.codec import Codec, fingerprint
from bakeoff.engines.host.hosted import HostedEngine
from bakeoff.engines.host.methods import LOCAL, Opened, Opening, methods
from bakeoff.engines.host.remote import RemoteEngine
from bakeoff.engines.options import EngineOptions
from tests.support import scale

KINDS = {f"{m.name}-{name}": kind for m in methods().values() for name, kind in m.takes}
KINDS |= {f"{m.name}-gives": m.gives for m in methods().values()}
KINDS |= {f"{m.name}-pulls": m.pulls for m in methods().values() if m.pulls}
KINDS |= {"opened": Opened}
PARAMS = [
    GenerationParams(),
    GenerationParams(temperature=0.5, stop=("a", "ä\n"), stop_ids=(1, 2), early_stopping="never"),
    GenerationParams(logit_bias=((7, -100.0), (8, float("-inf"))), early_stopping=True, n=3),
]
REFS = [
    ModelRef.parse("hf://org/name@main", load_in_4bit=True, adapter=("a", "b")),
    ModelRef.parse("fake://echo?delay=1", max_memory={"cpu": "8GiB"}),
]
st.register_type_strategy(GenerationParams, st.sampled_from(PARAMS))
st.register_type_strategy(ModelRef, st.sampled_from(REFS))


def crossed(value, kind):
    codec = Codec()
    return codec.value(json.loads(json.dumps(codec.plain(value, kind))), kind)


def told(value):
    """In writing, as not a number is not equal to itself; sets sorted, their order being chance."""
    return pformat(value, width=1)


def values(kind):
    return st.tuples(st.integers()) if get_origin(kind) is Sequence else st.from_type(kind)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=scale(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_type_of_the_port_crosses(name, data):
    value = data.draw(values(KINDS[name]))
    found = crossed(value, KINDS[name])
    if get_origin(KINDS[name]) is Sequence:
        found = tuple(found)
    assert type(found) is type(value)
    assert told(found) == told(value)


def test_prompts_with_the_same_fields_keep_their_kind():
    for prompt in (Text("x"), Source("x"), Tokens((1,))):
        assert crossed(GenerateRequest("a", prompt), GenerateRequest).prompt == prompt


def test_half_a_character_crosses():
    assert crossed(Text("\ud800"), Text) == Text("\ud800")


def test_log_probabilities_lose_no_digit():
    told = (TokenLogprob(1, "a", -0.1 - 0.2, ((3, float("-inf")),)), None)
    made = Completion("a", "", "stop", prompt_logprobs=told)
    assert crossed(made, Completion).prompt_logprobs == told


def test_a_reference_still_knows_what_was_said():
    facts = ModelFacts(REFS[0], "identity", Capabilities(kind="causal", heads=frozenset({"embed"})))
    found = crossed(Opening("fake", facts, EngineOptions(threads=2)), Opening)
    assert found == Opening("fake", facts, EngineOptions(threads=2))
    assert found.facts.ref.model_fields_set == REFS[0].model_fields_set


CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, BakeoffError)
]
MADE = {
    "PromptTooLong": lambda: PromptTooLong(10, 5, "cut it"),
    "UnknownName": lambda: UnknownName("no", name="x", near=("y", "z")),
    "BadDataset": lambda: errors.BadDataset("no", file="f", line=3, column="c"),
    "DependencyMissing": lambda: errors.DependencyMissing("it", "extra"),
    "UnsupportedOption": lambda: errors.UnsupportedOption("no", option="n"),
    "InvalidRequest": lambda: errors.InvalidRequest("no", field="f"),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_arrives_as_the_same_class_with_the_same_fields(kind):
    error = MADE.get(kind.__name__, lambda: kind("no"))()
    codec = Codec()
    found = codec.error(json.loads(json.dumps(codec.plain_error(error))))
    assert type(found) is kind
    assert vars(found) == vars(error)
    assert str(found) == str(error)


def test_an_unknown_crash_is_a_failure_that_names_it():
    codec = Codec()
    found = codec.error(codec.plain_error(ZeroDivisionError("by zero")))
    assert type(found) is EngineFailed
    assert "ZeroDivisionError: by zero" in found.message


@pytest.mark.parametrize("engine", [RemoteEngine, HostedEngine])
def test_everything_of_the_port_is_handed_on(engine):
    for name, function in vars(Engine).items():
        if name.startswith("_") or name in LOCAL or not inspect.isfunction(function):
            continue
        own = vars(engine)[name]
        assert list(inspect.signature(own).parameters) == list(
            inspect.signature(function).parameters
        )
        assert name in methods()


def test_the_fingerprint_changes_with_a_field_of_any_class_that_is_reached():
    def made(kind):
        inner = make_dataclass("Inner", [("a", kind)])
        return [make_dataclass("Outer", [("inner", tuple[inner, ...] | None)])]

    assert fingerprint(made(int)) == fingerprint(made(int))
    assert fingerprint(made(int)) != fingerprint(made(float))
