"""What a second run reuses, what it regenerates, and what it says about it."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import BakeoffError, InvalidSpec, UnknownName, UnsupportedOption
from bakeoff.core.report import Report
from bakeoff.jobs.events import Event, ModelLoading, ModelPlanned
from bakeoff.jobs.specfile import load_spec
from bakeoff.wiring import run_async

SPEC: dict[str, Any] = {
    "name": "r",
    "dataset": "d.csv",
    "columns": {"id": "id", "source": "text", "reference": "target"},
    "task": "text-generation",
    "generation": {"max_new_tokens": 64},
    "metrics": ["exact_match"],
    "models": [{"id": "a", "model": "fake://upper"}],
}


class Bench:
    """A folder with data, and runs whose events are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.write(6)

    def write(self, rows: int, changed: dict[int, str] | None = None) -> None:
        texts = {n: f"text number {n}" for n in range(rows)} | (changed or {})
        lines = [f"{n},{text},{text.upper()}" for n, text in texts.items()]
        (self.folder / "d.csv").write_text("\n".join(["id,text,target", *lines]) + "\n")

    def run(
        self,
        change: Callable[[dict[str, Any]], Any] | None = None,
        emit: Callable[[Event], Any] | None = None,
        **options: Any,
    ) -> Report:
        spec = copy.deepcopy(SPEC)
        if change is not None:
            change(spec)
        self.events = []
        return asyncio.run(
            run_async(
                spec,
                runs=self.folder / "runs",
                base=self.folder,
                emit=emit or self.events.append,
                latency_rows=0,
                **options,
            )
        )

    def todo(self, model: str = "a") -> int:
        return next(e.todo for e in self.of(ModelPlanned) if e.model == model)

    def why(self, model: str = "a") -> tuple[str, ...]:
        return next(e.why for e in self.of(ModelPlanned) if e.model == model)

    def loaded(self) -> list[str]:
        return [e.model for e in self.of(ModelLoading)]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.run()
    assert made.todo() == 6
    return made


REUSING: dict[str, Callable[[dict[str, Any]], Any]] = {
    "the same": lambda s: None,
    "a new metric": lambda s: s.update(metrics=["exact_match", "chrf"]),
    "a raised failure limit": lambda s: s.update(max_failures=3),
    "another group column": lambda s: s["columns"].update(group="target"),
    "another device": lambda s: s["models"][0].update(accelerator="cpu"),
    "a default said aloud": lambda s: s["generation"].update(temperature=0),
}


@pytest.mark.parametrize("change", REUSING.values(), ids=REUSING)
def test_reused_without_loading(bench: Bench, change: Callable[[dict[str, Any]], Any]) -> None:
    report = bench.run(change)
    assert bench.loaded() == []
    assert bench.todo() == 0
    assert report.models["a"].reused == 6
    assert report.scores["a"]["exact_match"].value == 1.0


CHANGED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a longer answer": (
        lambda s: s["generation"].update(max_new_tokens=32),
        "generation.max_new_tokens 64 -> 32",
    ),
    "sampling": (lambda s: s["generation"].update(temperature=1.0), "generation.temperature"),
    "another model": (lambda s: s["models"][0].update(model="fake://echo"), "model fake:upper"),
    "truncation": (lambda s: s.update(truncate="cut"), "truncate refuse -> cut"),
    "a prompt": (
        lambda s: s["models"][0].update(prompt={"template": "<{{ source }}>"}),
        "prompt.template default -> <{{ source }}>",
    ),
}


@pytest.mark.parametrize(("change", "said"), CHANGED.values(), ids=CHANGED)
def test_regenerated_with_a_reason(
    bench: Bench, change: Callable[[dict[str, Any]], Any], said: str
) -> None:
    bench.run(change)
    assert bench.todo() == 6
    assert any(said in reason for reason in bench.why())


@pytest.mark.parametrize("cells", [{}, {5: "something else"}], ids=["same cells", "other cells"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda s: s["models"][0].update(prompt={"template": "<{{ source }}>"}),
            "prompt.template default -> <{{ source }}>",
        ),
        (lambda s: s["models"][0].update(prompt={"system": "Be brief."}), "prompt.system"),
        (lambda s: s.update(task={"kind": "text-generation", "system": "No."}), "task.system"),
    ],
)
def test_all_that_changed_is_named(
    bench: Bench,
    change: Callable[[dict[str, Any]], Any],
    said: str,
    cells: dict[int, str],
) -> None:
    bench.write(6, cells)
    bench.run(change)
    first, *more = bench.why()
    assert first.startswith(said)
    assert more == (["their cells changed"] if cells else [])
    assert bench.todo() == 6
    bench.write(6)
    bench.run(change)
    assert bench.why() == (("their cells changed",) if cells else ())


def test_cells_are_not_told_from_columns(bench: Bench) -> None:
    bench.write(6, {5: "something else"})
    bench.run(lambda s: s["columns"].update(source="target"))
    assert bench.why() == ("columns.source text -> target",)


def test_only_new_and_changed_rows_are_made(bench: Bench) -> None:
    bench.write(9, {2: "something else"})
    report = bench.run()
    assert bench.todo() == 4
    assert report.data.rows == 9
    assert report.models["a"].reused == 5
    assert bench.why() == ("their cells changed",)
    assert bench.of(ModelPlanned)[0].first == ("2",)


def test_rows_that_were_never_made_need_no_reason(bench: Bench) -> None:
    bench.write(9)
    bench.run()
    assert (bench.todo(), bench.why()) == (3, ())


def test_a_further_model_leaves_the_first_alone(bench: Bench) -> None:
    report = bench.run(lambda s: s["models"].append({"id": "b", "model": "fake://echo"}))
    assert bench.loaded() == ["b"]
    assert report.ranking == ("a", "b")


def test_more_repeats_keep_the_first(bench: Bench) -> None:
    bench.run(lambda s: s.update(repeats=3))
    assert bench.todo() == 12


def test_fresh_makes_everything_anew_once(bench: Bench) -> None:
    bench.run(fresh=True)
    assert bench.todo() == 6
    assert bench.why() == ("epoch 0 -> 1",)
    bench.run()
    assert bench.todo() == 0


def test_a_fresh_run_that_was_cut_short_stays_fresh(bench: Bench) -> None:
    def both(spec: dict[str, Any]) -> None:
        spec["models"].append({"id": "b", "model": "fake://echo"})

    def cut_short(event: Event) -> None:
        if isinstance(event, ModelPlanned) and event.model == "b":
            raise KeyboardInterrupt

    bench.run(both)
    with pytest.raises(KeyboardInterrupt):
        bench.run(both, fresh=True, emit=cut_short)
    bench.run(both)
    assert (bench.todo("a"), bench.todo("b")) == (0, 6)
    bench.run(both)
    assert (bench.todo("a"), bench.todo("b")) == (0, 0)


def test_going_back_costs_nothing(bench: Bench) -> None:
    bench.run(lambda s: s["generation"].update(max_new_tokens=32))
    bench.run()
    assert bench.todo() == 0


def test_retryable_failures_are_tried_again_and_others_are_not(bench: Bench) -> None:
    def failing(spec: dict[str, Any]) -> None:
        spec["models"] = [{"id": "f", "model": "fake://echo?fail=2,3"}]

    def too_long(spec: dict[str, Any]) -> None:
        spec["models"] = [{"id": "l", "model": "fake://echo?context=3"}]

    first = bench.run(failing)
    assert first.models["f"].failures == 2
    assert first.status == "partial"
    bench.run(failing)
    assert bench.todo("f") == 2
    assert bench.run(too_long).models["l"].failure_codes == {"prompt_too_long": 6}
    bench.run(too_long)
    assert (bench.todo("l"), bench.loaded()) == (0, [])


def test_one_missing_model_does_not_stop_the_others(bench: Bench) -> None:
    def missing(spec: dict[str, Any]) -> None:
        spec["models"] = [
            {"id": "gone", "model": "./nowhere"},
            {"id": "memory", "model": "fake://echo?load=memory"},
            {"id": "a", "model": "fake://upper"},
        ]

    report = bench.run(missing)
    assert report.models["a"].failures == 0
    assert report.models["gone"].failure_codes == {"model_not_found": 6}
    assert report.models["memory"].failure_codes == {"out_of_memory": 6}
    assert report.ranking[0] == "a"


def test_max_failures_stops_early_and_says_so(bench: Bench) -> None:
    def failing(spec: dict[str, Any]) -> None:
        spec["max_failures"] = 2
        spec["models"] = [
            {"id": "f", "model": "fake://echo?fail_text=text"},
            {"id": "b", "model": "fake://echo"},
        ]

    report = bench.run(failing)
    assert report.status == "stopped-early"
    assert report.models["b"].done == 0
    assert any(w.code == "stopped-early" for w in report.warnings)


@pytest.mark.parametrize("model", ["./nowhere", "fake://echo?load=memory"])
def test_a_broken_model_counts_the_rows_that_it_was_asked(bench: Bench, model: str) -> None:
    def broken(spec: dict[str, Any]) -> None:
        spec["max_failures"] = 2
        spec["models"].insert(0, {"id": "gone", "model": model, "limit": 2})

    assert bench.run(broken).status == "partial"
    assert bench.run(lambda s: (broken(s), s.update(max_failures=1))).status == "stopped-early"


def test_a_broken_model_counts_no_row_that_was_settled_before(bench: Bench) -> None:
    def broken(spec: dict[str, Any]) -> None:
        spec["max_failures"] = 3
        spec["models"][0]["model"] = "fake://upper?load=memory"

    bench.write(9)
    report = bench.run(broken)
    assert (report.status, report.models["a"].failures) == ("partial", 3)


def test_rows_made_in_two_precisions_are_a_warning(bench: Bench) -> None:
    (segment,) = (bench.folder / "runs" / "r" / "rows" / "a").glob("*.jsonl")
    head, sep, rows = segment.read_text().partition("\n")
    header = {**json.loads(head), "dtype": "bfloat16"}
    segment.write_text(json.dumps(header) + sep + rows)
    bench.write(8)
    (found,) = (w.text for w in bench.run().warnings if w.code == "mixed-conditions")
    assert "6 by fake" in found and "in bfloat16, 2 by fake" in found


def test_the_frozen_spec_says_every_default(bench: Bench) -> None:
    frozen = bench.folder / "runs" / "r" / "spec.yaml"
    for said in ("repeats: 1", "strict_engine: false", "use_fast: true", "no_answer: true"):
        assert said in frozen.read_text()
    before = load_spec(frozen)
    asyncio.run(run_async(frozen, runs=bench.folder / "runs"))
    assert load_spec(frozen) == before


def test_the_frozen_spec_runs_again_and_reuses_all(bench: Bench) -> None:
    frozen = bench.folder / "runs" / "r" / "spec.yaml"
    again: list[Event] = []
    asyncio.run(run_async(frozen, runs=bench.folder / "runs", emit=again.append))
    assert [e.todo for e in again if isinstance(e, ModelPlanned)] == [0]


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], type[BakeoffError], str]] = {
    "stop": (lambda s: s.update(stop="when-decided"), UnsupportedOption, "`stop:`"),
    "race": (lambda s: s.update(race={"block": 20}), UnsupportedOption, "`race:`"),
    "endpoint": (
        lambda s: s["models"].append({"endpoint": "http://h/v1", "model": "m"}),
        UnsupportedOption,
        "endpoint",
    ),
    "task": (lambda s: s.update(task="sumarization"), UnknownName, "did you mean 'summarization'"),
    "metric": (lambda s: s.update(metrics=["ruoge"]), UnknownName, "rouge"),
    "twice": (
        lambda s: s["models"].append({"model": "fake://echo", "id": "a"}),
        InvalidSpec,
        "called 'a'",
    ),
    "baseline column": (
        lambda s: s["models"].append("baseline://column/txet"),
        UnknownName,
        "did you mean 'text'",
    ),
    "fake setting": (
        lambda s: s["models"].append({"id": "x", "model": "fake://echo?dealy=1"}),
        UnknownName,
        "delay",
    ),
    "sampled beams": (
        lambda s: s["models"][0].update(num_beams=4, temperature=0.5),
        InvalidSpec,
        r"models\[0\] \(a\): .*num_beams \(4\) and temperature \(0.5\)",
    ),
    "lengths": (
        lambda s: s["models"][0].update(min_new_tokens=65),
        InvalidSpec,
        r"\(a\): .*min_new_tokens \(65\) is more than max_new_tokens \(64\)",
    ),
    "tokenizer": (
        lambda s: s["models"][0].update(tokenizer="org/name"),
        InvalidSpec,
        "tokenizer 'org/name'.*hf://org/name",
    ),
    "decide.baseline": (
        lambda s: s.update(decide={"baseline": "b"}),
        UnknownName,
        "decide.baseline",
    ),
}


@pytest.mark.parametrize(("change", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_mistakes_start_nothing(
    tmp_path: Path,
    change: Callable[[dict[str, Any]], Any],
    kind: type[BakeoffError],
    said: str,
) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(kind, match=said):
        bench.run(change)
    assert bench.events == []
    assert not (tmp_path / "runs" / "r" / "spec.yaml").exists()
