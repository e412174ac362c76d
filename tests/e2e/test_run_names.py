"""`infer` and `evaluate` of files that have one name: each has a run folder of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.commands import Said, bakeoff

FLAGS = {
    "evaluate": ("-p", "said", "-r", "right"),
    "infer": ("-m", "fake://upper", "-c", "source=said"),
}
NAMES = {"evaluate": "evaluate-d", "infer": "infer-d-upper"}


@pytest.fixture(autouse=True, params=["evaluate", "infer"])
def verb(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for place in ("a", "b", "c"):
        Path(place).mkdir()
        Path(place, "d.csv").write_text(f"id,said,right\n1,{place},a\n")
    Path("stdin.csv").write_text("id,said,right\n1,x,a\n")
    return str(request.param)


def carried_out(verb: str, data: str, stdin: str = "") -> Said:
    text = Path(stdin).read_bytes() if stdin else b""
    said = bakeoff(verb, data, *FLAGS[verb], stdin=text)
    assert said.code == 0, said
    return said


def runs() -> set[str]:
    return {folder.name for folder in Path("runs").iterdir()}


def rows(folder: str) -> int:
    """Lines of all segments, without their headers."""
    files = Path("runs", folder, "rows").rglob("*.jsonl")
    return sum(len(file.read_text().splitlines()) - 1 for file in files)


def test_another_file_of_that_name_has_another_folder(verb: str) -> None:
    plain = NAMES[verb]
    first = carried_out(verb, "a/d.csv")
    assert f"runs/{plain}" in first.out + first.err
    other = carried_out(verb, "b/d.csv")
    assert f"runs/{plain} holds the run of {Path('a/d.csv').resolve()}: " in other.err
    found = re.search(rf"this run is runs/({plain}-[0-9a-f]{{8}})\n", other.err)
    assert found is not None and runs() == {plain, found[1]}
    carried_out(verb, "c/d.csv")
    assert len(runs()) == 3
    for data in ("./a/d.csv", "b/../b/d.csv", str(Path("c/d.csv").resolve())):
        carried_out(verb, data)
    assert len(runs()) == 3
    assert [rows(folder) for folder in runs()] == [1, 1, 1]


def test_standard_input_keeps_its_folder(verb: str) -> None:
    plain = NAMES[verb].replace("-d", "-stdin")
    carried_out(verb, "-", stdin="a/d.csv")
    carried_out(verb, "-", stdin="b/d.csv")
    assert runs() == {plain}
    assert "holds the run of standard input" in carried_out(verb, "stdin.csv").err
    assert len(runs()) == 2
