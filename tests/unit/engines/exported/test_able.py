"""What the openvino engine refuses, and why, before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import DependencyMissing, UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines import proven
from bakeoff.engines.checks import check_options
from bakeoff.engines.needs import Needs
from bakeoff.engines.openvino import able
from bakeoff.engines.openvino.able import HINTS, unable, why_not
from bakeoff.engines.openvino.tools import COMMAND, exports
from bakeoff.engines.proven import Proof, Proofs, read_proofs, write_proofs
from bakeoff.engines.route import route

VERSIONS = {"openvino": "2026.4.1", "openvino-genai": "2026.4.1.0"}


def facts(**options: Any) -> ModelFacts:
    ref = ModelRef.parse("hf://org/name", **{"accelerator": "cpu", **options})
    can = Capabilities("causal", likelihood=True)
    return ModelFacts(ref, "hf:org/name@1", can, "LlamaForCausalLM", "llama")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra and the exporter are there."""
    monkeypatch.setattr(able, "installed", lambda: True)
    monkeypatch.setattr(able, "exporter", lambda: Path("python"))
    monkeypatch.setattr(able, "exports", lambda family: family != "odd")


def test_asking_loads_nothing_heavy() -> None:
    code = """
import sys
from bakeoff.core.modelref import ModelRef
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.engines.route import route
ref = ModelRef.parse("hf://org/name", accelerator="cpu")
print(route(ModelFacts(ref, "x", Capabilities("causal"), "LlamaForCausalLM", "llama")).engine)
import bakeoff.engines.openvino.engine
heavy = {"torch", "transformers", "openvino", "openvino_genai", "numpy"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"


def test_what_is_not_installed_is_said_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(able, "installed", lambda: False)
    assert "pip install 'bakeoff[openvino]'" in str(why_not(facts(), Needs()))
    monkeypatch.setattr(able, "installed", lambda: True)
    assert COMMAND in str(why_not(facts(), Needs()))
    with pytest.raises(UnsupportedOption, match=COMMAND):
        route(facts(engine="openvino"))
    assert route(facts()).engine == "transformers"


def test_the_extra_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: False)
    with pytest.raises(DependencyMissing, match=r"pip install 'bakeoff\[openvino\]'"):
        check_options(facts(engine="openvino").ref)
    check_options(facts().ref)


def test_families_are_read_from_the_exporter_s_own_source(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "lib/python3.12/site-packages/optimum/exporters/openvino"
    folder.mkdir(parents=True)
    source = (
        '@register_in_tasks_manager("llama", *TASKS)\n@register_in_tasks_manager(\n  "gpt-neox",'
    )
    (folder / "model_configs.py").write_text(source)
    monkeypatch.setattr("bakeoff.engines.openvino.tools.exporter", lambda: home / "bin/python")
    assert [exports(name) for name in ("llama", "gpt_neox", "mamba")] == [True, True, False]


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, []),
        ({"min_new_tokens": 5, "stop": ("x",), "stop_ids": (3,), "n": 3, "seed": 1}, []),
        ({"temperature": 0.7, "top_p": 0.5}, ["temperature"]),
        ({"num_beams": 4}, ["num_beams"]),
        ({"no_repeat_ngram_size": 3}, ["no_repeat_ngram_size"]),
        ({"frequency_penalty": 0.1, "presence_penalty": 0.1},
         ["frequency_penalty", "presence_penalty"]),
        ({"logit_bias": ((1, 2.0),)}, ["logit_bias"]),
    ],
)  # fmt: skip
def test_settings(ready: None, settings: dict[str, Any], refused: list[str]) -> None:
    params = GenerationParams(**settings)
    needs = Needs(params=params)
    assert unable(needs, params) == refused
    reason = why_not(facts(), needs)
    assert (reason is None) is (not refused)
    for name in refused:
        assert name in str(reason)
        assert HINTS[refused[0]] in str(reason)


@pytest.mark.parametrize(
    "asked", ["logprobs", "prompt_logprobs", "grammar", "adapter", "likelihood"]
)
def test_what_is_asked_beside_a_text(ready: None, asked: str) -> None:
    assert asked in str(why_not(facts(), Needs(**{asked: True})))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"family": "odd"}, "exporter does not know 'odd'"),
        ({"capabilities": Capabilities("seq2seq")}, "no decoder-only model"),
        ({"settings": ("sliding-window",)}, "asks for sliding-window"),
        ({"identity": "hf:org/name@1+trust_remote_code:true"}, "brings its own code"),
        ({"numerics": "gptq by transformers 5.24.0"}, "quantised"),
    ],
)
def test_models_it_does_not_run(ready: None, change: dict[str, Any], says: str) -> None:
    reason = why_not(replace(facts(), **change), Needs())
    assert says in str(reason)
    assert "engine: auto" in str(reason)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"adapter": "./x"}, "adapter"),
        ({"load_in_8bit": True}, "load_in_8bit"),
        ({"accelerator": "cuda"}, "accelerator: cpu"),
        ({"device_map": "auto"}, "accelerator: cpu"),
        ({"torch_dtype": "float16"}, "float32"),
    ],
)
def test_options_it_does_not_honour(ready: None, options: dict[str, Any], says: str) -> None:
    assert says in str(why_not(facts(**options), Needs()))


def test_auto_takes_what_is_proven(
    ready: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else, whatever is installed."""
    (tmp_path / "openvino").mkdir()
    monkeypatch.setattr(proven, "_FOLDER", tmp_path)
    monkeypatch.setattr("importlib.metadata.version", lambda name: VERSIONS.get(name, "1"))
    read_proofs.cache_clear()
    equal = Proof("llama", "greedy", ("llama",), 60, 60, 0, "equal")
    write_proofs("openvino", Proofs("2026.4.1", "transformers 5", (equal,)))
    greedy = Needs(params=GenerationParams(temperature=0.0))
    taken = route(facts(), greedy)
    assert (taken.engine, taken.numerics) == ("openvino", "exact")
    assert route(replace(facts(), family="qwen2"), greedy).engine == "transformers"
    for params in ({"temperature": 1.0}, {"min_new_tokens": 4}, {"num_beams": 2}):
        assert route(facts(), Needs(params=GenerationParams(**params))).engine == "transformers"
    assert route(facts(), Needs(likelihood=True)).engine == "transformers"
    assert route(facts(engine="transformers"), greedy).engine == "transformers"
    named = route(replace(facts(engine="openvino"), family="qwen2"), greedy)
    assert named.numerics == "openvino 2026.4.1, openvino-genai 2026.4.1.0"
    read_proofs.cache_clear()
