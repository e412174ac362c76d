"""Faults that users of such tools met, made impossible: dying workers, lost logs, damaged files."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bakeoff as api
from bakeoff.core.errors import BadDataset, RunLocked
from bakeoff.engines.fake import FakeEngine
from bakeoff.jobs.events import Event, ModelLoading
from bakeoff.store.files.journal import JournalWriter
from bakeoff.wiring import run_async
from tests.e2e.commands import Said, bakeoff

TROUBLED = str(Path(__file__).with_name("troubled.py"))
DATA = "id,text,ref\n" + "".join(f"{n},row {n},ROW {n}\n" for n in range(1, 6))
SPEC: dict[str, Any] = {
    "name": "five",
    "dataset": "d.csv",
    "columns": {"id": "id", "source": "text", "reference": "ref"},
    "task": "text-generation",
    "metrics": ["exact_match"],
    "models": ["fake://upper"],
}
FOLDER = Path("runs/five")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(DATA)
    write_spec()
    return tmp_path


def write_spec(**changes: Any) -> str:
    Path("s.yaml").write_text(json.dumps({**SPEC, **changes}))
    return "s.yaml"


def run(*flags: str) -> Said:
    return bakeoff("run", "s.yaml", "--latency-rows", "0", *flags)


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "report.json").read_text())
    return found


def log() -> str:
    return (FOLDER / "log").read_text()


class TestADyingWorker:
    """D9: what died half way is never recorded as finished."""

    @pytest.mark.parametrize("code", [0, 1])
    def test_the_process_ends_inside_the_engine(self, code: int) -> None:
        plan = json.dumps({"exit": code, "row": 3})
        command = [sys.executable, TROUBLED, plan, "run", "s.yaml", "--latency-rows", "0", "-q"]
        assert subprocess.run(command, check=False).returncode == code
        assert not (FOLDER / "report.json").exists()
        assert "no report yet" in bakeoff("report", FOLDER).mistake()
        assert run().code == 0
        assert report()["status"] == "finished"

    def test_an_older_report_is_not_taken_for_the_newer_run(self) -> None:
        assert run().code == 0
        Path("d.csv").write_text(DATA + "6,more,MORE\n7,and more,AND MORE\n")
        plan = json.dumps({"exit": 0, "row": 1})
        command = [sys.executable, TROUBLED, plan, "run", "s.yaml", "--latency-rows", "0", "-q"]
        subprocess.run(command, check=False)
        said = bakeoff("report", FOLDER)
        assert said.code == 0
        assert said.err.startswith("note: a later run began here and has not come to its report")
        run()
        assert bakeoff("report", FOLDER).err == ""

    @pytest.mark.parametrize(
        ("problem", "code", "cause"),
        [
            (MemoryError(), "out_of_memory", "out of memory while computing rows"),
            (ZeroDivisionError("x / 0"), "engine_failed", "ZeroDivisionError while computing"),
            (SystemExit(0), "engine_failed", "ended the program (exit 0) while computing rows"),
            (RecursionError("deep"), "engine_failed", "RecursionError while computing rows"),
        ],
    )
    def test_the_engine_raises_at_row_3_of_5(
        self, monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: str, cause: str
    ) -> None:
        write_spec(models=["fake://upper", "baseline://copy"])
        with monkeypatch.context() as patch:
            raise_at(patch, 3, problem)
            assert run().code == 3
        found = report()
        assert found["status"] == "partial"
        assert found["models"]["upper"]["done"] == 2
        assert found["models"]["upper"]["failure_codes"] == {code: 3}
        assert found["models"]["copy"]["done"] == 5
        assert cause in log()
        assert "Traceback" in log()
        assert run().code == 0
        assert report()["models"]["upper"]["reused"] == 2

    def test_ctrl_c_inside_the_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            raise_at(patch, 3, KeyboardInterrupt())
            assert run().code == 130
        assert run().code == 0
        assert report()["models"]["upper"]["reused"] == 2

    def test_the_engine_raises_while_it_loads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def broken(*_: object) -> None:
            raise RuntimeError("CUDA error: no kernel")

        monkeypatch.setattr("bakeoff.engines.fake.open_fake", broken)
        assert run().code == 1
        assert report()["models"]["upper"]["failure_codes"] == {"model_load_failed": 5}
        assert "CUDA error: no kernel" in log()


def raise_at(patch: pytest.MonkeyPatch, row: int, problem: BaseException) -> None:
    original = FakeEngine._one
    seen = 0

    def one(self: FakeEngine, *arguments: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == row:
            raise problem
        return original(self, *arguments)

    patch.setattr(FakeEngine, "_one", one)


def test_a_failed_model_has_its_cause_in_log_report_and_page() -> None:
    """D3: one good model, one missing, one that breaks; the run's state is said once."""
    bad = [
        {"id": "gone", "model": "./gone"},
        {"id": "dense", "model": "fake://echo?load=memory"},
    ]
    write_spec(models=["fake://upper", *bad])
    said = run()
    assert said.code == 3
    found = report()
    assert found["status"] == "partial"
    assert {i: m["failures"] for i, m in found["models"].items()} == {
        "upper": 0,
        "gone": 5,
        "dense": 5,
    }
    for name, cause in (("gone", "gone does not exist"), ("dense", "run out of memory")):
        assert f"failed: {name}: " in said.err
        for text in (said.err, log(), (FOLDER / "report.html").read_text()):
            assert cause in text


def test_a_finished_run_outlives_its_data_and_a_failed_attempt() -> None:
    """D4: results stay until somebody deletes them."""
    run()
    before = (FOLDER / "report.json").read_bytes()
    Path("d.csv").unlink()
    assert "no such file" in run().mistake()
    assert (FOLDER / "report.json").read_bytes() == before
    said = bakeoff("report", FOLDER)
    assert said.code == 0
    assert "upper" in said.out
    assert said.err == ""
    assert bakeoff("report", FOLDER, "--json").out.encode() == before


def test_the_same_run_elsewhere_gives_the_same_report() -> None:
    run()
    here = report()
    Path("moved").mkdir()
    shutil.copy("d.csv", "moved/d.csv")
    Path("moved/s.yaml").write_text(json.dumps(SPEC))
    assert bakeoff("run", "moved/s.yaml", "--runs", "moved").code == 0
    there = json.loads(Path("moved/five/report.json").read_text())
    assert there["spec_hash"] == here["spec_hash"]
    assert there["scores"] == here["scores"]


def test_a_mistake_leaves_no_folder() -> None:
    write_spec(columns={"source": "txet"})
    assert "did you mean 'text'" in run().mistake()
    assert not FOLDER.exists()


class TestTwoAtOnce:
    """The folder belongs to one run at a time, in one process as in two."""

    def test_threads(self) -> None:
        slow = {**SPEC, "models": ["fake://upper?delay=0.3"]}
        first = threading.Thread(target=api.run, args=(slow,))
        first.start()
        wait_for(FOLDER / ".holder")
        with pytest.raises(RunLocked, match=str(os.getpid())):
            api.run(SPEC)
        other = api.run({**SPEC, "name": "other"})
        assert other.models["upper"].done == 5
        patient = api.run(SPEC, wait=60)
        first.join()
        assert patient.models["upper"].reused == 5

    def test_the_command(self) -> None:
        slow = {**SPEC, "models": ["fake://upper?delay=0.3"]}
        first = threading.Thread(target=api.run, args=(slow,))
        first.start()
        wait_for(FOLDER / ".holder")
        refused = run().mistake(5)
        assert "--wait" in refused
        assert run("--wait", "60").code == 0
        first.join()


def wait_for(path: Path) -> None:
    waiting = threading.Event()
    for _ in range(2000):
        if path.exists():
            return
        waiting.wait(0.01)
    pytest.fail(f"{path} did not come")


def test_data_that_changes_while_the_run_goes_on() -> None:
    def emit(event: Event) -> None:
        if isinstance(event, ModelLoading):
            Path("d.csv").write_text(DATA.replace("row 2", "another text"))

    with pytest.raises(BadDataset, match="changed while it was in use"):
        asyncio.run(run_async(SPEC, emit=emit))
    assert not (FOLDER / "report.json").exists()
    assert api.run(SPEC).models["upper"].done == 5


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    original = JournalWriter._write
    written = 0

    def write(self: JournalWriter, data: bytes) -> None:
        nonlocal written
        written += 1
        if written > 1:
            original(self, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        original(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(JournalWriter, "_write", write)
        said = run().mistake(1)
    assert said.startswith("No space left on device; make room")
    assert not (FOLDER / "report.json").exists()
    assert run().code == 0
    assert report()["models"]["upper"]["done"] == 5


def segment() -> Path:
    return next((FOLDER / "rows" / "upper").glob("*.jsonl"))


def edit(line: int, change: Callable[[dict[str, Any]], object]) -> None:
    lines = segment().read_bytes().split(b"\n")
    values = json.loads(lines[line])
    change(values)
    lines[line] = json.dumps(values).encode()
    segment().write_bytes(b"\n".join(lines))


def replace(line: int, text: bytes) -> None:
    lines = segment().read_bytes().split(b"\n")
    lines[line] = text
    segment().write_bytes(b"\n".join(lines))


def set_to(**values: Any) -> Callable[[], None]:
    return lambda: edit(2, lambda row: row.update(values))


def beside(name: str) -> Path:
    return segment().with_name(name)


JOURNAL_DAMAGE: dict[str, tuple[Callable[[], object], int]] = {
    "empty": (lambda: segment().write_bytes(b""), 0),
    "binary": (lambda: segment().write_bytes(bytes(range(256)) * 20), 0),
    "zeros": (lambda: segment().write_bytes(b"\0" * 4000), 0),
    "gone": (lambda: segment().unlink(), 0),
    "a folder named like a segment": (lambda: beside("0009-ab-0.jsonl").mkdir(), 5),
    "a pipe named like a segment": (lambda: os.mkfifo(beside("0009-ab-0.jsonl")), 5),
    "a dead link": (lambda: beside("0009-ab-0.jsonl").symlink_to("nowhere"), 5),
    "a folder named like a measurement": (lambda: beside("0009-ab.measured.json").mkdir(), 5),
    "a measurement that is none": (lambda: beside("1-a.measured.json").write_text("[" * 9999), 5),
    "nested deeply": (lambda: replace(2, b"[" * 100_000), 4),
    "no key": (set_to(key=5), 4),
    "a key that is no hash": (set_to(key="zz"), 4),
    "a failure without a cause": (set_to(ok=False), 4),
    "a cause that is a list": (set_to(ok=False, error=[1]), 4),
    "a success without a text": (set_to(text=None), 4),
    "a text that is a number": (set_to(text=5), 4),
    "a key of another version": (set_to(more=5), 4),
    "not a number": (set_to(extra={"p": float("nan")}), 4),
    "infinity": (lambda: replace(2, segment().read_bytes().split(b"\n")[2][:-1] + b"1e999}"), 4),
    "more tokens than there are": (set_to(usage={"completion": 10**30}), 4),
    "an epoch that is a word": (lambda: edit(0, lambda h: h["parts"].update(epoch="x")), 5),
    "windows line ends": (
        lambda: segment().write_bytes(segment().read_bytes().replace(b"\n", b"\r\n")),
        5,
    ),
}


@pytest.mark.parametrize("damage", JOURNAL_DAMAGE)
def test_a_damaged_journal_costs_only_the_damaged_rows(damage: str) -> None:
    run()
    undisturbed = (FOLDER / "scores.parquet").read_bytes()
    spoil, kept = JOURNAL_DAMAGE[damage]
    spoil()
    said = run()
    assert said.code == 0, said
    assert report()["models"]["upper"]["done"] == 5
    assert report()["models"]["upper"]["reused"] == kept
    assert (FOLDER / "scores.parquet").read_bytes() == undisturbed


def test_rows_of_a_newer_version_are_not_mixed_in() -> None:
    run()
    edit(0, lambda header: header.update(format=99))
    assert "written by a newer bakeoff" in run().mistake(1)


def change_report(**values: Any) -> Callable[[], None]:
    def change() -> None:
        (FOLDER / "report.json").write_text(json.dumps({**report(), **values}))

    return change


def spoil_table(data: bytes | None) -> Callable[[], None]:
    def spoil() -> None:
        path = FOLDER / "predictions.parquet"
        path.unlink()
        if data is not None:
            path.write_bytes(data)

    return spoil


STORED_DAMAGE: dict[str, Callable[[], object]] = {
    "empty report": lambda: (FOLDER / "report.json").write_text(""),
    "binary report": lambda: (FOLDER / "report.json").write_bytes(bytes(range(256))),
    "deep report": lambda: (FOLDER / "report.json").write_text("[" * 100_000),
    "unknown key": change_report(more=1),
    "newer format": change_report(format=9),
    "unknown model": change_report(ranking=["nobody"]),
    "no models": change_report(models={}),
    "no table": spoil_table(None),
    "empty table": spoil_table(b""),
    "broken table": spoil_table(b"PAR1" + bytes(range(200)) + b"PAR1"),
    "another table": lambda: shutil.copy(FOLDER / "scores.parquet", FOLDER / "predictions.parquet"),
}


@pytest.mark.parametrize("damage", STORED_DAMAGE)
def test_damaged_results_are_named_and_made_again(damage: str) -> None:
    run()
    shutil.copytree(FOLDER, "runs/twin")
    STORED_DAMAGE[damage]()
    for said in (bakeoff("report", FOLDER), bakeoff("compare", FOLDER, "runs/twin")):
        message = said.mistake(1)
        assert "runs/five/" in message
        assert "`bakeoff run` writes it again" in message
    assert run().code == 0
    assert bakeoff("report", FOLDER).code == 0


@pytest.mark.parametrize("name", ["spec.yaml", "report.json", "log", "rows"])
def test_folders_in_the_place_of_files(name: str) -> None:
    run()
    place = FOLDER / name
    if place.is_dir():
        shutil.rmtree(place)
        place.write_text("a file")
    else:
        place.unlink()
        place.mkdir()
    assert f"runs/five/{name}" in run().mistake(1)


def test_a_run_may_lie_elsewhere() -> None:
    Path("elsewhere").mkdir()
    FOLDER.parent.mkdir()
    FOLDER.symlink_to(Path("elsewhere").resolve())
    assert run().code == 0
    assert run().code == 0
    assert Path("elsewhere/report.json").exists()
    assert FOLDER.is_symlink()
    assert bakeoff("report", FOLDER).code == 0


def test_no_secret_is_kept_or_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "hf_CANARYCANARYCANARY"
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, canary)
    write_spec(models=["fake://upper", "hf://org/none", "./gone"])
    said = run("--json")
    assert said.code == 3
    kept = b"".join(p.read_bytes() for p in Path("runs").rglob("*") if p.is_file())
    assert canary.encode() not in kept
    assert canary not in said.out + said.err


@pytest.mark.parametrize(
    "entry",
    [
        {"model": "fake://upper", "api_key": "sk-CANARY"},
        {"model": "m", "endpoint": "http://user:CANARY@host/v1"},
        {"model": "https://user:CANARY@host/v1"},
        {"model": "fake://upper", "api_kye": "sk-CANARY"},
    ],
)
def test_a_secret_in_the_spec_is_refused_without_being_repeated(entry: dict[str, str]) -> None:
    write_spec(models=[entry])
    assert "CANARY" not in run().mistake()
    assert not FOLDER.exists()
