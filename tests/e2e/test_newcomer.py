"""What somebody meets who knows the documentation alone: notes, tables, messages, help."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import bakeoff as api
from bakeoff.cli.main import app
from bakeoff.cli.questions import wrong_model
from bakeoff.cli.tasknames import ROLE_NAMES, TASK_NAMES
from bakeoff.core.specs import ColumnsSpec, TaskSpec
from bakeoff.jobs.events import Event, RowsDone
from bakeoff.tasks import TASKS
from bakeoff.wiring import run_async
from tests.e2e.commands import BAKEOFF, Said, bakeoff
from tests.unit.project.tree import ROOT

DATA = "id,customer mail,gold summary\n1,one two,ONE TWO\n2,three,THREE\n3,four,five\n"
SPEC: dict[str, Any] = {
    "name": "mails",
    "dataset": "mails.csv",
    "columns": {"id": "id", "source": "customer mail", "reference": "gold summary"},
    "task": "text-generation",
    "metrics": ["exact_match", "length"],
    "models": [{"id": "upper", "model": "fake://upper"}],
}
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mails.csv").write_text(DATA)
    write()
    return tmp_path


def write(*changes: Change, **more: Any) -> str:
    spec = json.loads(json.dumps(SPEC)) | more
    for change in changes:
        change(spec)
    Path("s.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    return "s.yaml"


def run(*flags: str) -> Said:
    return bakeoff("run", "s.yaml", "--latency-rows", "0", *flags)


def add_model(spec: dict[str, Any]) -> None:
    spec["models"].append({"id": "new", "model": "fake://echo"})


def change_cell(spec: dict[str, Any]) -> None:
    Path("mails.csv").write_text(DATA.replace("three", "drei"))


def append_row(spec: dict[str, Any]) -> None:
    Path("mails.csv").write_text(DATA + "4,six,SIX\n")


def set_template(spec: dict[str, Any]) -> None:
    spec["models"][0]["prompt"] = {"template": "Shout: {{ source }}"}


def relabel(spec: dict[str, Any]) -> None:
    spec["task"] = {"kind": "text-classification", "labels": ["ONE", "THREE", "OTHER"]}


def rename(spec: dict[str, Any]) -> None:
    spec["models"][0]["id"] = "louder"


class TestReuse:
    """Which rows are there, which are made, and why: a line for each model."""

    def test_a_first_run_has_nothing_to_say(self) -> None:
        assert run().err == ""

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda s: None, ["upper: 3 of 3 rows are there already"]),
            (
                add_model,
                [
                    "upper: 3 of 3 rows are there already",
                    "new: 0 of 3 rows are there already, 3 are made",
                ],
            ),
            (append_row, ["upper: 3 of 4 rows are there already, 1 is made"]),
            (
                change_cell,
                ["upper: 2 of 3 rows are there already, 1 is made (2): their cells changed"],
            ),
            (
                set_template,
                [
                    "upper: 0 of 3 rows are there already, 3 are made (1, 2, 3): "
                    "prompt.template default -> Shout: {{ source }}"
                ],
            ),
            (
                rename,
                [
                    "louder: 0 of 3 rows are there already, 3 are made (1, 2, 3): rows of this "
                    "model are kept under the id 'upper', and the id names the journal"
                ],
            ),
        ],
    )
    def test_it_is_said_once_for_each_model(self, change: Change, said: list[str]) -> None:
        run()
        write(change)
        assert run().err.splitlines() == [f"note: {line}" for line in said]
        assert run("--quiet").err == ""

    def test_labels_are_told_from_cells(self) -> None:
        write(task={"kind": "text-classification", "labels": ["ONE", "THREE"]}, metrics=["length"])
        run()
        write(relabel, metrics=["length"])
        assert "task.labels ONE, THREE -> ONE, THREE, OTHER" in run().err

    def test_a_cell_that_changes_behind_a_prompt_that_did(self) -> None:
        run()
        write(set_template)
        run("--limit", "1")
        change_cell({})
        said = run().err
        assert "1 of 3 rows is there already, 2 are made (2, 3): prompt.template" in said
        assert "default -> Shout: {{ source }}; their cells changed" in said
        Path("mails.csv").write_text(DATA)
        assert "(2): their cells changed" in run().err


class TestLog:
    def test_rows_are_logged(self) -> None:
        run()
        log = Path("runs/mails/log").read_text()
        assert ' rows model="upper" done=3 todo=3 failed=0\n' in log

    def test_an_interrupt_is_logged_and_the_run_is_unfinished(self) -> None:
        def press(event: Event) -> None:
            if isinstance(event, RowsDone):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(run_async("s.yaml", emit=press, latency_rows=0))
        assert Path("runs/mails/log").read_text().endswith(" interrupted\n")
        run()
        assert Path("runs/mails/log").read_text().endswith(' report status="finished"\n')


class TestOnce:
    """A notice is said once, in the right number."""

    def test_notices_are_not_repeated_below_the_table(self) -> None:
        Path("mails.csv").write_text(DATA + '4,"",\n')
        write(add_model, columns={"source": "customer mail", "reference": "gold summary"})
        said = run()
        everything = said.err + said.out
        for text in (
            "guessed from the names: id is 'id'",
            "1 of 4 rows has nothing in 'customer mail', the source",
            "1 of 4 rows has no reference",
            "1 of 4 rows failed",
        ):
            assert everything.count(text) == 1, text
        assert "! upper, new: 1 of 4 rows failed (bad_row: 1)" in said.out
        assert "rows have" not in everything
        shown = bakeoff("report", "runs/mails").out
        assert "! 1 of 4 rows has no reference and is not scored" in shown
        assert "! guessed from the names" in shown

    def test_a_quiet_run_says_them_below_the_table(self) -> None:
        write(columns={"source": "customer mail", "reference": "gold summary"})
        said = run("--quiet")
        assert (said.err, said.out.count("guessed from the names")) == ("", 1)

    def test_metrics_that_the_table_leaves_out_are_named(self) -> None:
        out = run().out
        assert (
            "in the report, not in this table: length_characters, length_words, length_tokens"
            in out
        )


PLAIN = {
    "metrics": [{"metrics": {"rouge": 1}}, "metrics is a mapping: write a list, for example"],
    "empty": [{"models": []}, "line 11: models is empty: write at least one"],
    "section": [
        {"generation": 5},
        "generation is 5: write `key: value` pairs with the keys max_new_tokens, ",
    ],
    "left empty": [{"generation": None}, "generation is empty: write `key: value` pairs"],
    "integer": [
        {"models": [{"model": "fake://echo", "max_new_tokens": "ten"}]},
        "line 13: models[0].max_new_tokens is 'ten': write a whole number",
    ],
    "number": [{"repeats": 0}, "line 14: repeats is 0: write a number of at least 1"],
    "text": [{"name": 5}, 'line 1: name is 5: write a text, between quotes: "5"'],
    "choice": [{"truncate": "no"}, "truncate is 'no': write 'refuse' or 'cut'"],
    "either": [
        {"generation": {"early_stopping": "maybe"}},
        "generation.early_stopping is 'maybe': write true or false or 'never'",
    ],
    "both": [
        {"models": [{"model": "m", "adapter": 5}]},
        'models[0].adapter is 5: write a text, between quotes: "5" or a list',
    ],
    "key": [{"modles": []}, "line 14: modles: unknown key; did you mean models?"],
    "metric": [{"metrics": ["rogue"]}, "s.yaml: unknown metric 'rogue': did you mean 'rouge'?"],
    "template": [
        {"models": [{"id": "a", "model": "fake://echo", "prompt": {"template": "{{ mial }}"}}]},
        "s.yaml: models[0] (a): prompt.template uses 'mial', which is no column",
    ],
    "blanks": [
        {"task": {"kind": "custom", "template": "Answer: {{ customer mail }}"}},
        'a column whose name is no single word is row["customer mail"]',
    ],
    "near": [
        {"task": {"kind": "custom", "template": "{{ customer_mail }}"}},
        "did you mean 'customer mail'? Columns: id, customer mail, gold summary; a column whose "
        'name is no single word is row["customer mail"]',
    ],
    "model": [
        {"models": [{"id": "m", "model": "fake://echo", "min_new_tokens": 999}]},
        "s.yaml: models[0] (m): min_new_tokens (999) is more than",
    ],
}
YAML = {
    "dataset: a: b": "a colon and a blank stand inside a value: put the value between quotes",
    "\tdataset: x": "a tab stands here: indent with blanks",
    "columns:\n    id: id\n  source: x": "its indentation does not fit the lines above",
    " dataset: x": "its indentation does not fit the lines above",
    "columns: {id: id": "a bracket that opens in line 2 is not closed, or a comma is missing",
    "dataset: 'x": "a quote that opens in line 2 is not closed",
    "dataset: *x": "a value that begins with * goes between quotes",
    "dataset: @x": "a value cannot begin with '@': put the value between quotes",
    "template: {{ source }}": "{{ }} begins a value: put the whole value between quotes",
    "dataset": "the line above has no colon: write `key: value`",
    "name: y": "the key 'name' stands here twice",
}
SPOKEN = ("Input should", "valid dictionary", "tuple", "Value error", "parse string", "instance of")


class TestMessages:
    @pytest.mark.parametrize(("changes", "said"), PLAIN.values(), ids=PLAIN)
    def test_mistakes_in_a_spec(self, changes: dict[str, Any], said: str) -> None:
        write(**changes)
        message = run().mistake()
        assert said in message
        assert message.startswith("s.yaml")
        assert not any(words in message for words in SPOKEN), message

    @pytest.mark.parametrize(("text", "said"), YAML.items())
    def test_what_is_no_yaml(self, text: str, said: str) -> None:
        Path("s.yaml").write_text(f"name: x\n{text}\ntask: summarization\n")
        message = run().mistake()
        assert "this is not YAML: " in message
        assert said in message
        assert "^" not in message

    def test_data_in_the_place_of_a_spec(self) -> None:
        message = bakeoff("run", "mails.csv").mistake()
        assert message == (
            "mails.csv is data, and no spec: `bakeoff init mails.csv` writes a spec for it"
        )

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("init", "-y", "-m", "fake://echo"), "pass -c source=COLUMN with one of 'id'"),
            (("infer", "-m", "fake://echo"), "pass -c source=COLUMN with one of 'id'"),
            (
                ("infer", "-m", "fake://echo", "-c", "source=x"),
                "-c source: there is no column 'x'",
            ),
            (
                ("infer", "-m", "fake://echo", "--option", "nosuch=1"),
                "--option nosuch: unknown key",
            ),
            (
                ("infer", "-m", "fake://echo", "--option", "max_new_tokens=x"),
                "--max-new-tokens is 'x': write a whole number",
            ),
            (
                (
                    *("infer", "-m", "fake://echo", "-c", "source=customer mail"),
                    *("--template", "{{ customer mail }}"),
                ),
                "--template, line 1: ",
            ),
            (
                ("evaluate", "-p", "customer mail", "-r", "x"),
                "--reference COLUMN: there is no column 'x'",
            ),
            (("data", "--delimiter", ";;"), "--delimiter: "),
        ],
    )
    def test_commands_without_a_spec_advise_flags(
        self, arguments: tuple[str, ...], said: str
    ) -> None:
        command, *flags = arguments
        message = bakeoff(command, "mails.csv", *flags).mistake()
        assert said in message
        assert not any(words in message for words in ("columns:", "columns.", "models[", "flags:"))

    def test_infer_says_how_to_choose_another_column(self) -> None:
        Path("t.csv").write_text("text,x\na,b\n")
        said = bakeoff("infer", "t.csv", "-m", "fake://echo", "-o", "o.csv")
        assert "note: guessed from the names: source is 'text'; -c ROLE=COLUMN chooses" in said.err

    def test_a_run_is_found_by_its_name(self) -> None:
        run()
        assert bakeoff("report", "mails").mistake() == (
            "mails holds no run; did you mean runs/mails?"
        )
        assert "did you mean runs/mails?" in bakeoff("compare", "mail", "two").mistake()

    def test_init_says_what_it_left_out(self) -> None:
        said = bakeoff(
            *("init", "mails.csv", "-y", "-m", "fake://echo", "-c", "source=customer mail")
        )
        assert "note: no reference column: scores need one; -c reference=COLUMN" in said.err
        assert "# no reference column: scores need one" in Path("bakeoff.yaml").read_text()
        assert run().code == 0


class TestData:
    def test_roles_repeated_ids_and_lines(self) -> None:
        Path("d.csv").write_text('id,text,reference\n1,"a\nb",x\n7,"c ",NA\n7,d,y\n')
        out = bakeoff("data", "d.csv").out
        assert "roles, by the names: source = text, id = id, reference = reference" in out
        assert "the id '7' stands twice, on line 4 and line 5: ids must differ" in out
        assert "text: blanks or line breaks around the text, in 1 row, first in line 4" in out
        found = json.loads(bakeoff("data", "d.csv", "--json").out)
        assert found["roles"] == {"source": "text", "id": "id", "reference": "reference"}
        assert len(found["warnings"]) == 1

    def test_names_that_suggest_nothing(self) -> None:
        out = bakeoff("data", "mails.csv").out
        assert "no column has a usual name for the source: -c source=COLUMN names it" in out


class TestHelp:
    def test_names_that_help_lists_are_those_that_there_are(self) -> None:
        assert sorted(TASK_NAMES) == sorted(TASKS.names())
        assert set(ROLE_NAMES) == set(ColumnsSpec.model_fields)
        for command in ("init", "infer"):
            said = bakeoff(command, "--help").out
            assert all(name in said.replace("\n", "").replace(" ", "") for name in TASK_NAMES)

    def test_the_menu_is_whole(self) -> None:
        menu = bakeoff("--help").out.partition("Commands:")[2]
        assert "..." not in menu

    def test_every_option_says_what_it_is(self) -> None:
        group = typer.main.get_command(app)
        for name, command in group.commands.items():  # type: ignore[attr-defined]
            for parameter in command.params:
                assert getattr(parameter, "help", None), (name, parameter.name)

    def test_the_documentation_lists_every_field_of_a_task(self) -> None:
        text = (ROOT / "docs/spec.md").read_text(encoding="utf-8")
        for name, field in TaskSpec.model_fields.items():
            (row,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
            default = row.split("|")[2].strip().strip("`")
            value = {None: "none", True: "true"}.get(field.default, field.default)
            if field.is_required():
                value = "none"
            if name == "hypothesis":
                continue  # None, and the task's own sentence
            assert default == str(value), row


class TestEnds:
    @pytest.mark.parametrize("arguments", [("run", "s.yaml"), ("data", "mails.csv"), ("--help",)])
    def test_a_closed_standard_output_is_no_fault(self, arguments: tuple[str, ...]) -> None:
        command = " ".join((*BAKEOFF, *arguments))
        done = subprocess.run(
            f"{command} >&-", shell=True, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")

    def test_a_page_that_cannot_be_written_costs_only_the_page(self) -> None:
        run()
        page = Path("runs/mails/report.html")
        page.unlink()
        page.mkdir()
        said = bakeoff("report", "runs/mails")
        assert "exact_match" in said.out
        assert "report.html" in said.mistake(1)

    def test_pictures_say_what_they_need(self) -> None:
        script = ROOT / "scripts/screenshot.py"
        code = (
            "import runpy, sys; sys.modules['playwright'] = None; "
            f"runpy.run_path({str(script)!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.startswith("pictures need playwright: pip install playwright")
        assert len(done.stderr.splitlines()) == 1


class TestPython:
    def test_dir_shows_the_public_names(self) -> None:
        assert dir(api) == ["BakeoffError", "Report", "RunSpec", "__version__", "run"]

    def test_an_interrupt_of_a_notebook_cell_ends_the_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended: list[str] = []

        async def endless(*_: object, **__: object) -> None:
            main = threading.main_thread().ident
            signal.pthread_kill(main, signal.SIGINT)  # type: ignore[arg-type]
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        monkeypatch.setattr("bakeoff.wiring.run_async", endless)

        async def cell() -> object:
            return api.run("s.yaml")

        loop = asyncio.new_event_loop()  # `asyncio.run` would take Ctrl-C for itself
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
        loop.close()
        assert ended == ["cancelled"]


class TestModels:
    """What `bakeoff init` takes for the name of a model."""

    @pytest.mark.parametrize(
        ("model", "said"),
        [
            ("fake://echo", ""),
            ("baseline://lead-3", ""),
            ("baseline://column/gold summary", ""),
            ("hf://org/name@main", ""),
            ("here", ""),
            ("gold summary", "there is no folder 'gold summary': write hf://org/name"),
            ("hre", "'hre': no such folder; for the Hub write 'hf://hre'; did you mean 'here'?"),
            ("./hre", "there is no folder './hre': write hf://"),
            ("empty", "'empty' holds no model (no config.json)"),
            ("mails.csv", "'mails.csv' is no model"),
            ("org/name", "for the Hub write 'hf://org/name'"),
            ("hf://datasets/org/name", "is a data set, not a model"),
            ("hff://org/name", "did you mean hf://?"),
            ("baseline://led-3", "did you mean 'lead-3'?"),
            ("baseline://column/gold", "unknown column 'gold'"),
            ("fake://eco", "did you mean 'echo'?"),
            ("~no-such-user/m", "home directory"),
        ],
    )
    def test_it_is_checked(self, model: str, said: str) -> None:
        Path("here").mkdir()
        Path("here/config.json").write_text("{}")
        Path("empty").mkdir()
        found = wrong_model(model, ("id", "customer mail", "gold summary"))
        assert found.startswith(said) if not said else said in found
        assert bool(found) == bool(said)
