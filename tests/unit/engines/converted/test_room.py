"""Memory for ctranslate2: told before anything is loaded, with what would fit."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import pytest

from bakeoff.core.errors import OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Engine
from bakeoff.engines import cache, describe, open_engine
from bakeoff.engines.ctranslate2 import room
from bakeoff.engines.ctranslate2.room import check_room, needed
from bakeoff.engines.footprint import LIBRARY, Room
from bakeoff.engines.options import EngineOptions
from tests.contract.targets import Target, run, texts
from tests.unit.engines.loading.test_footprint import facts_of_big
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
SMALL = LIBRARY + 1_000_000
"""Room for the library, and not for a model of the zoo."""


def facts(folder: Path, **options: Any) -> ModelFacts:
    return describe(ModelRef.parse(str(folder), **{"engine": "ctranslate2", **options}))


def opened(found: ModelFacts) -> Engine:
    engine = run(open_engine("ctranslate2", found, EngineOptions(threads=1)))
    assert isinstance(engine, Engine)
    return engine


def of(free: int) -> Room:
    return Room("cpu", free, free)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a model that the test may remove."""
    return Path(shutil.copytree(zoo_path("t5"), tmp_path / "model"))


def capped(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: free)


@pytest.mark.parametrize("name", ["t5", "bart", "llama"])
@pytest.mark.parametrize("arithmetic", ["float32", "int16", "int8"])
def test_the_size_told_beforehand_is_that_of_the_conversion(name: str, arithmetic: str) -> None:
    """Fewer bits: scales and positions stay in float32, which is much in models this small."""
    if arithmetic not in ctranslate2.get_supported_compute_types("cpu"):
        pytest.skip(f"this processor has no {arithmetic} in ctranslate2")
    found = facts(zoo_path(name), compute_type=arithmetic)
    before = needed(found, of(1 << 40))
    run(opened(found).close())
    after = needed(found, of(1 << 40))
    assert before is not None and after is not None
    near = 0.05 if arithmetic == "float32" else 0.4
    assert before.weights_bytes == pytest.approx(after.weights_bytes, rel=near)
    assert before.cache_bytes == after.cache_bytes > 0
    assert before.total_bytes >= after.total_bytes * (1 - near)


def test_nothing_is_loaded_or_converted_where_it_cannot_fit(
    model: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capped(monkeypatch, SMALL)
    with pytest.raises(OutOfMemory, match=r"to be converted and loaded by ctranslate2 in float32"):
        opened(facts(model))
    assert cache.entries() == [] and not list(home.rglob("model.bin"))


def test_a_cached_conversion_is_looked_at_as_well_and_without_its_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = facts(model)
    run(opened(found).close())
    shutil.rmtree(model)
    capped(monkeypatch, SMALL)
    monkeypatch.setattr(ctranslate2, "Translator", None)  # it would be called, were it loaded
    with pytest.raises(OutOfMemory, match=r"to be loaded by ctranslate2.*nothing that bakeoff"):
        opened(found)
    (entry,) = cache.entries()
    assert not entry.in_use


def test_where_auto_took_it_transformers_takes_its_place(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capped(monkeypatch, SMALL)
    engine = opened(facts(model, engine="auto"))
    assert engine.info.name == "transformers"
    (notice,) = [one for one in engine.notices if one.code == "engine-fallback"]
    assert "are free on cpu" in notice.text
    assert all(texts(engine, Target("t5").requests(2)))
    run(engine.close())


@pytest.mark.parametrize(
    ("gigabytes", "fitting"),
    [
        (60, None),
        (50, ["compute_type: int8", "engine: transformers", "torch_dtype", "8bit", "4bit", "GGUF"]),
        (40, ["engine: transformers", "torch_dtype", "8bit", "4bit", "GGUF"]),
        (18, ["torch_dtype", "8bit", "4bit", "GGUF"]),
        (8, ["4bit", "GGUF"]),
        (1, []),
    ],
)
def test_a_large_model_is_refused_with_what_would_fit(
    tmp_path: Path, gigabytes: int, fitting: list[str] | None
) -> None:
    found = facts_of_big(tmp_path / "m", engine="ctranslate2", accelerator="cpu")
    if fitting is None:
        check_room(found, of(gigabytes * 10**9))
        return
    with pytest.raises(OutOfMemory) as caught:
        check_room(found, of(gigabytes * 10**9))
    text = caught.value.message
    assert "takes 52.5 GB (29.0 GB the weights, 0.3 GB a batch" in text
    assert f"and {gigabytes}.0 GB are free on cpu" in text
    advised = text.partition("what would fit")[2]
    named = [
        "compute_type: int8",
        "`engine: transformers` (",
        "torch_dtype",
        "8bit",
        "4bit",
        "GGUF",
    ]
    assert [name.strip("`( ") for name in named if name in advised] == fitting
    for number in re.findall(r"\((\d+\.\d) GB", advised):
        assert float(number) <= gigabytes


def test_int8_takes_the_whole_model_once_and_a_quarter_from_then_on(tmp_path: Path) -> None:
    found = facts_of_big(tmp_path / "m", compute_type="int8", accelerator="cpu")
    once = needed(found, of(1 << 40))
    assert once is not None and 47e9 < once.total_bytes < 50e9
    entry = cache.entry_folder("ctranslate2", room.key(found))
    (entry / "model").mkdir(parents=True)
    (entry / "source").mkdir()
    (entry / cache.ENTRY_FILE).write_text('{"source": "m"}')
    shutil.copy(tmp_path / "m" / "config.json", entry / "source")
    with (entry / "model" / "model.bin").open("wb") as stream:
        stream.truncate(7_300_000_000)
    then = needed(found, of(1 << 40))
    assert then is not None and 11e9 < then.total_bytes < 12e9
    with pytest.raises(OutOfMemory) as caught:
        check_room(found, of(6 * 10**9))
    assert "compute_type" not in caught.value.message.partition("what would fit")[2]


def test_a_gguf_file_is_counted_dequantised(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    found = needed(facts(path), of(1 << 40))
    assert found is not None and found.weights_bytes > path.stat().st_size / 2
    with pytest.raises(OutOfMemory, match=r"tiny\.gguf takes .*ctranslate2 in float32"):
        check_room(facts(path), of(10))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("std::bad_alloc")])
def test_running_out_all_the_same_has_the_numbers(
    model: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    found = facts(model)
    run(opened(found).close())

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(ctranslate2, "Translator", fail)
    with pytest.raises(OutOfMemory, match=r"memory ran out: .* takes .* to be loaded"):
        opened(found)
