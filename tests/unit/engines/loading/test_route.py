"""`route`: the engine taken, and engines that are refused."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import EngineName, ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines import ENGINES, proven
from bakeoff.engines.proven import Proof, Proofs, mode_of, read_proofs, standing, write_proofs
from bakeoff.engines.route import _ABLE, Needs, engine_and_version, route

CTRANSLATE2 = "ctranslate2 " + importlib.metadata.version("ctranslate2")


def facts(text: str, kind: str = "causal", **options: Any) -> ModelFacts:
    can = Capabilities(kind, likelihood=kind != "encoder")  # type: ignore[arg-type]
    return ModelFacts(ModelRef.parse(text, **options), "x", can)


def t5(**options: Any) -> ModelFacts:
    made = facts("hf://org/name", "seq2seq", **{"accelerator": "cpu", **options})
    return replace(made, architecture="T5ForConditionalGeneration", family="t5")


def proof(mode: str, result: str = "equal") -> Proof:
    return Proof("t5", mode, ("t5",), 10, 10, 0, result)  # type: ignore[arg-type]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes what is proven, for the version that is installed or another one."""
    (tmp_path / "ctranslate2").mkdir()
    monkeypatch.setattr(proven, "_FOLDER", tmp_path)
    read_proofs.cache_clear()

    def write(*proofs: Proof, version: str | None = None) -> None:
        installed = importlib.metadata.version("ctranslate2")
        write_proofs("ctranslate2", Proofs(version or installed, "transformers 5", proofs))

    yield write
    read_proofs.cache_clear()


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
def test_engine(text: str, options: dict[str, Any], engine: str) -> None:
    taken = route(facts(text, **options))
    assert taken.engine == engine and taken.why


def test_an_engine_that_is_registered_is_whole() -> None:
    """What else a new one needs: a name in specs, what it can do, and the version of its library.

    The name of a package is part of the key of its rows.
    """
    for name in set(ENGINES) - {"fake", "baseline"}:
        assert name in get_args(EngineName)
        assert name == "transformers" or callable(_ABLE.get(name))
        if name != "openvino" or importlib.util.find_spec(name):  # an optional part
            version = importlib.metadata.version(name)
            assert engine_and_version(name).startswith(f"{name} {version}")


@pytest.mark.parametrize("engine", ["llamacpp", "vllm"])
def test_engines_of_later_versions_are_refused_with_the_alternative(engine: str) -> None:
    with pytest.raises(UnsupportedOption, match=f"engine '{engine}'.*engine: auto"):
        route(facts("hf://org/name", engine=engine))


def test_scoring_needs_a_model_with_likelihoods() -> None:
    route(facts("hf://org/name"), Needs(likelihood=True))
    with pytest.raises(UnsupportedOption, match="method: generate"):
        route(facts("hf://org/name", "encoder"), Needs(likelihood=True))


def test_auto_takes_what_is_proven(table: Any) -> None:
    table(proof("greedy"), proof("greedy + min_new_tokens", "differs"))
    taken = route(t5())
    assert (taken.engine, taken.numerics) == ("ctranslate2", "exact")
    assert CTRANSLATE2 in taken.why and "greedy" in taken.why
    for settings in (
        {"min_new_tokens": 5},
        {"repetition_penalty": 1.2},
        {"num_beams": 4, "early_stopping": True},
        {"temperature": 1.0},
    ):
        taken = route(t5(), Needs(params=GenerationParams(**settings)))
        assert (taken.engine, taken.numerics) == ("transformers", None), settings
    assert "not proven" in route(t5(), Needs(params=GenerationParams(min_new_tokens=5))).why


def test_the_checkpoint_s_own_settings_count(table: Any) -> None:
    table(proof("greedy"))
    beams = replace(t5(), defaults=GenerationParams(num_beams=4, early_stopping=True))
    assert route(beams).engine == "transformers"
    assert route(beams, Needs(params=GenerationParams(num_beams=1))).engine == "ctranslate2"


def test_auto_leaves_to_transformers_what_needs_it(table: Any) -> None:
    table(proof("greedy"), replace(proof("greedy"), family="llama"))
    causal = replace(
        facts("hf://org/name", accelerator="cpu"), architecture="LlamaForCausalLM", family="llama"
    )
    assert route(causal).engine == "transformers"
    assert route(t5(), Needs(likelihood=True)).engine == "transformers"
    assert route(t5(), Needs(logprobs=True)).engine == "transformers"
    assert route(t5(load_in_8bit=True)).engine == "transformers"
    assert route(t5(accelerator="cuda")).engine == "transformers"
    assert route(replace(t5(), family="mt5")).engine == "transformers"


def test_an_unknown_version_falls_back_with_one_notice(table: Any) -> None:
    table(proof("greedy"), version="0.0.1")
    taken = route(t5())
    assert taken.engine == "transformers"
    (notice,) = taken.notices
    assert CTRANSLATE2 in notice.text and "0.0.1" in notice.text
    assert route(t5(engine="ctranslate2")).numerics == CTRANSLATE2
    assert route(t5(), Needs(params=GenerationParams(temperature=1.0))).notices == ()


def test_by_name_it_is_honoured_where_it_can(table: Any) -> None:
    table(proof("greedy"))
    assert route(t5(engine="ctranslate2")).numerics == "exact"
    short = Needs(params=GenerationParams(min_new_tokens=5))
    assert route(t5(engine="ctranslate2"), short).numerics == CTRANSLATE2
    with pytest.raises(UnsupportedOption, match=r"early_stopping.*engine: auto"):
        route(t5(engine="ctranslate2"), Needs(params=GenerationParams(num_beams=4)))
    with pytest.raises(UnsupportedOption, match=r"adapter.*engine: auto"):
        route(t5(engine="ctranslate2", adapter="./x"))


def test_a_compute_type_asks_for_the_engine_and_is_not_exact(table: Any) -> None:
    table(proof("greedy"))
    assert route(t5(compute_type="int8")).engine == "ctranslate2"
    assert route(t5(compute_type="int8")).numerics == CTRANSLATE2
    assert route(t5(compute_type="float32")).numerics == "exact"


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({}, "greedy"),
        ({"max_new_tokens": 9, "length_penalty": 2.0, "early_stopping": True}, "greedy"),
        ({"stop": ("x",), "stop_ids": (1,), "n": 2, "seed": 3, "top_p": 0.5}, "greedy"),
        ({"min_new_tokens": 0, "repetition_penalty": 1.0}, "greedy"),
        ({"repetition_penalty": 1.1, "min_new_tokens": 3},
         "greedy + min_new_tokens + repetition_penalty"),
        ({"num_beams": 4}, "4 beams, early_stopping false, length_penalty 1"),
        ({"num_beams": 2, "early_stopping": True, "length_penalty": 0.6, "no_repeat_ngram_size": 3},
         "2 beams, early_stopping true, length_penalty 0.6 + no_repeat_ngram_size"),
        ({"temperature": 0.5}, "sampled"),
    ],
)  # fmt: skip
def test_modes(settings: dict[str, Any], mode: str) -> None:
    assert mode_of(GenerationParams(**settings)) == mode


def test_the_table_keeps_other_versions(table: Any) -> None:
    table(proof("greedy"), version="0.0.1")
    table(proof("greedy", "differs"))
    assert next(one.version for one in read_proofs("ctranslate2")) == "0.0.1"
    assert standing("ctranslate2", "t5", GenerationParams()) == "differs"
    assert standing("ctranslate2", "bart", GenerationParams()) == "unproven"


@pytest.mark.parametrize("engine", ["ctranslate2", "openvino"])
def test_every_proof_of_the_real_table_says_what_it_counts(engine: str) -> None:
    read_proofs.cache_clear()
    assert read_proofs(engine)
    for one in read_proofs(engine):
        for found in one.proofs:
            assert found.rows >= 20 and found.models
            if found.result == "equal":
                assert found.equal + found.ties == found.rows
            else:
                assert found.equal < found.rows
