"""The command line as people and programs use it: every command, exit code and door."""

from __future__ import annotations

import csv
import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

import bakeoff as api
from bakeoff.core.codes import ExitCode
from bakeoff.core.errors import BakeoffError, InvalidSpec
from bakeoff.core.specs import RunSpec
from bakeoff.jobs.specfile import load_spec
from tests.e2e.commands import BAKEOFF, Said, bakeoff, process

DATA = "id,text,ref\n1,one two,ONE TWO\n2,three,THREE\n3,four,five\n"
SPEC: dict[str, Any] = {
    "name": "small",
    "dataset": "d.csv",
    "columns": {"id": "id", "source": "text", "reference": "ref"},
    "task": "text-generation",
    "metrics": ["exact_match", "chrf"],
    "models": ["fake://upper", "baseline://copy"],
}
COMMANDS = (
    *("run", "init", "infer", "evaluate", "compare", "report", "data", "doctor", "schema"),
    "cache",
)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(DATA)
    write_spec()
    return tmp_path


def write_spec(**changes: Any) -> str:
    Path("s.yaml").write_text(json.dumps({**SPEC, **changes}))
    return "s.yaml"


def report_of(said: Said) -> dict[str, Any]:
    found: dict[str, Any] = said.events()[-1]["report"]
    return found


class TestRun:
    def test_a_process_is_quiet_where_nobody_looks(self, work: Path) -> None:
        said = process("run", "s.yaml", cwd=work)
        assert (said.code, said.err) == (0, "")
        assert "upper" in said.out
        assert "report: runs/small/report.html" in said.out
        names = {p.name for p in (work / "runs/small").iterdir()} - {".lock"}
        assert names == {
            "spec.yaml",
            "rows",
            "predictions.parquet",
            "predictions.csv",
            "scores.parquet",
            "report.json",
            "report.html",
            "log",
        }

    def test_json_is_strict_lines_with_the_report_last(self) -> None:
        said = bakeoff("run", "s.yaml", "--json")
        assert (said.code, said.err) == (0, "")
        names = [event["event"] for event in said.events()]
        assert names[0] == "RunStarted"
        assert names[-2:] == ["Stage", "Report"]
        assert {"ModelPlanned", "ModelLoading", "RowsDone", "ModelFinished"} <= set(names)
        stored = json.loads(Path("runs/small/report.json").read_text())
        assert report_of(said) == stored
        assert stored["ranking"] == ["upper", "copy"]

    def test_json_is_ascii_whatever_the_names(self) -> None:
        Path("é漢.csv").write_text(DATA)
        said = process(
            *("run", write_spec(dataset="é漢.csv"), "--json"),
            cwd=Path.cwd(),
            env={"PYTHONIOENCODING": "ascii"},
        )
        assert said.out.isascii()
        assert report_of(said)["data"]["name"] == "é漢.csv"

    def test_everything_is_reused_and_fresh_makes_it_anew(self) -> None:
        bakeoff("run", "s.yaml")
        again = report_of(bakeoff("run", "s.yaml", "--json"))
        assert [m["reused"] for m in again["models"].values()] == [3, 3]
        fresh = report_of(bakeoff("run", "s.yaml", "--json", "--fresh"))
        assert [m["reused"] for m in fresh["models"].values()] == [0, 0]
        assert fresh["scores"] == again["scores"]

    def test_the_frozen_spec_runs_again(self) -> None:
        first = report_of(bakeoff("run", "s.yaml", "--json"))
        again = report_of(bakeoff("run", "runs/small/spec.yaml", "--json"))
        assert again["scores"] == first["scores"]
        assert [m["reused"] for m in again["models"].values()] == [3, 3]

    def test_flags(self) -> None:
        flags = ("--limit", "2", "--latency-rows", "0", "--max-batch", "1", "--batch-tokens", "64")
        said = bakeoff("run", "s.yaml", "--json", "--runs", "my runs", *flags, "--strict-engine")
        report = report_of(said)
        assert report["data"]["rows"] == 2
        assert report["models"]["upper"]["latency"] is None
        assert report["models"]["upper"]["batch"] == 1
        assert Path("my runs/small/report.json").exists()

    def test_the_environment_says_where_runs_lie(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BAKEOFF_RUNS", "all my runs/é")
        assert bakeoff("run", "s.yaml").code == 0
        assert Path("all my runs/é/small/report.json").exists()

    def test_a_pipe_is_kept_so_that_the_run_resumes(self) -> None:
        os.mkfifo("pipe")
        feeder = threading.Thread(target=lambda: Path("pipe").write_text(DATA), daemon=True)
        feeder.start()
        assert bakeoff("run", write_spec(dataset="pipe")).code == 0
        feeder.join()
        assert bakeoff("run", "runs/small/spec.yaml").code == 0

    def test_standard_input(self) -> None:
        said = bakeoff("run", write_spec(dataset="-"), "--json", stdin=DATA.encode())
        assert report_of(said)["data"]["rows"] == 3
        assert bakeoff("run", "runs/small/spec.yaml").code == 0


class TestExitCodes:
    """docs/runs.md, "For machines"; 5 and 130 are in the tests of interrupts and of two runs."""

    @pytest.mark.parametrize(
        ("changes", "flags", "code"),
        [
            ({}, (), ExitCode.OK),
            ({"models": ["fake://echo?load=memory"]}, (), ExitCode.RUN_FAILED),
            ({"models": ["./nothing"]}, (), ExitCode.RUN_FAILED),
            ({"models": ["fake://echo?fail_text=three"]}, (), ExitCode.PARTIAL),
            ({"models": ["fake://upper", "./nothing"]}, (), ExitCode.PARTIAL),
            (
                {"models": ["fake://echo?fail=1,2,3"]},
                ("--max-failures", "1"),
                ExitCode.STOPPED_EARLY,
            ),
            ({"task": "sumarization"}, (), ExitCode.USAGE),
            ({}, ("--limit", "0"), ExitCode.USAGE),
        ],
    )
    def test_exit_code(self, changes: dict[str, Any], flags: tuple[str, ...], code: int) -> None:
        said = bakeoff("run", write_spec(**changes), "--quiet", "--latency-rows", "0", *flags)
        assert said.code == code, said
        assert Path("runs/small/report.json").exists() == (code != ExitCode.USAGE)

    def test_usage_errors_are_one_line(self) -> None:
        for arguments, said in (
            (("run",), "missing argument 'spec'; see bakeoff run --help"),
            (("run", "--foo"), "no such option: --foo; see bakeoff run --help"),
            (("rnu",), "no such command 'rnu'. Did you mean 'run'?; see bakeoff --help"),
            (("schema", "x"), "'x' is not one of 'spec', 'report', 'row', 'doctor'"),
            (("compare", "runs/a"), "runs/a holds no run"),
            (("report", "runs/a"), "runs/a holds no run"),
            (("cache", "prune"), "say what to delete: --days N, --max-size SIZE or --all"),
            (("cache", "prune", "--max-size", "five"), "'five' is no size: write for example 5GB"),
            (("data", "none.csv"), "there is no such file"),
            (("data", "/dev/zero"), "/dev/zero: is a device"),
            (("init", "/dev/zero", "-y", "-m", "fake://echo"), "/dev/zero: is a device"),
            (("infer", "/dev/zero", "-m", "fake://echo"), "/dev/zero: is a device"),
            (("evaluate", "/dev/zero", "-p", "x"), "/dev/zero: is a device"),
            (("data", "d.csv", "--delimiter", ";;"), "write one character, or tab"),
        ):
            found = bakeoff(*arguments)
            assert said in found.mistake()
            assert len(found.err.splitlines()) == 1

    def test_a_fault_keeps_its_traceback_in_a_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fault(*_: object) -> None:
            raise KeyError("an inner thing")

        monkeypatch.setattr("bakeoff.jobs.planning.map_roles", fault)
        said = bakeoff("run", "s.yaml")
        assert said.code == ExitCode.INTERNAL
        line = said.err.splitlines()[-1]
        assert line.startswith("error: a fault in bakeoff: KeyError: 'an inner thing'; details in")
        kept = Path(line.rpartition(" in ")[2])
        assert "Traceback" in kept.read_text()
        kept.unlink()

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help(self, command: str) -> None:
        said = bakeoff(command, "--help")
        assert said.code == 0
        assert said.out.startswith(f"Usage: bakeoff {command} ")

    def test_no_command_shows_the_menu(self) -> None:
        assert bakeoff("--version").out.startswith("bakeoff ")
        said = bakeoff()
        assert said.code == 2
        assert all(f"\n  {command} " in said.err for command in COMMANDS)

    def test_a_closed_pipe_is_no_error(self, work: Path) -> None:
        command = f"{sys.executable} -m bakeoff schema report | head -n 1"
        done = subprocess.run(command, shell=True, cwd=work, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("{\n", "")


def small_spec(**changes: Any) -> str:
    return yaml.safe_dump({**SPEC, **changes})


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
)


class TestSpecs:
    """Hostile and confused spec files: what is wrong, where, and what to do."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (LAUGHS, "with its aliases"),
            ("name: &a [*a]", "stands inside what it is an alias of"),
            (small_spec(metrics=[{"name": "rouge", "x": 1}]) + "race: &a {x: *a}", "stands inside"),
            ("name: 2024-99-99", "line 1: this is not YAML: '2024-99-99' is no timestamp: put it"),
            ("name: 2024-01-01", "name is the date 2024-01-01"),
            ("repeats: " + "9" * 5000, "is no int"),
            ("name: !!bool maybe", "'maybe' is no bool"),
            ("name: !!map [a]", "a mapping is due here"),
            ("name: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
            ("[" * 2000, "is not YAML"),
            ("a: \x00", "is not YAML"),
            (small_spec(decide={"margin": float("inf")}), "decide.margin is inf"),
            (small_spec(generation={"length_penalty": float("nan")}), "length_penalty is nan"),
            (small_spec(dataset={"path": "d.csv", "limit": 10**30}), "dataset.limit is 10000"),
            (small_spec(models=[{"model": "fake://echo", "limit": 10**3000}]), "is too large"),
            (small_spec(name="../x"), "name: '../x' is used as a folder name"),
            (small_spec(name="/etc/x"), "name: '/etc/x' is used as a folder name"),
            (small_spec(models=[{"id": "..", "model": "fake://echo"}]), "models[0].id: '..' is"),
            (
                small_spec(models=[{"id": "A", "model": "m"}, {"id": "a", "model": "m"}]),
                "models[1]: two models are called 'A' and 'a'",
            ),
            (small_spec(models=["fake://upper", "fake://upper"]), "two models are called 'upper'"),
            (small_spec(models=["~none-such/m"]), "models[0] (m): model '~none-such/m'"),
            (small_spec(dataset="~none-such/d.csv"), "'~none-such/d.csv' is no name of a file"),
            (small_spec(dataset="a\0b"), "is no name of a file: embedded null byte"),
            (
                '{"name": "x", "dataset": "\\ud800", "task": "text-generation", "models": ["m"]}',
                "no name",
            ),
            (small_spec(dataset="d" * 5000), "cannot be read: File name too long"),
            (small_spec(dataset="/dev/zero"), "/dev/zero: is a device"),
            (small_spec(dataset="."), "a folder, and not one that save_to_disk wrote"),
            (small_spec(dataset="d.scv"), "did you mean 'd.csv'?"),
            (small_spec(dataset="https://x/d.csv"), "https:// is no address of a data set"),
        ],
    )
    def test_mistake(self, text: str, said: str) -> None:
        Path("s.yaml").write_text(text)
        found = bakeoff("run", "s.yaml")
        assert said in found.mistake()
        assert len(found.err.splitlines()) == 1
        assert not Path("runs/small").exists()

    @pytest.mark.parametrize("path", [".", "/dev/zero", "d.csv", "none.yaml"])
    def test_what_is_no_spec(self, path: str) -> None:
        assert path in bakeoff("run", path).mistake()

    def test_anchors_and_merge_keys(self) -> None:
        Path("s.yaml").write_text(
            "name: small\ndataset: d.csv\ntask: text-generation\nmetrics: [length]\n"
            "generation: &short {max_new_tokens: 3}\n"
            "models:\n"
            "  - {<<: *short, model: 'fake://upper'}\n"
            "  - {<<: *short, max_new_tokens: 2, model: 'fake://echo'}\n"
        )
        report = report_of(bakeoff("run", "s.yaml", "--json"))
        limits = [m["generation"]["max_new_tokens"] for m in report["models"].values()]
        assert limits == [3, 2]

    @pytest.mark.parametrize("file", ["report.json", "predictions.csv", "log"])
    def test_a_run_does_not_read_what_it_writes(self, file: str) -> None:
        bakeoff("run", "s.yaml")
        before = Path("runs/small", file).read_bytes()
        said = bakeoff("run", write_spec(dataset=f"runs/small/{file}"))
        assert "which this run writes" in said.mistake()
        assert Path("runs/small", file).read_bytes() == before

    @pytest.mark.parametrize(
        ("runs", "said"),
        [
            ("d.csv", "Not a directory"),
            ("d.csv/deep", "Not a directory"),
            ("a" * 5000, "File name too long"),
            ("/proc/here", ""),
        ],
    )
    def test_a_place_that_cannot_be_written(self, runs: str, said: str) -> None:
        found = bakeoff("run", "s.yaml", "--runs", runs).mistake()
        assert said in found
        assert "choose another place with --runs" in found

    def test_a_run_folder_that_is_a_file_or_a_dead_link(self) -> None:
        Path("runs").mkdir()
        Path("runs/small").write_text("")
        assert "choose another `name:`" in bakeoff("run", "s.yaml").mistake()
        Path("runs/small").unlink()
        Path("runs/small").symlink_to("nowhere")
        assert "choose another" in bakeoff("run", "s.yaml").mistake()


ODD_IDS = (
    "=cmd|' /C calc'!A0",
    "@SUM(A1)",
    "+1-1",
    "a\nb",
    "tab\there",
    "\x1b[31mred\x1b]0;title\x07",
    "</script>",
    "[bold]x[/bold]",
    "مرحبا",
    unicodedata.normalize("NFC", "é"),
    unicodedata.normalize("NFD", "é"),
)


class TestOddRows:
    def test_ids_and_cells_come_back_as_they_were(self) -> None:
        with Path("d.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text", "ref"])
            writer.writerows([odd, odd, odd.upper()] for odd in ODD_IDS)
        said = bakeoff("run", "s.yaml")
        assert said.code == 0
        assert "\x1b" not in said.out + said.err
        for read in (read_csv, read_parquet):
            lines = [line for line in read("runs/small/predictions") if line["model"] == "copy"]
            assert [line["row"] for line in lines] == list(ODD_IDS)
            assert [line["prediction"] for line in lines] == list(ODD_IDS)
        shown = bakeoff("data", "d.csv")
        assert shown.code == 0
        assert "\x1b" not in shown.out

    def test_lone_surrogates_fail_their_row_alone(self) -> None:
        rows = [
            {"id": "\ud800", "text": "half \ud800", "ref": "x"},
            {"id": "\ud801", "text": "whole", "ref": "\ud800"},
            {"id": "3", "text": "w", "ref": "W"},
        ]
        Path("d.jsonl").write_text("\n".join(map(json.dumps, rows)))
        said = bakeoff("run", write_spec(dataset="d.jsonl"), "--json")
        assert said.code == ExitCode.PARTIAL
        assert report_of(said)["models"]["upper"]["failure_codes"] == {"bad_row": 1}
        lines = read_parquet("runs/small/predictions")
        assert [(line["row"], line["ok"]) for line in lines if line["model"] == "copy"] == [
            ("\ufffd", False),
            ("\ufffd", True),
            ("3", True),
        ]
        assert bakeoff("report", "runs/small").code == 0
        for out in ("o.csv", "o.jsonl", "o.parquet"):
            assert bakeoff("infer", "d.jsonl", "-m", "fake://upper", "-o", out).code == 3
        kept = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
        assert [line["id"] for line in kept] == [row["id"] for row in rows]

    def test_ten_thousand_columns_and_a_row_of_8_mb(self) -> None:
        names = [f"c{n}" for n in range(10_000)]
        Path("d.csv").write_text(f"text,{','.join(names)}\nx,{','.join('1' * 10_000)}\n")
        wide = write_spec(columns={"source": "text"}, metrics=["length"])
        assert bakeoff("run", wide).code == 0
        shown = bakeoff("data", "d.csv")
        assert "9801 more columns" in shown.out
        assert len(bakeoff("run", write_spec(columns={"source": "txt"})).mistake()) < 1000
        Path("d.csv").write_text("text,ref\n" + "word " * 1_600_000 + ",x\n")
        fat = write_spec(columns={"source": "text", "reference": "ref"}, metrics=["exact_match"])
        assert bakeoff("run", fat).code == 0


def read_csv(stem: str) -> list[dict[str, Any]]:
    with Path(f"{stem}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_parquet(stem: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(f"{stem}.parquet").to_pylist()
    return found


def read_jsonl(stem: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(f"{stem}.jsonl").read_text().splitlines()]


class TestInfer:
    """D7: output goes where it was asked, an existing column is kept, the data stay as they are."""

    def infer(self, *flags: str, stdin: bytes = b"") -> Said:
        data = ("-",) if stdin else ("d.csv",)
        said = bakeoff(
            "infer", *data, "-m", "fake://upper", "-c", "source=text", *flags, stdin=stdin
        )
        assert Path("d.csv").read_text() == DATA
        return said

    @pytest.mark.parametrize(
        ("ending", "read"),
        [("csv", read_csv), ("jsonl", read_jsonl), ("parquet", read_parquet)],
    )
    @pytest.mark.parametrize("field", ["answer", "with blanks", "ответ 漢", "__proto__", 'a"b\nc'])
    def test_where_it_was_asked(
        self, ending: str, read: Callable[[str], list[dict[str, Any]]], field: str
    ) -> None:
        said = self.infer("--output-field", field, "-o", f"new/out.{ending}")
        assert said.code == 0
        assert said.err.splitlines()[-1] == f"3 of 3 rows predicted, written to new/out.{ending}"
        lines = read("new/out")
        assert list(lines[0]) == ["id", "text", "ref", field, f"{field}_error"]
        assert [line[field] for line in lines] == ["ONE TWO", "THREE", "FOUR"]
        assert {line[f"{field}_error"] for line in lines} <= {None, ""}

    @pytest.mark.parametrize("field", ["text", "ref"])
    def test_an_existing_column_is_kept_unless_asked(self, field: str) -> None:
        flags = ("--output-field", field, "-o", "out.csv")
        assert f"the data has a column '{field}'" in self.infer(*flags).mistake()
        assert not Path("out.csv").exists()
        assert self.infer(*flags, "--overwrite").code == 0
        assert [line[field] for line in read_csv("out")] == ["ONE TWO", "THREE", "FOUR"]

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (("--output-field", ""), "--output-field is blank"),
            (("--output-field", " "), "--output-field is blank"),
            (("-o", "d.csv"), "is the data itself"),
            (("-o", "d.csv", "--overwrite"), "is the data itself"),
            (("-o", "s.yaml"), "the name must end in .csv, .jsonl, .parquet"),
            (("-o", "folder.csv"), "is a folder: name a file in it"),
            (("-o", "d.csv/out.csv"), "is a file, not a folder"),
            (("-o", "there.csv"), "exists: choose another --out or pass --overwrite"),
            (("-o", "x" * 300 + ".csv"), "File name too long"),
            (("--option", "seed=["), "--option seed='[' is no YAML value"),
            (("--option", "seed"), "--option 'seed': write NAME=VALUE"),
            (("--option", "sede=1"), "did you mean seed?"),
            (("--temperature", "nan"), "invalid value for '--temperature'"),
            (("-c", "sauce=text"), "did you mean source?"),
            (("-c", "id=tex"), "did you mean 'text'?"),
            (("-t", "sumarization"), "did you mean 'summarization'?"),
            (("-t", "custom", "--template", "{{ x"), "--template, line 1"),
        ],
    )
    def test_mistakes(self, flags: tuple[str, ...], said: str) -> None:
        Path("folder.csv").mkdir()
        Path("there.csv").write_text("kept")
        assert said in self.infer(*flags).mistake()
        assert Path("there.csv").read_text() == "kept"
        assert not Path("runs").exists() or not any(Path("runs").iterdir())

    def test_standard_input_to_standard_output(self) -> None:
        said = self.infer(stdin=DATA.encode())
        assert said.code == 0
        lines = list(csv.reader(said.out.splitlines()))
        assert lines[0] == ["id", "text", "ref", "predictions", "predictions_error"]
        assert [line[3] for line in lines[1:]] == ["ONE TWO", "THREE", "FOUR"]

    def test_a_pipe_is_read_once(self) -> None:
        os.mkfifo("pipe")
        feeder = threading.Thread(target=lambda: Path("pipe").write_text(DATA), daemon=True)
        feeder.start()
        said = bakeoff("infer", "pipe", "-m", "fake://upper", "-o", "out.csv")
        feeder.join()
        assert said.code == 0
        assert len(read_csv("out")) == 3

    def test_failed_rows_say_why(self) -> None:
        said = self.infer("-m", "fake://upper?fail_text=three", "-o", "out.csv")
        assert said.code == ExitCode.PARTIAL
        lines = read_csv("out")
        assert [line["predictions"] for line in lines] == ["ONE TWO", "", "FOUR"]
        assert lines[1]["predictions_error"].startswith("engine_failed: ")

    def test_nothing_is_written_where_nothing_was_predicted(self) -> None:
        said = self.infer("-m", "./nothing", "-o", "out.csv")
        assert "nothing was written" in said.mistake(1)
        assert "nothing does not exist" in said.mistake(1)
        assert not Path("out.csv").exists()

    def test_columns_of_mixed_kinds_become_text_in_parquet(self) -> None:
        rows = [{"text": "a", "n": 1}, {"text": "b", "n": "x"}, {"text": "c", "n": [10**30]}]
        Path("m.jsonl").write_text("\n".join(map(json.dumps, rows)))
        assert bakeoff("infer", "m.jsonl", "-m", "fake://upper", "-o", "m.parquet").code == 0
        assert [line["n"] for line in read_parquet("m")] == ["1", "x", f"[{10**30}]"]


class TestEvaluate:
    DATA = "id,a b,a-b,ответ,我,r1,r2\n1,x,y,x,y,x,z\n2,q,w,,w,w,q\n"

    def evaluate(self, *flags: str, columns: tuple[str, ...] = ("a b",)) -> Said:
        Path("p.csv").write_text(self.DATA)
        named = [flag for column in columns for flag in ("-p", column)]
        return bakeoff("evaluate", "p.csv", *named, "--metrics", "exact_match", *flags)

    def test_several_columns_and_several_references(self) -> None:
        columns = ("a b", "a-b", "ответ", "我")
        said = self.evaluate("-r", "r1", "-r", "r2", "--json", columns=columns)
        assert said.code == 0
        report = json.loads(said.out)
        assert [m["reference"] for m in report["models"].values()] == [
            f"baseline://column/{column}" for column in columns
        ]
        values = [scores["exact_match"]["value"] for scores in report["scores"].values()]
        assert values == [1.0, 0.5, 0.5, 0.5]
        assert report["data"]["roles"]["reference"] == ["r1", "r2"]

    @pytest.mark.parametrize(
        ("flags", "columns", "said"),
        [
            ((), ("a b", "a b"), "--predictions 'a b' is given twice"),
            ((), ("a_b",), "unknown column 'a_b': did you mean 'a-b' or 'a b'?"),
            ((), ("",), "lacks the column"),
            (("-r", "r3"), ("a b",), "there is no column 'r3'"),
            (("--metrics", ""), ("a b",), "--metrics names no metric"),
            (("--metrics", "rogue"), ("a b",), "did you mean 'rouge'?"),
            (("--name", "../x"), ("a b",), "'../x' is used as a folder name"),
        ],
    )
    def test_mistakes(self, flags: tuple[str, ...], columns: tuple[str, ...], said: str) -> None:
        assert said in self.evaluate(*flags, columns=columns).mistake()


def test_compare_takes_shared_rows() -> None:
    bakeoff("run", "s.yaml")
    Path("d.csv").write_text(DATA + "4,five,FIVE\n")
    bakeoff("run", write_spec(name="longer"))
    found = json.loads(bakeoff("compare", "runs/small", "runs/longer", "--json").out)
    assert found["shared"] == 3
    assert found["left_out"] == {"small": 0, "longer": 1}
    scores = {m["label"]: m["scores"]["exact_match"]["value"] for m in found["models"]}
    assert scores["small/upper"] == scores["longer/upper"]
    shown = bakeoff("compare", "runs/small", "runs/longer", "--metric", "exact_match")
    assert "longer: 1 row is not in all runs" in shown.out
    assert (
        "unknown metric 'x'"
        in bakeoff("compare", "runs/small", "runs/longer", "--metric", "x").mistake()
    )
    assert "at least two" in bakeoff("compare", "runs/small", "runs/small").mistake()


class TestPython:
    """`bakeoff.run` gives the same report, whichever way the spec comes."""

    def test_path_mapping_and_object(self) -> None:
        found = [
            api.run("s.yaml"),
            api.run(Path("s.yaml")),
            api.run(SPEC),
            api.run(RunSpec.model_validate(SPEC)),
        ]
        assert {r.models["upper"].reused for r in found} == {0, 3}
        assert all(r.scores == found[0].scores for r in found)
        assert found[0].ranking[0] == "upper"
        assert api.run(SPEC, runs="elsewhere").models["upper"].reused == 0

    def test_a_relative_path_starts_beside_the_spec(self) -> None:
        Path("deep").mkdir()
        Path("deep/d.csv").write_text(DATA + "4,x,X\n")
        Path("deep/s.yaml").write_text(json.dumps(SPEC))
        assert api.run("deep/s.yaml").data.rows == 4

    @pytest.mark.parametrize(
        "spec", [{}, "none.yaml", {**SPEC, "decide": {"margin": float("inf")}}, {**SPEC, "x": 1}]
    )
    def test_mistakes_are_invalid_specs(self, spec: Any) -> None:
        with pytest.raises(InvalidSpec):
            api.run(spec)

    def test_odd_numbers_in_an_object_are_refused_too(self) -> None:
        odd = RunSpec.model_validate(SPEC).model_copy(update={"max_failures": 10**40})
        with pytest.raises(InvalidSpec, match="max_failures is too large"):
            api.run(odd)

    def test_every_error_is_ours(self) -> None:
        for change in (
            {"dataset": "\0"},
            {"dataset": "~none-such/x"},
            {"models": ["~none-such/x"]},
        ):
            with pytest.raises(BakeoffError):
                api.run({**SPEC, **change})


ON_ITS_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes Ctrl-C a signal; done behind the fork, this may hang where other threads hold locks."""


def on_a_terminal(*arguments: str, answers: tuple[str, ...] = ()) -> tuple[int, str]:
    """Carry out a command on a pseudo-terminal; each answer is typed after the next question."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    child = subprocess.Popen(
        [sys.executable, "-c", ON_ITS_TERMINAL, *BAKEOFF, *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=env,
        start_new_session=True,
    )
    os.close(follower)
    seen, waiting, answered_at = b"", list(answers), 0
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 1.0)[0]:
                pressed = answered_at and len(answers[-1]) == 1
                if pressed and b"interrupted" not in seen:  # Python may miss a signal while it
                    os.write(leader, answers[-1].encode())  # begins to read; people press again
                continue
            try:
                seen += os.read(leader, 65536)
            except OSError:  # the child has closed its end
                break
            if waiting and seen[answered_at:].endswith((b"]: ", b"): ")):
                os.write(leader, waiting.pop(0).encode())
                answered_at = len(seen)
    finally:
        child.kill() if time.monotonic() >= deadline else None
        os.close(leader)
    return child.wait(10), seen.decode(errors="replace").replace("\r\n", "\n")


class TestTerminal:
    def test_progress_shows_rows_speed_time_left_and_model(self) -> None:
        rows = "".join(f"{n},a longer row number {n},x\n" for n in range(40))
        Path("d.csv").write_text("id,text,ref\n" + rows)
        write_spec(models=["fake://upper?delay=0.3"])
        code, seen = on_a_terminal("run", "s.yaml", "--latency-rows", "0")
        assert code == 0
        assert "small: 40 rows, 1 model" in seen
        assert "upper (loading)" in seen
        frames = [
            line
            for line in seen.replace("\r", "\n").split("\n")
            if "/40" in line and "tok/s" in line
        ]
        assert any(" 0/40" not in frame and "40/40" not in frame for frame in frames), seen
        assert any("00:0" in frame for frame in frames), seen
        assert all("upper" in frame for frame in frames)
        assert "40/40" in frames[-1]

    def test_init_asks_until_it_has_answers(self) -> None:
        Path("q.csv").write_text("frage,antwort\na,b\n")
        answers = ("nothing", "text-generation", "frag", "frage", "", "antwort", "")
        models = "fake://upper, baseline://copy"
        typed = tuple(f"{answer}\n" for answer in (*answers, models))
        code, seen = on_a_terminal("init", "q.csv", answers=typed)
        assert code == 0, seen
        assert "did you mean 'frage'?" in seen
        spec = load_spec(Path("bakeoff.yaml"))
        assert (spec.task.kind, spec.columns.source) == ("text-generation", "frage")
        assert (spec.columns.reference, spec.columns.id) == (("antwort",), None)
        assert [m.model for m in spec.models] == ["fake://upper", "baseline://copy"]

    def test_ctrl_d_and_ctrl_c_in_answer_to_a_question(self) -> None:
        Path("q.csv").write_text("frage,antwort\na,b\n")
        for key in ("\x04", "\x03"):
            code, seen = on_a_terminal("init", "q.csv", answers=(key,))
            assert code == 130, (key, seen)
            assert seen.rstrip().endswith("interrupted: nothing was written")
            assert not Path("bakeoff.yaml").exists()
