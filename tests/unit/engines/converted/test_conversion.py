"""Conversions: made once, checked against their model, complete in themselves."""

from __future__ import annotations

import gc
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, Text
from bakeoff.engines import cache, describe, open_engine
from bakeoff.engines.ctranslate2 import conversion
from bakeoff.engines.ctranslate2.agreement import Probe
from bakeoff.engines.ctranslate2.converted import Kept, converted, key
from bakeoff.engines.options import EngineOptions
from tests.contract.targets import Target, run, texts
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
ONE = EngineOptions(threads=1)


def facts(folder: Path, **options: Any) -> ModelFacts:
    return describe(ModelRef.parse(str(folder), **{"engine": "ctranslate2", **options}))


def opened(found: ModelFacts) -> Engine:
    return run(open_engine("ctranslate2", found, ONE))  # type: ignore[no-any-return]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    monkeypatch.undo()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a model that the test may change."""
    return Path(shutil.copytree(zoo_path("t5"), tmp_path / "model"))


def test_a_model_is_converted_once_and_leased_while_it_is_used(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = facts(model)
    first = opened(found)
    (entry,) = cache.entries()
    assert (entry.kind, entry.in_use) == ("ctranslate2", True)
    assert cache.prune() == []

    def again(*_: Any) -> None:
        raise AssertionError("converted a second time")

    monkeypatch.setattr(conversion, "convert", again)
    second = opened(found)
    asks = Target("t5").requests(3)
    assert texts(first, asks) == texts(second, asks)
    run(first.close())
    run(second.close())


def test_a_cached_conversion_needs_no_weights(home: Path, model: Path) -> None:
    found = facts(model)
    first = opened(found)
    asks = Target("t5").requests(3)
    expected = texts(first, asks)
    run(first.close())
    shutil.rmtree(model)
    second = opened(found)
    assert texts(second, asks) == expected
    run(second.close())


def test_the_key_hangs_on_content_arithmetic_and_versions(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = key(facts(model))
    assert key(facts(model, compute_type="float32")) == plain
    assert key(facts(model, compute_type="int8")) != plain
    config = model / "generation_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "suppress_tokens": [5]}))
    assert key(facts(model)) != plain
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9")
    assert key(facts(zoo_path("t5"))) != plain


def test_a_conversion_that_computes_otherwise_is_not_kept(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that the converter does not see: here the scale of T5's outputs."""
    monkeypatch.setattr(conversion, "spell", lambda model: setattr(
        model.config, "tie_word_embeddings", False))  # fmt: skip
    with pytest.raises(ModelLoadFailed, match=r"other log-probabilities.*engine: transformers"):
        opened(facts(model))
    assert cache.entries() == []


def test_where_auto_took_it_transformers_takes_its_place(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ModelLoadFailed("no such layer")

    monkeypatch.setattr(conversion, "convert", fails)
    with pytest.raises(ModelLoadFailed, match="no such layer"):
        opened(facts(model))
    engine = opened(facts(model, engine="auto"))
    assert engine.info.name == "transformers"
    (notice,) = [one for one in engine.notices if one.code == "engine-fallback"]
    assert "no such layer" in notice.text
    run(engine.close())


def test_a_model_that_the_converter_chokes_on_says_what_to_write(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "spell", lambda model: delattr(model, "lm_head"))
    with pytest.raises(ModelLoadFailed, match=r"AttributeError.*engine: transformers"):
        opened(facts(model))


def test_int8_is_shown_and_close_to_the_model(home: Path, model: Path) -> None:
    engine = opened(facts(model, compute_type="int8"))
    assert engine.info.dtype.startswith("int8")
    assert all(texts(engine, Target("t5").requests(4)))
    run(engine.close())
    plain = opened(facts(model))
    assert plain.info.dtype == "float32"
    run(plain.close())
    assert len(cache.entries()) == 2


def test_an_unknown_key_of_the_configuration_is_told(home: Path, model: Path) -> None:
    config = model / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "zq_new_thing": 1}))
    engine = opened(facts(model))
    assert any("zq_new_thing" in notice.text for notice in engine.notices)
    run(engine.close())


def test_another_tokenizer_goes_into_the_entry(home: Path, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer"
    other.mkdir()
    for path in zoo_path("t5").glob("tokenizer*"):
        shutil.copy(path, other)
    settings = other / "tokenizer_config.json"
    settings.write_text(
        json.dumps({**json.loads(settings.read_text()), "clean_up_tokenization_spaces": True})
    )
    lease = converted(facts(model, tokenizer=str(other)))
    assert "true" in (lease.path / "tokenizer" / settings.name).read_text()
    assert Kept.read(lease.path).size == 760
    lease.release()


def test_marian_starts_without_a_token_of_its_own(home: Path) -> None:
    lease = converted(facts(zoo_path("marian")))
    kept = Kept.read(lease.path)
    assert (kept.size, kept.starts_with) == (1032, 0)
    assert kept.said["bad_words_ids"] == [[1032]]
    lease.release()


@pytest.mark.parametrize("change", [0.0, 1.0, float("nan")])
def test_the_comparison_sees_other_numbers(home: Path, change: float) -> None:
    import torch
    import transformers

    name = "llama"
    model = transformers.AutoModelForCausalLM.from_pretrained(zoo_path(name)).eval()
    with torch.inference_mode():
        probe = Probe.of(model)
    lease = converted(facts(zoo_path(name)))
    said = replace(probe, logprobs=(probe.logprobs[0] + change, *probe.logprobs[1:]))
    if change == 0.0:
        said.compare(lease.path / "model", "float32", None)
    else:
        with pytest.raises(ModelLoadFailed):
            said.compare(lease.path / "model", "float32", None)
    lease.release()


def test_a_gguf_file_is_converted_and_its_own_conversion_may_go(home: Path, tmp_path: Path) -> None:
    found = facts(write_gguf(tmp_path / "tiny.gguf"))
    asks = [
        GenerateRequest(str(at), Text(text), GenerationParams(max_new_tokens=12))
        for at, text in enumerate(("abcd", "hg f", "a", "ab ab ab"))
    ]
    first = opened(found)
    made = [one.token_ids for one in run(first.generate(asks))]
    run(first.close())
    plain = run(open_engine("transformers", found, ONE))
    assert [one.token_ids for one in run(plain.generate(asks))] == made
    run(plain.close())
    del plain
    gc.collect()
    assert {one.kind for one in cache.prune()} >= {"gguf"}
    again = opened(found)
    assert [one.token_ids for one in run(again.generate(asks))] == made
    run(again.close())


def test_positions_that_turn_in_part_are_found_out(home: Path) -> None:
    """The converter knows no partial rotation for Phi-3, so that its numbers are others."""
    with pytest.raises(ModelLoadFailed, match="other log-probabilities"):
        opened(facts(zoo_path("phi3")))
