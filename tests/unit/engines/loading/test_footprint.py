"""Memory before loading: the numbers against what is really loaded, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed, OutOfMemory
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe, footprint
from bakeoff.engines.footprint import LEAST_TOKENS, Footprint, Room, check_fits, estimate
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.stock import cache_bytes_per_token
from bakeoff.engines.transformers import loading
from tests.hub import Hub
from tests.support import part
from tests.unit.engines.loading.checkpoints import save_encoder
from tests.unit.engines.loading.running import bare
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
PLENTY = Room("cpu", 1 << 40, 1 << 40)


def described(folder: Path, **options: Any) -> ModelFacts:
    return describe(ModelRef.parse(str(folder), accelerator="cpu", **options))


def found(folder: Path, room: Room = PLENTY, **options: Any) -> Footprint:
    return estimate(described(folder, **options), room)


def loaded_bytes(folder: Path, **options: Any) -> int:
    """What the weights of a loaded model take, shared ones counted once."""
    model = loading.load_model(described(folder, **options), EngineOptions(threads=1)).model
    return int(model.get_memory_footprint())


@pytest.mark.parametrize("name", ["llama", "qwen2", "t5", "bart", "nli"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_plain_weights(name: str, dtype: str) -> None:
    folder = zoo_path(name)
    real = loaded_bytes(folder, torch_dtype=dtype)
    assert found(folder, torch_dtype=dtype).weights_bytes == pytest.approx(real, rel=0.02)


@pytest.mark.parametrize("name", ["llama", "t5", "bart"])
@pytest.mark.parametrize("option", ["load_in_4bit", "load_in_8bit"])
def test_quantised_weights(name: str, option: str) -> None:
    """The library's own count leaves the scales of the blocks out."""
    part("bitsandbytes")
    folder = zoo_path(name)
    real = loaded_bytes(folder, **{option: True})
    assert 0.99 * real <= found(folder, **{option: True}).weights_bytes <= 1.1 * real


def test_shards_and_pickles_are_estimated_like_one_file(tmp_path: Path) -> None:
    model = bare("llama")
    whole = found(zoo_path("llama")).weights_bytes
    model.save_pretrained(tmp_path / "shards", max_shard_size="300KB")
    model.config.save_pretrained(tmp_path / "pickle")
    torch.save(model.state_dict(), tmp_path / "pickle" / "pytorch_model.bin")
    assert found(tmp_path / "shards").weights_bytes == whole
    assert found(tmp_path / "pickle").weights_bytes == pytest.approx(whole, rel=0.1)
    quantised = found(tmp_path / "pickle", torch_dtype="bfloat16").weights_bytes
    assert quantised == pytest.approx(whole / 2, rel=0.1)


@pytest.mark.parametrize("name", ["llama", "qwen2", "t5", "bart", "marian"])
def test_cache_of_a_token(name: str) -> None:
    """Decoder-only: keys and values of one layer each; with an encoder: those of its text too."""
    model, length = bare(name), 7
    ids = torch.ones((1, length), dtype=torch.long)
    both = model.config.is_encoder_decoder
    asked = {"decoder_input_ids": ids} if both else {}
    with torch.inference_mode():
        cache = model(input_ids=ids, use_cache=True, **asked).past_key_values
    parts = (cache.self_attention_cache, cache.cross_attention_cache) if both else (cache,)
    held = sum(
        tensor.nbytes for part in parts for layer in part.layers
        for tensor in (layer.keys, layer.values)
    )  # fmt: skip
    assert found(zoo_path(name)).cache_bytes_per_token * length == held
    raw = json.loads((zoo_path(name) / "config.json").read_text())
    assert cache_bytes_per_token(raw, 4) == cache_bytes_per_token(model.config.to_dict(), 4)


def test_an_encoder_has_no_cache(tmp_path: Path) -> None:
    got = found(save_encoder(tmp_path, "BertModel"))
    assert (got.cache_bytes_per_token, got.cache_bytes) == (0, 0)
    assert "batch" not in str(got)


def big(folder: Path, **config: Any) -> Path:
    """A checkpoint of 7 billion parameters: headers with nothing behind them."""
    shape = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
             "num_key_value_heads": 8, "vocab_size": 32000, "intermediate_size": 14336}  # fmt: skip
    said = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **shape, **config}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(said))
    layer = {"q_proj": 4096, "k_proj": 1024, "v_proj": 1024, "o_proj": 4096,
             "gate_proj": 14336, "up_proj": 14336, "down_proj": 14336}  # fmt: skip
    shapes = {
        f"model.layers.{n}.{k}.weight": [rows, 4096] for n in range(32) for k, rows in layer.items()
    }
    shapes |= {f"{name}.weight": [32000, 4096] for name in ("model.embed_tokens", "lm_head")}
    entries, end = {}, 0
    for name, sizes in shapes.items():
        begin, end = end, end + 2 * sizes[0] * sizes[1]
        entries[name] = {"dtype": "BF16", "shape": sizes, "data_offsets": [begin, end]}
    header = json.dumps(entries).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + end)  # sparse: it takes no room on disk
    return folder


def facts_of_big(folder: Path, **options: Any) -> ModelFacts:
    """Made by hand: `describe` would read and hash all of it."""
    ref = ModelRef.parse(str(big(folder) if not folder.exists() else folder), **options)
    return ModelFacts(ref, "sha256:0", Capabilities(kind="causal"), "LlamaForCausalLM")


@pytest.mark.parametrize(
    ("gigabytes", "fitting"),
    [
        (40, None),
        (18, ["torch_dtype: bfloat16", "load_in_8bit", "load_in_4bit", "device_map: auto", "GGUF"]),
        (12, ["load_in_8bit", "load_in_4bit", "device_map: auto", "GGUF"]),
        (8, ["load_in_4bit", "device_map: auto", "GGUF"]),
        (4, ["device_map: auto"]),
        (1, []),
    ],
)
def test_a_model_that_cannot_fit_is_refused_with_what_would(
    tmp_path: Path, gigabytes: int, fitting: list[str] | None
) -> None:
    facts = facts_of_big(tmp_path / "m", torch_dtype="float32")
    room = Room("cpu", gigabytes * 10**9, gigabytes * 10**9)
    if fitting is None:
        assert check_fits(facts, room).fits
        return
    with pytest.raises(OutOfMemory) as caught:
        check_fits(facts, room)
    text = caught.value.message
    assert f"takes 32.2 GB (29.0 GB the weights, 0.3 GB a batch of {LEAST_TOKENS:,} tok" in text
    assert f"and {gigabytes}.0 GB are free on cpu" in text
    named = ["torch_dtype: bfloat16", "load_in_8bit", "load_in_4bit", "device_map: auto", "GGUF"]
    assert [name for name in named if name in text] == fitting
    if not fitting:
        assert "nothing that bakeoff knows would fit" in text
    for number in re.findall(r"\((\d+\.\d) GB", text.partition("what would fit")[2]):
        assert float(number) <= gigabytes


def test_choices_take_less_than_what_is_asked(tmp_path: Path) -> None:
    folder, room = tmp_path / "m", Room("cpu", 10**9, 10**9)
    half = estimate(facts_of_big(folder, torch_dtype="bfloat16"), room)
    assert "bfloat16" not in " ".join(map(str, half.choices))
    quantised = estimate(facts_of_big(folder, load_in_4bit=True), room)
    assert 4.5e9 < quantised.weights_bytes < 5.2e9
    written = " ".join(choice.write for choice in quantised.choices)
    assert not re.search("8bit|bfloat16|device_map", written)


def test_on_an_accelerator_other_places_are_choices(tmp_path: Path) -> None:
    facts = facts_of_big(tmp_path / "m")
    with pytest.raises(OutOfMemory) as caught:
        check_fits(facts, Room("cuda", 12 * 10**9, 64 * 10**9))
    text = caught.value.message
    assert "takes 16.1 GB (14.5 GB the weights" in text and "free on cuda" in text
    assert re.search(r"`accelerator: cpu` \(32\.\d GB, slow\)", text)
    assert "`device_map: auto` (16.1 GB, in part in CPU memory: slow)" in text
    spread = facts_of_big(tmp_path / "m", device_map="auto")
    assert check_fits(spread, Room("cuda", 10**9, 10**9, spread=True)).spills


def test_checkpoints_that_are_quantised_stay_as_they_are(tmp_path: Path) -> None:
    folder = big(tmp_path / "m", quantization_config={"quant_method": "gptq", "bits": 4})
    (folder / "model.safetensors").unlink()  # 14 GB of nothing, which `describe` would hash
    (folder / "pytorch_model.bin").write_bytes(b"x" * 1000)
    assert found(folder).weights_bytes == 1000


@pytest.mark.parametrize("cut", [4, 100, 2000])
def test_a_file_that_ends_too_early_is_named(tmp_path: Path, cut: int) -> None:
    folder = shutil.copytree(zoo_path("llama"), tmp_path / "m")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-cut] if cut > 4 else b"\x01\x02")
    with pytest.raises(ModelLoadFailed, match=r"model\.safetensors cannot be loaded, since it"):
        found(folder)


def test_gguf_is_counted_dequantised_and_refused_with_the_file_itself(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "x.gguf")
    facts = describe(ModelRef.parse(str(path)))
    got = estimate(facts, PLENTY)
    assert got.weights_bytes > path.stat().st_size / 2 and got.beside_bytes > 0
    assert got.cache_bytes_per_token > 0
    with pytest.raises(OutOfMemory, match=r"nothing that bakeoff knows would fit"):
        check_fits(facts, Room("cpu", 10, 10))
    with pytest.raises(OutOfMemory, match=r"serving the file with llama\.cpp"):
        check_fits(facts, Room("cpu", 10, 1 << 40))


# -- on the Hub


def test_what_is_too_large_is_not_fetched(
    hub_in_process: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_in_process.add_model("org/llama", zoo_path("llama"))
    facts = describe(ModelRef.parse("hf://org/llama", accelerator="cpu"))
    exact = found(zoo_path("llama")).weights_bytes
    assert estimate(facts).weights_bytes == pytest.approx(exact, rel=0.1)
    monkeypatch.setattr("bakeoff.engines.transformers.devices.available_memory", lambda: 10**6)
    with pytest.raises(OutOfMemory, match=r"hf://org/llama@.* takes .* 1\.0 MB are free on cpu"):
        loading.load_model(facts, EngineOptions(threads=1))
    fetched = {fetch.file for fetch in hub_in_process.fetches("org/llama")}
    assert "config.json" in fetched and "model.safetensors" not in fetched


def test_a_gguf_file_that_is_too_large_is_not_fetched(
    hub_in_process: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    write_gguf(folder / "tiny.Q4_K_M.gguf")
    hub_in_process.add_model("org/tiny", folder)
    size = (folder / "tiny.Q4_K_M.gguf").stat().st_size
    monkeypatch.setattr("bakeoff.engines.stock.available_memory", lambda: 7 * size)
    with pytest.raises(OutOfMemory, match=r"tiny\.Q4_K_M\.gguf has .*llama\.cpp"):
        describe(ModelRef.parse("hf://org/tiny"))
    assert not {f.file for f in hub_in_process.fetches("org/tiny") if f.file.endswith(".gguf")}
    monkeypatch.setattr("bakeoff.engines.stock.available_memory", lambda: 8 * size)
    assert describe(ModelRef.parse("hf://org/tiny")).architecture == "llama"


def test_estimating_loads_no_torch() -> None:
    code = (
        "import sys\n"
        "from bakeoff.core.modelref import ModelRef\n"
        "from bakeoff.engines import describe\n"
        "from bakeoff.engines.footprint import estimate\n"
        f"found = estimate(describe(ModelRef.parse({str(zoo_path('llama'))!r})))\n"
        "print(found.total_bytes > 0, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_running_out_while_loading_names_what_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(OutOfMemory, match=r"memory ran out while .*: `torch_dtype: bfloat16`"):
        loading.load_model(described(zoo_path("llama")), EngineOptions(threads=1))


def test_sizes_for_people() -> None:
    assert [footprint.size(n) for n in (1, 10**6, 99_999_999, 10**8)] == [
        "0.0 MB",
        "1.0 MB",
        "100.0 MB",
        "0.1 GB",
    ]
