"""The whole examination: healthy models have no warning, each broken one is named."""

from __future__ import annotations

import json

import pytest

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.modelref import ModelRef
from bakeoff.engines.doctor.examine import diagnose
from bakeoff.engines.doctor.faults import FAULTS as MEANINGS
from tests.unit.engines.doctor.patients import (
    FILES,
    QUICK,
    DoctorOptions,
    copied,
    edited,
    examined,
    faults,
    found,
)
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import NAMES, zoo_path
from tests.zoo.broken import FAULTS, broken

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Recommended. pip install"),
]
FOLLOWS = {"head-missing": {"load-failed"}}
"""Fault -> what it brings with it."""


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_model_has_no_warning(name):
    said = examined(zoo_path(name), QUICK)
    assert faults(said) == set(), said.findings
    assert (said.status, said.loaded) == ("ok", True)
    opened = [exam for exam in said.engines if exam.able]
    assert opened
    for exam in opened:
        compared = [exam.greedy, exam.likelihood, exam.prediction]
        assert any(one is not None for one in compared)
        assert all(one.holds for one in compared if one is not None)


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_one_is_named_and_nothing_else_is(name, tmp_path):
    fault = FAULTS[name]
    said = examined(broken(name, tmp_path), QUICK)
    assert faults(said) == {fault.code} | FOLLOWS.get(name, set()), said.findings
    one = found(said, fault.code)
    assert (one.level, said.status) == (fault.level, fault.level)
    assert one.advice
    assert fault.code in MEANINGS


@pytest.mark.parametrize("name", FAULTS)
def test_most_are_seen_in_the_files_alone(name, tmp_path):
    said = examined(broken(name, tmp_path), FILES)
    assert faults(said) == (set() if name == "overflow" else {FAULTS[name].code})
    assert not said.loaded
    assert all(exam.device == "" for exam in said.engines)


def test_a_model_that_does_not_load_is_a_finding(tmp_path):
    path = copied("qwen2", tmp_path)
    (path / "tokenizer.json").write_text("[1]", "utf-8")
    with pytest.raises(ModelLoadFailed, match=r"tokenizer\.json"):  # not even `describe` reads it
        examined(path)
    (path / "tokenizer.json").write_text('{"model": {"type": "None"}}', "utf-8")
    said = examined(path)
    assert said.status == "problem"
    assert "load-failed" in faults(said)


def test_what_cannot_fit_is_not_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("bakeoff.engines.transformers.devices.available_memory", lambda: 1000)
    said = examined(zoo_path("llama"), QUICK)
    assert faults(said) == {"memory-too-small"}
    assert found(said, "memory-too-small").data["free_bytes"] == 1000
    assert not said.loaded
    assert "vocabulary" in said.codes("ok")  # the files were looked at all the same


def test_notices_of_a_fault_are_warnings(tmp_path):
    path = edited(copied("bart", tmp_path), "generation_config.json", typical_q=0.3)
    one = found(examined(path), "unknown-generation-key")
    assert (one.level, "typical_q" in one.value) == ("warning", True)


def test_stages_are_told():
    stages: list[str] = []
    diagnose(ModelRef.parse("fake://echo"), DoctorOptions(), stages.append)
    assert stages == ["reading the files", "engine fake"]


@pytest.mark.parametrize("model", ["fake://echo", "fake://echo?kind=encoder", "baseline://copy"])
def test_stand_ins_are_examined_too(model):
    said = examined(model, DoctorOptions(engine=QUICK.engine))
    assert (said.status, faults(said)) == ("ok", set())
    json.loads(said.to_json())


def test_an_engine_that_fails_is_a_problem():
    said = examined("fake://echo?load=memory", QUICK)
    assert faults(said) == {"engine-fails"}


@pytest.mark.parametrize("named", [False, True])
def test_an_engine_that_does_not_fit_is_a_problem_where_it_is_asked_for(monkeypatch, named):
    """`auto` takes another one in its place."""
    monkeypatch.setattr("bakeoff.engines.ctranslate2.room.available_memory", lambda: 1000)
    ref = ModelRef.parse(str(zoo_path("t5")), engine="ctranslate2" if named else "auto")
    said = diagnose(ref, QUICK)
    assert faults(said) == ({"engine-fails"} if named else set())
    (exam,) = [one for one in said.engines if one.name == "ctranslate2"]
    assert exam.able is named
    assert any("are free on cpu" in one.value for one in said.findings)


def test_plain_transformers_that_fails_is_told(monkeypatch):
    def broken_generate(self, *args, **settings):
        raise IndexError("index out of range")

    monkeypatch.setattr("bakeoff.engines.doctor.plain.Plain.generate", broken_generate)
    said = examined(zoo_path("qwen2"), QUICK)
    assert faults(said) == {"plain-fails"}
    assert found(said, "plain-fails").value == "IndexError: index out of range"


def test_an_engine_that_raises_anything_is_told(monkeypatch):
    async def opened(*args):
        raise RuntimeError("no such luck")

    monkeypatch.setattr("bakeoff.engines.doctor.engines.open_engine", opened)
    said = examined("fake://echo", QUICK)
    assert found(said, "engine-fails").value == "RuntimeError: no such luck"


def test_a_gguf_file_is_looked_at_once_it_is_converted(tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf")
    static = examined(path)
    assert faults(static) == {"generation-prompt-missing"}
    assert "gguf-dequantised" in static.codes("ok")
    whole = examined(path, QUICK)
    assert whole.loaded
    # what the library makes of this tokenizer has one token more than the file
    assert faults(whole) == {"generation-prompt-missing", "tokenizer-beyond-embeddings"}
