"""A checkpoint's own decoding settings: which are applied, from where, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.modelfacts import ModelKind
from bakeoff.engines.checkpoint import Checkpoint
from bakeoff.engines.decoding import Defaults, read_defaults

SUMMARY = {"prefix": "summarize: ", "num_beams": 4, "max_length": 200, "min_length": 30,
           "no_repeat_ngram_size": 3, "length_penalty": 2.0, "early_stopping": True}  # fmt: skip


def defaults(
    generation: dict[str, Any] | None,
    config: dict[str, Any] | None = None,
    kind: ModelKind = "seq2seq",
    hints: tuple[str, ...] = (),
) -> Defaults:
    checkpoint = Checkpoint("m", Path(), (), config or {}, generation)
    return read_defaults(checkpoint, kind, hints)


@pytest.mark.parametrize(
    ("generation", "kind", "values"),
    [
        ({}, "causal", {}),
        ({"temperature": 0.6, "top_p": 0.9, "top_k": 20}, "causal", {}),
        ({"do_sample": False, "temperature": 0.6}, "causal", {}),
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9}, "causal",
         {"temperature": 0.6, "top_p": 0.9, "top_k": 50}),
        ({"do_sample": True, "top_k": 0}, "causal", {"temperature": 1.0, "top_k": 0}),
        ({"max_length": 4096}, "causal", {}),
        ({"max_length": 142, "min_length": 56}, "seq2seq",
         {"max_new_tokens": 141, "min_new_tokens": 55}),
        ({"max_length": 142, "max_new_tokens": 20}, "seq2seq", {"max_new_tokens": 20}),
        ({"repetition_penalty": 1.1, "stop_strings": "END"}, "causal",
         {"repetition_penalty": 1.1, "stop": ("END",)}),
        ({"num_beams": 4, "max_length": 9}, "encoder", {}),
    ],
)  # fmt: skip
def test_values(generation: dict[str, Any], kind: ModelKind, values: dict[str, Any]) -> None:
    assert defaults(generation, kind=kind).values == values


def test_origins_name_the_file_and_the_library() -> None:
    found = defaults({"do_sample": True, "temperature": 0.6}, kind="causal")
    assert found.origins == {"temperature": "generation_config", "top_k": "transformers"}


def test_an_old_config_holds_the_settings_where_there_is_no_generation_config() -> None:
    old = {"num_beams": 4, "max_length": 142, "vocab_size": 7}
    found = defaults(None, old)
    assert found.values == {"num_beams": 4, "max_new_tokens": 141}
    assert set(found.origins.values()) == {"config"}
    assert defaults({}, old).values == {}


def test_the_first_hint_that_is_there_is_laid_over_and_said() -> None:
    config = {"task_specific_params": {"summarization": SUMMARY, "translation_en_to_de": {}}}
    found = defaults({"num_beams": 2}, config, hints=("summarization_cnn", "summarization"))
    assert found.prefix == "summarize: "
    assert found.values == {
        "num_beams": 4, "max_new_tokens": 199, "min_new_tokens": 29, "no_repeat_ngram_size": 3,
        "length_penalty": 2.0, "early_stopping": True,
    }  # fmt: skip
    assert set(found.origins.values()) == {"task_specific_params.summarization"}
    (notice,) = found.notices
    assert notice.code == "task-specific-params"
    assert "prefix='summarize: '" in notice.text and "in place of" in notice.text


def test_without_a_hint_nothing_of_a_task_is_applied() -> None:
    found = defaults({}, {"task_specific_params": {"summarization": SUMMARY}}, hints=("other",))
    assert (found.values, found.prefix, found.notices) == ({}, "", [])


@pytest.mark.parametrize(
    ("generation", "code", "named"),
    [
        ({"tempurature": 1.0, "eos_token_id": 2}, "unknown-generation-key", "tempurature"),
        ({"penalty_alpha": 0.6}, "generation-setting-not-applied", "penalty_alpha"),
        ({"repetition_penalty": -1.0}, "bad-generation-setting", "repetition_penalty"),
    ],
)
def test_what_is_not_applied_is_named(generation: dict[str, Any], code: str, named: str) -> None:
    (notice,) = defaults(generation, kind="causal").notices
    assert (notice.code, named in notice.text) == (code, True)


def test_neutral_and_structural_keys_are_no_news() -> None:
    quiet = {"typical_p": 1.0, "pad_token_id": 0, "use_cache": True, "num_beam_groups": 1}
    quiet |= {"forced_eos_token_id": 2, "_from_model_config": True}
    assert defaults(quiet).notices == []
