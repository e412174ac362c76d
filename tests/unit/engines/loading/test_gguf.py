"""GGUF files: the header, the conversion and its cache."""

from __future__ import annotations

import gc
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
import transformers

from bakeoff.core.errors import BakeoffError, ModelLoadFailed, OutOfMemory, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import cache, describe
from bakeoff.engines.gguf import read_header
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import conversion
from bakeoff.engines.transformers.loading import load_model
from tests.unit.engines.loading.tiny_gguf import GGUF_TEMPLATE, gguf_tensors, write_gguf


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_header_equals_what_the_gguf_package_reads(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    header = read_header(path)
    for name, field in gguf.GGUFReader(path).fields.items():
        if not name.startswith("GGUF."):
            value = header.metadata[name]
            wanted = field.contents()
            assert (list(value) if isinstance(value, tuple) else value) == wanted, name
    assert header.parameters == sum(int(np.prod(shape)) for shape in gguf_tensors().values())
    assert (header.architecture, header.quantisation) == ("llama", "F32")


def test_described_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = describe(ModelRef.parse(str(write_gguf(tmp_path / "tiny.gguf"))))
    can = facts.capabilities
    assert (can.kind, can.context_length, can.chat_template, can.fim_tokens, can.likelihood) == (
        "causal", 64, True, True, True,
    )  # fmt: skip
    assert facts.identity.startswith("sha256:")
    assert facts.notices[0].code == "gguf-dequantised" and "F32" in facts.notices[0].text
    moved = write_gguf(tmp_path / "tiny.gguf").rename(tmp_path / "other.gguf")
    assert describe(ModelRef.parse(str(moved))).identity == facts.identity
    monkeypatch.setattr("bakeoff.engines.gguf.CONVERTER", 10**6)
    assert describe(ModelRef.parse(str(moved))).identity != facts.identity


def test_one_file_of_a_folder_is_taken_and_several_have_to_be_chosen(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_gguf(folder / "a.gguf")
    assert describe(ModelRef.parse(str(folder))).ref.gguf_file == "a.gguf"
    write_gguf(folder / "b.gguf", extra=1)
    with pytest.raises(ModelLoadFailed, match="gguf_file"):
        describe(ModelRef.parse(str(folder)))
    assert describe(ModelRef.parse(str(folder), gguf_file="b.gguf")).ref.gguf_file == "b.gguf"


@pytest.mark.parametrize(
    ("architecture", "fields", "says"),
    [("bert", {}, "'bert'"), ("llama", {"split__count": 2}, "one part of a split file")],
)
def test_what_is_not_run_from_gguf_is_refused(
    tmp_path: Path, architecture: str, fields: dict[str, int], says: str
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", architecture, **fields)
    with pytest.raises(UnsupportedOption, match=says):
        describe(ModelRef.parse(str(path)))


def damage(data: bytes) -> list[bytes]:
    cut = [data[: 200 * n] for n in range(8)]
    huge = data[:16] + struct.pack("<Q", 2**60) + data[24:]
    old = data[:4] + struct.pack("<I", 1) + data[8:]
    long_name = data[:24] + struct.pack("<Q", 2**40) + data[32:]
    return [b"", b"GGUF", b"nonsense" * 10, huge, old, long_name, *cut]


def test_damaged_headers_are_refused_and_never_a_traceback(tmp_path: Path) -> None:
    data = write_gguf(tmp_path / "tiny.gguf").read_bytes()
    for number, bad in enumerate(damage(data)):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(bad)
        with pytest.raises(ModelLoadFailed, match="cannot be read as GGUF"):
            read_header(path)


@pytest.mark.torch
def test_converted_once_and_equal_to_what_the_library_loads(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    facts = describe(ModelRef.parse(str(path)))
    loaded = load_model(facts, EngineOptions())
    assert capfd.readouterr() == ("", "")
    plain = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="tiny.gguf", dtype=torch.float32
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path, gguf_file="tiny.gguf")
    ids = tokenizer("ab cab", return_tensors="pt")
    again = loaded.tokenizer("ab cab", return_tensors="pt")
    assert ids["input_ids"].tolist() == again["input_ids"].tolist()
    assert torch.equal(plain(**ids).logits, loaded.model(**again).logits)
    assert loaded.tokenizer.chat_template == GGUF_TEMPLATE
    assert loaded.model.generation_config.eos_token_id == 9
    monkeypatch.setattr(conversion, "_check_room", lambda *_: pytest.fail("converted again"))
    path.rename(tmp_path / "moved.gguf")
    load_model(describe(ModelRef.parse(str(tmp_path / "moved.gguf"))), EngineOptions())
    assert len(cache.entries()) == 1


@pytest.mark.torch
def test_the_conversion_is_in_use_while_the_model_lives(tmp_path: Path) -> None:
    loaded = load_model(
        describe(ModelRef.parse(str(write_gguf(tmp_path / "t.gguf")))), EngineOptions()
    )
    assert [e.in_use for e in cache.entries()] == [True]
    assert cache.prune() == []
    del loaded
    gc.collect()
    assert len(cache.prune()) == 1


@pytest.mark.torch
@pytest.mark.parametrize(
    ("memory", "disk", "error", "says"),
    [
        (1000, 10**12, OutOfMemory, r"and 0\.0 MB are free"),
        (10**12, 1000, ModelLoadFailed, "cache prune"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    memory: int, disk: int, error: type[BakeoffError], says: str,
) -> None:  # fmt: skip
    path = write_gguf(tmp_path / "tiny.gguf")
    monkeypatch.setattr(conversion, "available_memory", lambda: memory)
    usage = type("Usage", (), {"free": disk})
    monkeypatch.setattr(conversion.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(error, match=says):
        load_model(describe(ModelRef.parse(str(path))), EngineOptions())
    assert cache.entries() == []


@pytest.mark.torch
def test_a_file_that_does_not_convert_leaves_nothing(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ModelLoadFailed, match="cannot be converted"):
        load_model(describe(ModelRef.parse(str(path))), EngineOptions())
    assert cache.entries() == []
