"""Progress: what is said where, and the speed that a bar shows."""

from __future__ import annotations

import json
import threading

import pytest

from bakeoff.cli import bars
from bakeoff.cli.bars import BarProgress
from bakeoff.cli.progress import LineProgress, make_progress
from bakeoff.jobs.events import (
    ModelFinished,
    ModelLoading,
    ModelPlanned,
    ModelReady,
    Noticed,
    RowsDone,
    RunStarted,
)


def test_quiet_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(json=False, quiet=False) as shown:
        shown.emit(RowsDone("m", 1, 0, 5))
        shown.emit(Noticed("code", "a\nnotice"))
        shown.emit(ModelFinished("m", "gone\x1b[0m"))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note: a notice\nfailed: m: gone\\x1b[0m\n")
    with make_progress(json=False, quiet=True) as shown:
        shown.emit(Noticed("code", "a notice"))
    assert capsys.readouterr() == ("", "")


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(json=True, quiet=False) as shown:
        shown.emit(ModelPlanned("m", 3, 2, ("half \ud800",)))
    out, err = capsys.readouterr()
    assert err == ""
    assert out.isascii()
    event = json.loads(out)
    assert (event["event"], event["todo"], event["why"]) == ("ModelPlanned", 2, ["half \ud800"])


def test_speed_counts_only_what_was_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 102.0, 104.0])
    monkeypatch.setattr(bars.time, "monotonic", lambda: next(clock))
    shown = BarProgress()
    shown.emit(ModelPlanned("m", 30, 30))
    for tokens in (1000, 10, 30):
        shown.emit(RowsDone("m", 10, 0, tokens))
    assert shown._bars.tasks[0].fields["speed"] == "10 tok/s"
    assert shown._bars.tasks[0].completed == 30


PLANNED = {
    ModelPlanned("m", 4, 4): "m: 0 of 4 rows are there already, 4 are made",
    ModelPlanned("m", 4, 1, reused=3): "m: 3 of 4 rows are there already, 1 is made",
    ModelPlanned("m", 1, 0, reused=1): "m: 1 of 1 row is there already",
    ModelPlanned("m", 2, 1, ("seed 1 -> 2",), ("7",), reused=1): (
        "m: 1 of 2 rows is there already, 1 is made (7): seed 1 -> 2"
    ),
}


@pytest.mark.parametrize(("event", "said"), PLANNED.items())
def test_what_is_reused(event: ModelPlanned, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(json=False, quiet=False) as shown:
        shown.emit(RunStarted("r", "runs/r", 4, ("m",), again=True))
        shown.emit(event)
    assert capsys.readouterr().err == f"note: {said}\n"


def test_a_first_run_and_a_quiet_one_do_not_say_what_is_reused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with make_progress(json=False, quiet=False) as shown:
        shown.emit(RunStarted("r", "runs/r", 4, ("m",)))
        shown.emit(ModelPlanned("m", 4, 4))
    with make_progress(json=False, quiet=True) as shown:
        shown.emit(RunStarted("r", "runs/r", 4, ("m",), again=True))
        shown.emit(ModelPlanned("m", 4, 1, ("seed 1 -> 2",), reused=3))
    assert capsys.readouterr() == ("", "")


def test_notices_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(json=False, quiet=False) as shown:
        shown.emit(Noticed("code", "a notice"))
        shown.emit(Noticed("code", "a notice"))
    assert capsys.readouterr().err == "note: a notice\n"
    assert shown.said == {"a notice"}


def lines_of(shown: LineProgress, count: int, said: list[str]) -> list[str]:
    """The next lines, once the clock has ticked so often."""
    del said[:]
    ticked = threading.Event()

    def take(text: str) -> None:
        said.append(text)
        if len(said) >= count:
            ticked.set()

    shown._say = take  # type: ignore[method-assign]
    assert ticked.wait(30)
    return said[:count]


def test_a_run_that_nobody_watches_says_now_and_then_how_far_it_is() -> None:
    said: list[str] = []
    with LineProgress(seconds=0.01) as shown:
        shown.emit(RunStarted("r", "runs/r", 9, ("m",)))
        shown.emit(ModelPlanned("m", 9, 7, reused=2))
        shown.emit(ModelLoading("m", "fake://m", "fake"))
        (line,) = lines_of(shown, 1, said)
        assert line.startswith("m: loading, ")
        shown.emit(ModelReady("m"))
        shown.emit(RowsDone("m", 3, 0, 30))
        line = lines_of(shown, 2, said)[-1]
        assert line.startswith("m: 5 of 9 rows, ")
        assert line.endswith(" tok/s")
        shown.emit(ModelFinished("m"))
    assert not shown._clock.is_alive()
