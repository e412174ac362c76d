"""`load_model`: one folder, the right class, nothing random, nothing printed."""

from __future__ import annotations

import asyncio
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bakeoff.core.errors import BakeoffError, ModelLoadFailed, OutOfMemory, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, GenerationParams, Text
from bakeoff.engines import describe, open_engine
from bakeoff.engines.decoding import KEPT
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import devices
from bakeoff.engines.transformers.loading import Loaded, load_model
from tests.unit.engines.loading.checkpoints import rewrite, save_encoder
from tests.zoo import NAMES, zoo_path

pytestmark = pytest.mark.torch


def load(folder: Path, **options: Any) -> Loaded:
    return load_model(describe(ModelRef.parse(str(folder), **options)), EngineOptions(threads=2))


def copy(name: str, to: Path) -> Path:
    return shutil.copytree(zoo_path(name), to / name)


@pytest.mark.parametrize("name", NAMES)
def test_the_zoo_loads_in_silence(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load(zoo_path(name))
    assert capfd.readouterr() == ("", "")
    assert (loaded.device, loaded.dtype) == (devices.place(loaded.facts.ref).device, "float32")
    assert not loaded.model.training
    architecture = json.loads((zoo_path(name) / "config.json").read_text())["architectures"]
    assert [type(loaded.model).__name__] == architecture
    unexpected = {n.code for n in loaded.notices} - {"library-warning"}
    assert not unexpected, loaded.notices


def test_weights_equal_those_of_the_file() -> None:
    loaded = load(zoo_path("bart"))
    state = loaded.model.state_dict()
    for name, weight in load_file(zoo_path("bart") / "model.safetensors").items():
        assert torch.equal(state[name], weight)


def test_generation_config_keeps_only_what_is_not_in_the_defaults(tmp_path: Path) -> None:
    folder = copy("bart", tmp_path)
    rewrite(folder / "generation_config.json", num_beams=4, do_sample=True, temperature=0.3,
            suppress_tokens=[7])  # fmt: skip
    loaded = load(folder)
    said = loaded.model.generation_config.to_diff_dict()
    assert set(said) - {"transformers_version"} <= KEPT
    assert said["suppress_tokens"] == [7] and said["eos_token_id"] == 2
    assert loaded.facts is not None and loaded.facts.defaults.temperature == 0.3


def test_a_head_that_the_file_lacks_is_never_drawn_at_random(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path, "BertModel")
    rewrite(folder / "config.json", architectures=["BertForSequenceClassification"])
    with pytest.raises(ModelLoadFailed, match=r"classifier\.bias, classifier\.weight.*random"):
        load(folder)


def test_a_layer_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    folder = copy("llama", tmp_path)
    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(ModelLoadFailed, match=r"lacks the weights model\.layers\.0\.mlp\.up_proj"):
        load(folder)


def test_weights_without_a_place_are_a_notice(tmp_path: Path) -> None:
    folder = copy("llama", tmp_path)
    path = folder / "model.safetensors"
    save_file({**load_file(path), "model.extra.weight": torch.ones(2)}, path, {"format": "pt"})
    notices = {n.code: n.text for n in load(folder).notices}
    assert "model.extra.weight" in notices["unused-weights"]


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda f: (f / "model.safetensors").write_bytes(b"\x00" * 100), "cannot be loaded"),
        (lambda f: rewrite(f / "config.json", hidden_size=48), "cannot be loaded"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer.json|cannot be loaded"),
        (lambda f: (f / "tokenizer.json").unlink(), "cannot be loaded"),
        (lambda f: rewrite(f / "config.json", model_type="martian"), "martian"),
    ],
)
def test_damaged_checkpoints_are_errors_of_the_model(
    tmp_path: Path, break_it: Any, says: str
) -> None:
    folder = copy("llama", tmp_path)
    break_it(folder)
    with pytest.raises(ModelLoadFailed, match=says):
        load(folder)


def test_unknown_keys_of_the_configuration_are_named(tmp_path: Path) -> None:
    folder = copy("llama", tmp_path)
    rewrite(folder / "config.json", sliding_windows=7)
    (notice,) = load(folder).notices
    assert notice.code == "unknown-config-key" and "sliding_windows" in notice.text


@pytest.mark.parametrize("accelerator", sorted({"cuda", "mps"} - set(devices.available())))
def test_an_accelerator_that_is_not_there_is_refused(accelerator: str) -> None:
    with pytest.raises(UnsupportedOption, match=rf"'{accelerator}', but this machine has"):
        load(zoo_path("bart"), accelerator=accelerator)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_precision(dtype: str) -> None:
    loaded = load(zoo_path("llama"), torch_dtype=dtype)
    assert loaded.dtype == dtype == str(next(loaded.model.parameters()).dtype).split(".")[1]
    rotary = dict(loaded.model.named_buffers())
    assert {b.dtype for n, b in rotary.items() if "inv_freq" in n} == {torch.float32}


def test_on_a_processor_auto_is_float32_whatever_the_file_holds(tmp_path: Path) -> None:
    folder = copy("llama", tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    assert load(folder, accelerator="cpu").dtype == "float32"


def test_device_map_places_the_model() -> None:
    loaded = load(zoo_path("llama"), device_map="auto", max_memory={"cpu": "2GiB"})
    ids = loaded.tokenizer("1 kite", return_tensors="pt").to(loaded.device)
    assert loaded.model(**ids).logits.isfinite().all()


def test_python_tokenizer_where_there_is_one() -> None:
    assert not load(zoo_path("marian"), use_fast=False).tokenizer.is_fast
    with pytest.raises(UnsupportedOption, match="leave use_fast out"):
        load(zoo_path("llama"), use_fast=False)


def test_another_tokenizer(tmp_path: Path) -> None:
    loaded = load(zoo_path("t5"), tokenizer=str(zoo_path("dates-t5")))
    wanted = transformers.AutoTokenizer.from_pretrained(zoo_path("dates-t5"))
    assert loaded.tokenizer.get_vocab() == wanted.get_vocab()


def test_template_of_an_older_file_is_used(tmp_path: Path) -> None:
    folder = copy("qwen2", tmp_path)
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    loaded = load(folder)
    assert loaded.facts is not None and loaded.facts.capabilities.chat_template
    assert loaded.tokenizer.chat_template == "{{ messages }}"


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (MemoryError(), OutOfMemory),
        (torch.OutOfMemoryError("CUDA out of memory"), OutOfMemory),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), OutOfMemory),
        (RuntimeError("something else"), ModelLoadFailed),
        (ImportError("needs tiktoken"), ModelLoadFailed),
    ],
)
def test_what_the_library_raises_becomes_an_error_of_the_model(
    monkeypatch: pytest.MonkeyPatch, error: Exception, wanted: type[BakeoffError]
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    monkeypatch.setattr(transformers.AutoModelForSeq2SeqLM, "from_pretrained", fail)
    with pytest.raises(wanted, match="zoo/bart"):
        load(zoo_path("bart"))


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
def test_files_that_change_before_they_are_loaded_are_refused(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    folder = copy("t5", tmp_path / "model")
    facts = describe(ModelRef.parse(str(folder), engine=engine))
    weights = folder / "model.safetensors"
    true = weights.read_bytes()
    changed = {name: one + 0.5 for name, one in load_file(weights).items()}
    save_file(changed, weights, metadata={"format": "pt"})
    options = EngineOptions(threads=1)
    with pytest.raises(ModelLoadFailed, match="changed while"):
        asyncio.run(open_engine(engine, facts, options))
    weights.write_bytes(true)
    asyncio.run(asyncio.run(open_engine(engine, facts, options)).close())


@pytest.mark.parametrize("ends", [[0, 99999], 99999])
def test_an_end_that_the_model_does_not_have_is_never_written(ends: Any, tmp_path: Path) -> None:
    folder = copy("gpt2", tmp_path / "model")
    rewrite(folder / "generation_config.json", eos_token_id=ends)
    facts = describe(ModelRef.parse(str(folder)))

    async def text() -> Any:
        engine = await open_engine("transformers", facts, EngineOptions(threads=1))
        params = GenerationParams(max_new_tokens=8, min_new_tokens=5)
        found = await engine.generate([GenerateRequest("a", Text("1 ring ->"), params)])
        await engine.close()
        return found[0]

    made = asyncio.run(text())
    assert isinstance(made, Completion), made
    assert len(made.token_ids) == 8
