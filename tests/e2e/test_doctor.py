"""`bakeoff doctor` from the command line: lines, JSON, exit status."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from bakeoff.core.codes import ExitCode
from bakeoff.engines.doctor.diagnosis import Diagnosis
from tests.e2e.commands import Said, bakeoff, process
from tests.hub import Hub
from tests.zoo import zoo_path
from tests.zoo.broken import broken

pytestmark = pytest.mark.torch
FLAGS = ("--quick", "--threads", "1")


def marks(said: Said) -> list[str]:
    """The first words of the lines that have a mark."""
    return [line.split()[0] for line in said.out.splitlines() if line[:1] in "owp" and line]


def test_a_healthy_model_in_lines_that_are_aligned() -> None:
    said = bakeoff("doctor", zoo_path("llama"), *FLAGS)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == f"file://{zoo_path('llama')}"
    assert lines[-1] == "healthy"
    assert set(marks(said)) == {"ok"}
    assert max(map(len, lines)) <= 100
    values = {line.index("  ", len("ok       ")) for line in lines if line.startswith("ok")}
    assert min(values) > len("ok       ")
    for what in ("kind", "context length", "end of sequence", "transformers: greedy text"):
        assert any(line.startswith(f"ok       {what} ") for line in lines), what


def test_a_problem_ends_with_its_own_status(tmp_path: Path) -> None:
    said = bakeoff("doctor", broken("head-missing", tmp_path), *FLAGS)
    assert said.code == ExitCode.UNHEALTHY == 6
    assert said.out.splitlines()[-1] == "2 problems (the weights were not loaded)"
    assert "[head-missing]" in said.out
    assert "\n" + " " * 9 in said.out  # advice stands below
    assert "-> set tie_word_embeddings" in said.out


def test_warnings_fail_with_strict_alone(tmp_path: Path) -> None:
    path = broken("unknown-key", tmp_path)
    assert bakeoff("doctor", path, "--static").code == 0
    assert bakeoff("doctor", path, "--static", "--strict").code == 6


def test_json_is_one_strict_object_of_the_published_type() -> None:
    said = bakeoff("doctor", zoo_path("t5"), "--json", "--threads", "1")
    (value,) = said.events()
    found = TypeAdapter(Diagnosis).validate_python(value)
    assert (found.format, found.status, found.loaded) == (1, "ok", True)
    assert {one.request for one in found.routes} >= {"greedy", "sampled", "likelihood", "streaming"}
    able = [one for one in found.engines if one.able]
    for one in able:
        places = [(speed.prompts, speed.batch) for speed in one.speeds]
        assert places == [("short", 1), ("short", 8), ("mixed", 1), ("mixed", 8)]
        assert all(speed.tokens_per_s > 0 for speed in one.speeds)
        assert one.greedy is not None
        assert one.greedy.holds
    assert [one for one in found.findings if one.code == "fastest"] != [] or len(able) < 2


def test_the_schema_is_published() -> None:
    said = bakeoff("schema", "doctor")
    assert json.loads(said.out)["title"] == "Diagnosis"


def test_the_files_alone_need_no_weights(tmp_path: Path) -> None:
    path = tmp_path / "llama"
    path.mkdir()
    for file in zoo_path("llama").iterdir():
        os.symlink(file, path / file.name)
    (path / "model.safetensors").unlink()
    said = bakeoff("doctor", path, "--static")
    assert "neither model.safetensors" in said.mistake(1)
    os.symlink(zoo_path("llama") / "model.safetensors", path / "model.safetensors")
    static = bakeoff("doctor", path, "--static")
    assert static.code == 0
    assert static.out.splitlines()[-1] == "healthy (the weights were not loaded)"
    assert "greedy text" not in static.out


def test_weights_of_a_hub_model_are_fetched_where_they_are_loaded(hub_in_process: Hub) -> None:
    name = "org/small"
    hub_in_process.add_model(name, zoo_path("qwen2"))

    def fetched() -> bool:
        return any(f.file == "model.safetensors" for f in hub_in_process.fetches(name))

    assert bakeoff("doctor", f"hf://{name}", "--static").code == 0
    assert not fetched()
    said = bakeoff("doctor", f"hf://{name}", *FLAGS)
    assert (said.code, fetched()) == (0, True)
    assert said.out.startswith(f"hf://{name}@{hub_in_process.commit(name)}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "missing argument 'model'"),
        (("nowhere",), 2, "for the Hub write 'hf://nowhere'"),
        (("./nowhere",), 1, "does not exist"),
        (("fake://ecko",), 2, "did you mean 'echo'"),
        (("fake://echo", "--option", "torch_dtyp=float16"), 2, "did you mean 'torch_dtype'"),
        (("fake://echo", "--option", "temperature=1"), 2, "unknown option of loading"),
        (("fake://echo", "--option", "torch_dtype=int4"), 2, "torch_dtype is 'int4'"),
        (("fake://echo", "--option", "engine"), 2, "write NAME=VALUE"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], code: int, said: str) -> None:
    assert said in bakeoff("doctor", *arguments).mistake(code)


def test_load_options_reach_the_model() -> None:
    said = bakeoff(
        "doctor", zoo_path("qwen2"), *FLAGS, "--option", "torch_dtype=bfloat16", "--json"
    )
    (value,) = said.events()
    assert said.code == 0
    assert [one["dtype"] for one in value["engines"] if one["able"]] == ["bfloat16"]


def test_an_engine_that_is_named_is_the_only_one() -> None:
    said = bakeoff("doctor", zoo_path("t5"), *FLAGS, "--option", "engine=transformers", "--json")
    assert [one["name"] for one in said.events()[0]["engines"]] == ["transformers"]


def test_as_a_process_of_its_own(tmp_path: Path) -> None:
    said = process("doctor", "fake://upper", cwd=tmp_path)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "healthy"
