"""Progress: what is said where, and the speed that a bar shows."""

from __future__ import annotations

import json

import pytest

from bakeoff.cli import progress
from bakeoff.cli.progress import BarProgress, make_progress
from bakeoff.jobs.events import ModelFinished, ModelPlanned, Noticed, RowsDone


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
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    shown = BarProgress()
    shown.emit(ModelPlanned("m", 30, 30))
    for tokens in (1000, 10, 30):
        shown.emit(RowsDone("m", 10, 0, tokens))
    assert shown._bars.tasks[0].fields["speed"] == "10 tok/s"
    assert shown._bars.tasks[0].completed == 30
