"""`route`: the engine taken, and engines that are refused."""

from __future__ import annotations

import pytest

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Capabilities, ModelFacts
from bakeoff.engines.route import Needs, route


def facts(text: str, kind: str = "causal", **options: object) -> ModelFacts:
    can = Capabilities(kind, likelihood=kind != "encoder")  # type: ignore[arg-type]
    return ModelFacts(ModelRef.parse(text, **options), "x", can)


@pytest.mark.parametrize(
    ("text", "options", "engine"),
    [
        ("fake://echo", {}, "fake"),
        ("baseline://lead-3", {}, "baseline"),
        ("hf://org/name", {}, "transformers"),
        ("hf://org/name", {"engine": "transformers"}, "transformers"),
        ("./folder", {}, "transformers"),
    ],
)
def test_engine(text: str, options: dict[str, object], engine: str) -> None:
    taken = route(facts(text, **options))
    assert taken.engine == engine and taken.why


@pytest.mark.parametrize("engine", ["ctranslate2", "openvino", "llamacpp", "vllm"])
def test_engines_of_later_versions_are_refused_with_the_alternative(engine: str) -> None:
    with pytest.raises(UnsupportedOption, match=f"engine '{engine}'.*engine: auto"):
        route(facts("hf://org/name", engine=engine))


def test_scoring_needs_a_model_with_likelihoods() -> None:
    route(facts("hf://org/name"), Needs(likelihood=True))
    with pytest.raises(UnsupportedOption, match="method: generate"):
        route(facts("hf://org/name", "encoder"), Needs(likelihood=True))
