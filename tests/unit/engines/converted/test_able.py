"""What the ctranslate2 engine refuses, and why, before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines.checks import check_options
from bakeoff.engines.ctranslate2.able import HINTS, unable, why_not
from bakeoff.engines.ctranslate2.architectures import converts, registered
from bakeoff.engines.decoding import SLIDING_WINDOW, START_IS_END
from bakeoff.engines.needs import Needs
from bakeoff.engines.route import route

LLAMA, T5 = ("causal", "LlamaForCausalLM"), ("seq2seq", "T5ForConditionalGeneration")


def facts(model: tuple[str, str] = T5, **options: Any) -> ModelFacts:
    kind, architecture = model
    ref = ModelRef.parse("hf://org/name", **{"accelerator": "cpu", **options})
    return ModelFacts(ref, "hf:org/name@1", Capabilities(kind), architecture)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("architecture", "known"),
    [
        ("T5ForConditionalGeneration", True),
        ("MT5ForConditionalGeneration", True),
        ("BartForConditionalGeneration", True),
        ("MBartForConditionalGeneration", True),
        ("MarianMTModel", True),
        ("M2M100ForConditionalGeneration", True),
        ("PegasusForConditionalGeneration", True),
        ("LlamaForCausalLM", True),
        ("GPT2LMHeadModel", True),
        ("llama", True),
        ("LEDForConditionalGeneration", False),
        ("NllbMoeForConditionalGeneration", False),
        ("ProphetNetForConditionalGeneration", False),
        ("MambaForCausalLM", False),
        ("rwkv", False),
    ],
)
def test_which_architectures_convert(architecture: str, known: bool) -> None:
    assert converts(architecture) is known


@pytest.mark.torch
def test_the_converter_says_the_same_of_itself() -> None:
    from ctranslate2.converters import transformers as library

    named = {name.removesuffix("Config") for name in library._MODEL_LOADERS}
    assert registered() == named


def test_asking_loads_nothing_heavy() -> None:
    code = """
import sys
from bakeoff.core.modelref import ModelRef
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.engines.route import route
ref = ModelRef.parse("hf://org/name", accelerator="cpu")
print(route(ModelFacts(ref, "x", Capabilities("seq2seq"), "T5ForConditionalGeneration")).engine)
import bakeoff.engines.ctranslate2.engine
print(sorted({"torch", "transformers", "ctranslate2", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize(
    ("model", "settings", "refused"),
    [
        (T5, {}, []),
        (T5, {"min_new_tokens": 5, "stop": ("x",), "stop_ids": (3,), "n": 3, "seed": 1}, []),
        (T5, {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3}, []),
        (T5, {"top_p": 0.5, "top_k": 3, "min_p": 0.1}, []),
        (T5, {"temperature": 0.7}, ["temperature"]),
        (T5, {"frequency_penalty": 0.1, "presence_penalty": 0.1},
         ["frequency_penalty", "presence_penalty"]),
        (T5, {"logit_bias": ((1, 2.0),)}, ["logit_bias"]),
        (T5, {"num_beams": 4}, ["early_stopping"]),
        (T5, {"num_beams": 4, "early_stopping": "never"}, ["early_stopping"]),
        (T5, {"num_beams": 4, "early_stopping": True, "length_penalty": 2.0, "n": 4,
              "no_repeat_ngram_size": 3, "min_new_tokens": 5}, []),
        (T5, {"num_beams": 2, "early_stopping": True, "stop": ("x",), "stop_ids": (3,), "n": 3},
         ["stop", "stop_ids", "n"]),
        (T5, {"num_beams": 2, "early_stopping": True, "repetition_penalty": 1.1},
         ["repetition_penalty"]),
        (LLAMA, {"min_new_tokens": 5}, []),
        (LLAMA, {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
         ["repetition_penalty", "no_repeat_ngram_size"]),
    ],
)  # fmt: skip
def test_settings(model: tuple[str, str], settings: dict[str, Any], refused: list[str]) -> None:
    params = GenerationParams(**settings)
    needs = Needs(params=params)
    assert unable(needs, params, facts(model)) == refused
    reason = why_not(facts(model), needs)
    assert (reason is None) is (not refused)
    for name in refused:
        assert name in str(reason)
        assert refused[0] not in HINTS or HINTS[refused[0]] in str(reason)


def test_a_decoder_that_starts_with_the_end_is_penalised_otherwise() -> None:
    bart = replace(facts(), settings=(START_IS_END,))
    params = GenerationParams(repetition_penalty=1.2)
    assert unable(Needs(), params, bart) == ["repetition_penalty"]
    assert why_not(bart, Needs()) is None


@pytest.mark.parametrize(
    "asked", ["logprobs", "prompt_logprobs", "grammar", "adapter", "likelihood"]
)
def test_what_is_asked_beside_a_text(asked: str) -> None:
    assert asked in str(why_not(facts(), Needs(**{asked: True})))
    scored = why_not(facts(LLAMA), Needs(**{asked: True}))
    assert (scored is None) is (asked == "likelihood")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"architecture": "LEDForConditionalGeneration"}, "converter does not know"),
        ({"capabilities": Capabilities("encoder")}, "is an encoder"),
        ({"settings": ("guidance_scale",)}, "asks for guidance_scale"),
        ({"settings": (SLIDING_WINDOW,)}, "asks for sliding-window"),
        ({"identity": "hf:org/name@1+trust_remote_code:true"}, "brings its own code"),
        ({"numerics": "gptq by transformers 5.24.0"}, "quantised"),
    ],
)
def test_models_it_does_not_run(change: dict[str, Any], says: str) -> None:
    reason = why_not(replace(facts(), **change), Needs())
    assert says in str(reason)
    assert "engine: auto" in str(reason)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"adapter": "./x"}, "adapter"),
        ({"load_in_8bit": True}, "compute_type: int8"),
        ({"accelerator": "cuda"}, "accelerator: cpu"),
        ({"device_map": "auto"}, "accelerator: cpu"),
        ({"torch_dtype": "float16"}, "compute_type"),
    ],
)
def test_options_it_does_not_honour(options: dict[str, Any], says: str) -> None:
    assert says in str(why_not(facts(**options), Needs()))


def test_what_the_checkpoint_forbids_is_honoured() -> None:
    assert why_not(replace(facts(), settings=("bad_words_ids", "suppress_tokens")), Needs()) is None


@pytest.mark.parametrize(
    ("options", "params"),
    [
        ({"load_in_8bit": True}, GenerationParams()),
        ({"adapter": "./x"}, GenerationParams()),
        ({}, GenerationParams(temperature=0.7)),
    ],
)
def test_where_compute_type_asked_for_it_that_is_to_be_dropped(
    options: dict[str, Any], params: GenerationParams
) -> None:
    needs = Needs(params=params)
    assert "leave out compute_type" not in str(why_not(facts(**options), needs))
    assert "leave out compute_type" in str(why_not(facts(compute_type="int8", **options), needs))


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "ctranslate2", "load_in_8bit": True},
        {"engine": "ctranslate2", "adapter": "./x"},
        {"compute_type": "int8", "load_in_4bit": True},
    ],
)
def test_what_it_refuses_asks_for_no_optional_part(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To install bitsandbytes or peft would not help."""
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: False)
    check_options(facts(**options).ref)
    with pytest.raises(UnsupportedOption, match="ctranslate2 engine does not run this"):
        route(facts(**options))
