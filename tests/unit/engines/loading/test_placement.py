"""`device_map` and `max_memory` over CPU memory and disk: the same text, nothing left behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from filelock import FileLock

from bakeoff.core.errors import ModelLoadFailed, OutOfMemory, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Prediction
from bakeoff.core.requests import Embed, PredictRequest, ScoreRequest, Text
from bakeoff.engines import describe
from bakeoff.engines.cache import bakeoff_home
from bakeoff.engines.checks import bytes_of
from bakeoff.engines.footprint import estimate
from bakeoff.engines.transformers import devices
from bakeoff.engines.transformers.adapting import lay_over
from bakeoff.engines.transformers.offload import Offload
from tests.contract.targets import collect, run
from tests.support import part
from tests.unit.engines.loading.checkpoints import save_encoder
from tests.unit.engines.loading.lora import save_lora
from tests.unit.engines.loading.running import bare, model_of, opened, texts
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch


def half(name: str, share: float = 0.55) -> str:
    """A cap for `max_memory`: a share of a model's weights in float32."""
    return f"{int(4 * share * bare(name).num_parameters())}B"


def offloaded() -> list[Path]:
    root = bakeoff_home() / "offload"
    return sorted(root.iterdir()) if root.is_dir() else []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("llama", "auto"),
        ("llama", "sequential"),
        ("bart", "balanced"),
        ("t5", "auto"),
        ("marian", "auto"),
    ],
)
def test_half_of_the_layers_on_disk_make_the_same_text(
    name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    cap = half(name, {"t5": 0.75, "bart": 0.7}.get(name, 0.6))
    with opened(zoo_path(name)) as engine:
        expected, beams = texts(engine, name), texts(engine, name, num_beams=2)
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opened(zoo_path(name), device_map=kind, max_memory={"cpu": cap}) as engine:
            assert texts(engine, name) == expected
            assert texts(engine, name, num_beams=2) == beams
            assert engine.info.device == "cpu, disk"
            (notice,) = [n for n in engine.notices if n.code != "library-warning"]
            assert notice.code == "placement" and "read again on every pass" in notice.text
            kept = devices.spread_over(model_of(engine))
            assert 0.1 < kept["disk"] / sum(kept.values()) < 0.95, kept
    assert capfd.readouterr() == ("", "")
    assert offloaded() == []


@pytest.mark.parametrize("name", ["qwen2", "marian"])
def test_all_of_it_on_disk_makes_the_same_text(name: str) -> None:
    """Marian's positions stand in no file; the library looks for them on disk all the same."""
    with opened(zoo_path(name)) as engine:
        expected = texts(engine, name)
    with opened(zoo_path(name), device_map="auto", max_memory={"cpu": "1KB"}) as engine:
        assert engine.info.device == "disk"
        assert {weight.device.type for weight in model_of(engine).parameters()} == {"meta"}
        assert texts(engine, name) == expected


def test_a_cap_on_the_disk_is_kept() -> None:
    room = {"cpu": half("qwen2"), "disk": "100KB"}
    with (
        pytest.raises(OutOfMemory, match=r"would stay on disk where max_memory allows 0\.1 MB"),
        opened(zoo_path("qwen2"), device_map="auto", max_memory=room),
    ):
        pass


def test_without_a_cap_all_of_it_is_in_memory() -> None:
    with opened(zoo_path("llama"), device_map="auto") as engine:
        assert engine.info.device == "cpu" and engine.notices == ()


def test_likelihoods_and_vectors_from_disk(tmp_path: Path) -> None:
    ask = ScoreRequest("a", Text("1 kite"), " of fine clay")
    found = []
    for options in ({}, {"device_map": "auto", "max_memory": {"cpu": half("qwen2")}}):
        with opened(zoo_path("qwen2"), **options) as engine:
            (likelihood,) = run(collect(engine.score([ask])))
            found.append(likelihood.logprobs)
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    folder, vectors = save_encoder(tmp_path, "BertModel"), []
    for options in ({}, {"device_map": "auto", "max_memory": {"cpu": "60KB"}}):
        with opened(folder, **options) as engine:
            (one,) = run(collect(engine.predict([PredictRequest("a", Embed("a kite"))])))
            assert isinstance(one, Prediction), one
            vectors.append(one.value.values)
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-5)


@pytest.fixture
def pickled(tmp_path: Path) -> Path:
    """A checkpoint without safetensors: parts of it cannot be read where they lie."""
    folder = tmp_path / "model"
    model = bare("llama")
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    transformers.AutoTokenizer.from_pretrained(zoo_path("llama")).save_pretrained(folder)
    return folder


def test_what_has_to_be_written_is_gone_at_the_end(pickled: Path) -> None:
    with opened(zoo_path("llama")) as engine:
        expected = texts(engine, "llama")
    with opened(pickled, device_map="auto", max_memory={"cpu": half("llama")}) as engine:
        assert texts(engine, "llama") == expected
        assert sum(path.stat().st_size for path in bakeoff_home().rglob("*.safetensors")) > 10**5
    assert offloaded() == []


def test_a_full_disk_is_named(pickled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("transformers.integrations.accelerate.save_file", fail)
    with (
        pytest.raises(ModelLoadFailed, match=r"the disk is full.*set BAKEOFF_HOME to a larger"),
        opened(pickled, device_map="auto", max_memory={"cpu": half("llama")}),
    ):
        pass
    assert offloaded() == []


def test_shards_are_read_where_they_lie(tmp_path: Path) -> None:
    model = bare("llama")
    model.save_pretrained(tmp_path, max_shard_size="300KB")
    transformers.AutoTokenizer.from_pretrained(zoo_path("llama")).save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    with opened(zoo_path("llama")) as engine:
        expected = texts(engine, "llama")
    with opened(tmp_path, device_map="auto", max_memory={"cpu": half("llama")}) as engine:
        assert texts(engine, "llama") == expected


def test_folders_of_killed_processes_are_cleared_away() -> None:
    code = "from bakeoff.engines.transformers.offload import Offload as O\nimport os\n"
    code += "o = O()\n(o.path / 'w').write_bytes(b'x')\nprint(o.path, flush=True)\nos._exit(1)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    left = Path(ended.stdout.strip())
    assert left.is_dir(), ended.stderr
    mine = Offload()
    assert not left.exists() and not left.with_name(left.name + ".lock").exists()
    other = Offload()
    assert mine.path.is_dir()
    for one in (mine, other, mine):
        one.remove()
    assert offloaded() == []


def test_a_folder_in_use_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))
    folder = tmp_path / "offload" / "1-a"
    folder.mkdir(parents=True)
    with FileLock(folder.with_name("1-a.lock")):
        Offload().remove()
        assert folder.is_dir()


def test_weights_on_disk_are_not_adapted_or_quantised(tmp_path: Path) -> None:
    part("peft")
    part("bitsandbytes")
    spread = {"device_map": "auto", "max_memory": {"cpu": "100KB"}}
    folder = save_lora(tmp_path / "lora", "qwen2")
    for options in ({"adapter": str(folder)}, {"load_in_4bit": True}):
        with (
            pytest.raises(OutOfMemory, match=r"takes .* and 0\.1 MB are free in all places"),
            opened(zoo_path("qwen2"), **spread, **options),
        ):
            pass
    with opened(zoo_path("qwen2"), device_map="auto", adapter=str(folder)) as engine:
        assert texts(engine, "qwen2")[0]
    with opened(zoo_path("qwen2"), device_map="auto", load_in_4bit=True) as engine:
        assert (engine.info.device, engine.info.dtype) == ("cpu", "bnb-4bit")


def test_quantised_weights_that_fit_in_sum_alone(tmp_path: Path) -> None:
    """The library keeps a tenth free, so that a part would have to go to disk."""
    part("bitsandbytes")
    facts = describe(ModelRef.parse(str(zoo_path("qwen2")), load_in_4bit=True))
    cap = {"cpu": f"{int(1.02 * estimate(facts).weights_bytes)}B"}
    with (
        pytest.raises(OutOfMemory, match=r"max_memory leaves too little"),
        opened(zoo_path("qwen2"), device_map="auto", max_memory=cap, load_in_4bit=True),
    ):
        pass


def test_an_adapter_goes_over_a_whole_model_alone() -> None:
    """PEFT would place a model that is spread over a device and the CPU anew."""

    class Model:
        hf_device_map: dict[str, Any]

    model, ref = Model(), ModelRef.parse("fake://x", adapter="./a")
    for places, said in (
        ({"a": 0, "b": "cpu"}, "0 and cpu"),
        ({"a": "disk"}, "disk"),
    ):
        model.hf_device_map = places
        with pytest.raises(UnsupportedOption, match=f"over weights on {said}: .*raise max_memory"):
            lay_over(model, ref, [Path("a")], "cpu")


@pytest.mark.parametrize(
    ("place", "there"), [("0", "cpu, disk"), ("1", "0, cpu, disk"), ("mps", "cpu, disk")]
)
def test_devices_that_are_not_there_are_named(
    place: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there.startswith("0") * 1)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    ref = ModelRef.parse(str(zoo_path("llama")), device_map="auto", max_memory={place: "1GiB"})
    with pytest.raises(UnsupportedOption, match=f"'{place}', but this machine has {there}"):
        devices.place(ref)


def test_memory_that_nobody_capped_is_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a control group counts, which the library does not look at."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: (10**10 * (number + 1), 0))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(devices, "available_memory", lambda: 10**9)
    ref = ModelRef.parse(str(zoo_path("llama")), device_map="auto")
    taken = devices.place(ref)
    assert taken.arguments["max_memory"] == {0: 9 * 10**9, 1: 18 * 10**9, "cpu": 9 * 10**8}
    assert devices.room(taken).free == 27_900_000_000


def test_input_goes_where_something_computes() -> None:
    class Model:
        hf_device_map: dict[str, Any]

    model, taken = Model(), devices.Placement("cpu", True, {})
    for places, wanted in (
        ({"a": "disk", "b": 1}, "cuda:1"),
        ({"a": "cpu", "b": "disk"}, "cpu"),
        ({"": "disk"}, "cpu"),
        ({"a": "cpu", "b": "cuda:0"}, "cuda:0"),
    ):
        model.hf_device_map = places
        assert devices.input_device(model, taken) == wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("8GiB", 8 << 30),
        ("8gb", 8 * 10**9),
        ("1.5 MB", 1_500_000),
        ("700KiB", 700 << 10),
        ("12B", 12),
        ("2TB", 2 * 10**12),
        ("GB", None),
        ("8 apples", None),
        ("-1GB", None),
    ],
)
def test_sizes(said: str, wanted: int | None) -> None:
    assert bytes_of(said) == wanted
