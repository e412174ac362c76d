"""Which rows the page shows: every kind of trouble, the disagreements, a sample; bounded."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from bakeoff.core.report import ComparedAnswer, ComparedRow
from bakeoff.jobs.page.choose import choose_rows
from bakeoff.jobs.page.compact import compact, text_distance

Changes = dict[str, object]


def _row(number: int, *answers: ComparedAnswer, text: str = "same") -> ComparedRow:
    said = answers or tuple(
        ComparedAnswer(model=m, ok=True, text=text, scores={"f1": 0.5}) for m in ("a", "b")
    )
    return ComparedRow(row=f"r{number}", inputs={"source": f"input {number}"}, answers=said)


def _scored(number: int, a: float | None, b: float | None) -> ComparedRow:
    values = {"a": a, "b": b}
    answers = [
        ComparedAnswer(model=m, ok=True, text="same", scores={"f1": v}) for m, v in values.items()
    ]
    return _row(number, *answers)


def test_small_runs_are_shown_whole_and_in_order() -> None:
    rows, choice = choose_rows((_row(i) for i in range(50)), limit=50)
    assert [r.row for r in rows] == [f"r{i}" for i in range(50)]
    assert (choice.total, choice.shown) == (50, 50)


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("failed", ComparedAnswer(model="a", ok=False, error="engine_failed: no memory")),
        ("truncated", ComparedAnswer(model="a", ok=True, text="t", cut=7)),
        ("ran_to_limit", ComparedAnswer(model="a", ok=True, text="t", finish="length")),
        ("looped", ComparedAnswer(model="a", ok=True, text="t t t", looped=True)),
        ("empty", ComparedAnswer(model="a", ok=True, text="", empty=True)),
    ],
)
def test_a_single_odd_row_in_many_is_shown(kind: str, odd: ComparedAnswer) -> None:
    rows, choice = choose_rows(
        (_row(i, odd) if i == 777 else _row(i) for i in range(2_000)), limit=10
    )
    assert "r777" in {r.row for r in rows}
    assert choice.found[kind] == 1
    assert choice.kept["special"] == 1
    assert len(rows) == 10


def test_every_kind_of_failure_is_shown_though_one_kind_floods_the_run() -> None:
    rare = {500: "bad_row: no source", 900: "engine_failed: probability is NaN", 901: "odd"}

    def run() -> Iterator[ComparedRow]:
        for i in range(1_000):
            error = rare.get(i, f"prompt_too_long: {i + 4096} tokens, window 4096")
            model = "a" if i % 2 else "b"
            yield _row(i, ComparedAnswer(model=model, ok=False, error=error))

    rows, choice = choose_rows(run(), limit=20)
    shown = {r.row for r in rows}
    assert {"r500", "r900", "r901"} <= shown
    floods = [a.model for r in rows for a in r.answers if a.error and "too_long" in a.error.text]
    assert {"a", "b"} == set(floods)
    assert choice.found["failed"] == 1_000
    assert len(rows) <= 20


def test_largest_disagreements_come_before_the_sample() -> None:
    def run() -> Iterator[ComparedRow]:
        for i in range(1_000):
            yield _scored(i, 0.5, 0.5 + (i % 100) / 1_000 if i % 250 else 1.0)

    rows, choice = choose_rows(run(), limit=10, metric="f1")
    assert {"r0", "r250", "r500", "r750"} <= {r.row for r in rows}
    assert choice.metric == "f1"
    assert choice.kept == {"disagreement": 8, "sample": 2}


def test_without_scores_the_words_of_the_answers_decide() -> None:
    def run() -> Iterator[ComparedRow]:
        for i in range(300):
            texts = ("yes it is", "no never") if i == 42 else ("yes it is", "yes it was")
            yield _row(
                i,
                *(
                    ComparedAnswer(model=m, ok=True, text=t)
                    for m, t in zip("ab", texts, strict=True)
                ),
            )

    rows, _ = choose_rows(run(), limit=2, metric="f1")
    assert "r42" in {r.row for r in rows}


def test_the_sample_depends_on_seed_and_ids_not_on_order() -> None:
    def shown(numbers: list[int], seed: int) -> set[str]:
        return {r.row for r in choose_rows((_row(i) for i in numbers), 20, seed)[0]}

    numbers = list(range(500))
    assert shown(numbers, 1) == shown(numbers[::-1], 1)
    assert shown(numbers, 1) != shown(numbers, 2)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        choose_rows([], limit=-1)
    assert choose_rows([_row(1)], limit=0)[0] == []


def test_memory_is_bounded_by_the_limit_whatever_the_rows_hold() -> None:
    def run() -> Iterator[ComparedRow]:
        for i in range(400):
            odd = ComparedAnswer(model="a", ok=True, text=f"{i} " + "x" * 400_000, cut=1)
            yield _row(i, odd)

    tracemalloc.start()
    rows, choice = choose_rows(run(), limit=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert choice.total == 400 and len(rows) == 20
    assert peak < 8_000_000
    cell = rows[0].answers[0].text
    assert cell is not None and cell.more > 390_000


def test_repeats_become_distinct_answers_with_counts_and_mean_scores() -> None:
    said = [("yes", 1.0), ("no", 0.0), ("yes", 0.5)]
    answers = [
        ComparedAnswer(model="a", repeat=i, ok=True, text=t, scores={"f1": v})
        for i, (t, v) in enumerate(said)
    ]
    row = compact(_row(1, *answers))
    assert [(a.text and a.text.text, a.count, dict(a.scores)) for a in row.answers] == [
        ("yes", 2, {"f1": 0.75}),
        ("no", 1, {"f1": 0.0}),
    ]


def test_hundreds_of_distinct_repeats_are_cut_and_counted() -> None:
    answers = [ComparedAnswer(model="a", repeat=i, ok=True, text=f"t{i}") for i in range(300)]
    row = compact(_row(1, *answers))
    assert len(row.answers) == 20
    assert row.more_answers == 280


@pytest.mark.parametrize(
    ("texts", "low", "high"),
    [
        (("a b c", "a b c"), 0.0, 0.0),
        (("a b", "c d"), 1.0, 1.0),
        (("会议改到下午三点", "会议改到下午两点"), 0.1, 0.5),
        (("", ""), 0.0, 0.0),
        (("x",), 0.0, 0.0),
    ],
)
def test_text_distance(texts: tuple[str, ...], low: float, high: float) -> None:
    answers = [ComparedAnswer(model=m, ok=True, text=t) for m, t in zip("ab", texts, strict=False)]
    assert low <= text_distance(answers) <= high
