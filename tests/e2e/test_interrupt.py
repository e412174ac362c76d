"""Ctrl-C and SIGTERM: one line, exit 130 within seconds, nothing lost, the same command resumes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.commands import BAKEOFF, bakeoff

TROUBLED = str(Path(__file__).with_name("troubled.py"))
ROWS = 24
SECONDS = 8.0
"""Far above what an interrupt takes on an idle machine (under one), far below the run's length."""
SPEC = """
name: long
dataset: d.csv
columns: {id: id, source: text, reference: ref}
task: text-generation
metrics: [exact_match]
models: ["fake://upper?delay=DELAY"]
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = ["id,text,ref", *(f"{n},row {n},ROW {n}" for n in range(ROWS))]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    Path("slow.yaml").write_text(SPEC.replace("DELAY", "2"))
    Path("quick.yaml").write_text(SPEC.replace("DELAY", "0"))
    return tmp_path


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes; none of them outlives the test."""
    with ExitStack() as stack:

        def start(*command: str) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def generating(start: Start) -> Callable[[], subprocess.Popen[str]]:
    """Starts a run and waits until its first rows are in the journal."""

    def generating() -> subprocess.Popen[str]:
        process = start(*BAKEOFF, "run", "slow.yaml", "--json", "--latency-rows", "0")
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "RowsDone":
                return process
        pytest.fail(f"ended early: {process.communicate()}")

    return generating


def blocked(start: Start, where: str, *command: str) -> subprocess.Popen[str]:
    """A process that holds its event loop in the function `where`."""
    plan = json.dumps({"stop": where})
    process = start(sys.executable, TROUBLED, plan, *command)
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    return process


def interrupt(process: subprocess.Popen[str], *numbers: signal.Signals) -> tuple[str, str]:
    """Send signals; the process must end as promised. What it wrote after them."""
    began = time.monotonic()
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.05)
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"still running {time.monotonic() - began:.0f} s after {numbers}: {err}")
    assert process.returncode == 130, err
    assert err.splitlines() == ["interrupted: finished rows are kept, the same command resumes"]
    return out, err


def completes() -> int:
    """Carry the run out to its end; the rows that it took over."""
    said = bakeoff("run", "quick.yaml", "--json", "--latency-rows", "0")
    assert said.code == 0, said
    model = said.events()[-1]["report"]["models"]["upper"]
    assert model["done"] == ROWS
    return int(model["reused"])


@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT] * 2])
def test_while_rows_are_made(
    generating: Callable[[], subprocess.Popen[str]], numbers: list[signal.Signals]
) -> None:
    interrupt(generating(), *numbers)
    assert not Path("runs/long/report.json").exists()
    assert 0 < completes() < ROWS


@pytest.mark.parametrize(
    ("where", "number"),
    [
        ("bakeoff.jobs.planning:map_roles", signal.SIGINT),
        ("bakeoff.jobs.modelwork:outlook", signal.SIGTERM),
        ("bakeoff.jobs.reporting:score_all", signal.SIGINT),
        ("bakeoff.jobs.reporting:write_scores", signal.SIGTERM),
        ("bakeoff.jobs.page.render:choose_rows", signal.SIGINT),
    ],
)
def test_while_the_event_loop_is_busy(start: Start, where: str, number: signal.Signals) -> None:
    interrupt(blocked(start, where, "run", "quick.yaml", "--quiet"), number)
    assert not list(Path("runs").rglob("*.tmp"))
    completes()


def test_while_it_waits_for_another_process(
    start: Start, generating: Callable[[], subprocess.Popen[str]]
) -> None:
    holder = generating()
    waiting = start(*BAKEOFF, "run", "quick.yaml", "--json", "--wait", "100")
    assert waiting.stdout is not None
    event = json.loads(waiting.stdout.readline())
    assert (event["event"], event["code"]) == ("Noticed", "run-locked")
    assert f"process {holder.pid}: waiting up to 100 s" in event["text"]
    interrupt(waiting, signal.SIGINT)
    interrupt(holder, signal.SIGINT)
    completes()


def test_other_commands_end_too(start: Start) -> None:
    process = blocked(start, "bakeoff.datasets.profile:profile", "data", "d.csv")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=SECONDS)[1] == "interrupted\n"
    assert process.returncode == 130
