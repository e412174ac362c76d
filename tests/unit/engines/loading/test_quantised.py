"""4 and 8 bits by bitsandbytes: really quantised, the text of the library alone, silent."""

from __future__ import annotations

import importlib.metadata
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bakeoff.core.errors import DependencyMissing, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe, precision
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import devices, quantising
from tests.support import part
from tests.unit.engines.loading.checkpoints import rewrite
from tests.unit.engines.loading.running import assert_like, bare, made, model_of, opened
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
CLASSES = {"load_in_4bit": "Linear4bit", "load_in_8bit": "Linear8bitLt"}


def bare_quantised(name: str, option: str) -> Any:
    """As the library quantises it."""
    config = transformers.BitsAndBytesConfig(
        **{option: True}, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32
    )
    model = bare(name, quantization_config=config, device_map={"": "cpu"})
    quantising.settle(model, EngineOptions(), [])  # some CPUs fail on sizes such as the zoo's
    return model


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("llama", "load_in_4bit"),
        ("llama", "load_in_8bit"),
        ("t5", "load_in_4bit"),
        ("bart", "load_in_8bit"),
    ],
)
def test_layers_are_quantised_and_the_text_is_the_librarys(
    name: str, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    part("bitsandbytes")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opened(zoo_path(name), **{option: True}) as engine:
            found = made(engine, name)  # the library warns on each call, if at all
            assert capfd.readouterr() == ("", "")
            model = model_of(engine)
            assert engine.info.dtype == f"bnb-{option[8:]}"
            assert engine.info.device == "cpu"
            kinds = Counter(type(module).__name__ for module in model.modules())
            assert kinds[CLASSES[option]] > 4 * kinds["Linear"] > 0  # the last layer stays whole
            packed = {w.dtype for n, w in model.named_parameters() if n.endswith("q_proj.weight")}
            packed |= {w.dtype for n, w in model.named_parameters() if n.endswith(".q.weight")}
            assert packed == {torch.uint8 if option == "load_in_4bit" else torch.int8}
            assert model.get_memory_footprint() < 0.6 * 4 * bare(name).num_parameters()
            assert_like(found, name, bare_quantised(name, option))


def test_8_bit_rows_are_computed_one_at_a_time_unless_asked() -> None:
    """Outliers are looked for over the whole batch: a text would hang on its neighbours."""
    part("bitsandbytes")
    with opened(zoo_path("qwen2"), load_in_8bit=True) as engine:
        assert {completion.concurrency for completion in made(engine, "qwen2")} == {1}
        (notice,) = engine.notices
        assert notice.code == "8bit-batches" and "one at a time" in notice.text
        assert engine._worker.careful.limits.rows == 1
    with opened(zoo_path("qwen2"), EngineOptions(max_batch=4), load_in_8bit=True) as engine:
        assert engine._worker.careful.limits.rows == 4
        assert "hangs" in engine.notices[0].text


def test_the_version_that_quantises_is_part_of_the_key() -> None:
    part("bitsandbytes")
    version = importlib.metadata.version("bitsandbytes")
    found = describe(ModelRef.parse(str(zoo_path("llama")), load_in_4bit=True))
    assert found.numerics == f"bitsandbytes {version}"
    assert describe(ModelRef.parse(str(zoo_path("llama")))).numerics == "exact"


def test_a_checkpoint_that_was_saved_in_4_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part("bitsandbytes")
    model = bare_quantised("llama", "load_in_4bit")
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(zoo_path("llama")).save_pretrained(tmp_path)
    with opened(tmp_path) as engine:
        assert engine.info.dtype == "bnb-4bit"
        assert_like(made(engine, "llama"), "llama", model)
    with pytest.raises(UnsupportedOption, match=r"already \(bitsandbytes.*\): drop load_in_8bit"):
        describe(ModelRef.parse(str(tmp_path), load_in_8bit=True))
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: False)
    with pytest.raises(DependencyMissing, match=r"bakeoff\[quant\]"):
        describe(ModelRef.parse(str(tmp_path)))


def test_what_other_libraries_quantised_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for path in zoo_path("llama").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    rewrite(folder / "config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    found = describe(ModelRef.parse(str(folder))).numerics
    assert found == f"gptq by transformers {transformers.__version__}"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: True)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("option", sorted(CLASSES))
def test_what_cannot_be_quantised_is_refused_with_what_to_write(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llama = str(zoo_path("llama"))
    asked = {option: True}
    with pytest.raises(UnsupportedOption, match=r"not on mps: write `accelerator: cpu`"):
        describe(ModelRef.parse(llama, accelerator="mps", **asked))
    with pytest.raises(UnsupportedOption, match=r"torch_dtype 'bfloat16'.*keep one"):
        describe(ModelRef.parse(llama, torch_dtype="bfloat16", **asked))
    with pytest.raises(UnsupportedOption, match=rf"quantised already; drop {option}"):
        describe(ModelRef.parse(str(write_gguf(tmp_path / "x.gguf")), **asked))
    monkeypatch.setattr(devices, "available", lambda: ("mps", "cpu"))
    with pytest.raises(UnsupportedOption, match=r"accelerator: cpu"):
        devices.place(ModelRef.parse(llama, **asked))


@pytest.mark.usefixtures("installed")
def test_the_precision_that_is_taken_anyway_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    part("bitsandbytes")
    monkeypatch.setattr(precision, "_cpu_build", lambda: True)
    found = describe(ModelRef.parse(str(zoo_path("llama")), load_in_4bit=True))
    assert found.ref.torch_dtype == "float32"
    assert describe(found.ref).identity == found.identity


def test_layers_for_which_packed_arithmetic_fails_use_the_plain_one() -> None:
    """bitsandbytes 0.50 repacks on CPUs with AVX512-BF16, and fails on sizes like 96 x 96."""
    part("bitsandbytes")
    from bitsandbytes.nn import Linear4bit

    model = torch.nn.Sequential(
        Linear4bit(96, 96), Linear4bit(128, 48), Linear4bit(128, 96), torch.nn.Linear(4, 4)
    )
    model.is_loaded_in_4bit = True
    for module in model[:3]:
        module.support_avx512bf16_for_cpu = True
    assert quantising.settle(model, EngineOptions(), []) is False
    assert [m.support_avx512bf16_for_cpu for m in model[:3]] == [False, False, True]


def test_names_of_quantisations() -> None:
    class Model:
        config = transformers.LlamaConfig()

    model = Model()
    assert quantising.quantised(model) is None
    model.config.quantization_config = {"quant_method": "gptq", "bits": 4}
    assert quantising.quantised(model) == "gptq-4bit"
    model.config.quantization_config = json.loads('{"quant_method": "fp8"}')
    assert quantising.quantised(model) == "fp8"
