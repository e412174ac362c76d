"""A report that holds every payload in every field that can hold text."""

from __future__ import annotations

from bakeoff.core.report import (
    ComparedAnswer,
    ComparedRow,
    DataSummary,
    MetricSummary,
    Pair,
    RaceEvent,
    Report,
    Score,
    Verdict,
    Warning,
)
from tests.e2e.page.payloads import PAYLOADS
from tests.unit.page.sample import sample_report


def attacked_row(index: int, payload: str) -> ComparedRow:
    """One row that is made of a payload."""
    good = ComparedAnswer(
        model="one",
        ok=True,
        text=f"{payload} said",
        finish=payload,
        scores={payload: 0.1 + index / 1000, "f1": 0.5},
        extra={payload: payload},
    )
    answers = (
        good,
        good.model_copy(update={"repeat": 1, "text": payload}),
        ComparedAnswer(model="two", ok=True, text=payload, scores={"f1": index / 100}),
        ComparedAnswer(model="three", ok=False, error=f"engine_failed: {payload}"),
    )
    return ComparedRow(
        row=f"{index} {payload}",
        group=payload,
        inputs={payload: payload, "source": f"before {payload} after"},
        references=(payload, f"the {payload}"),
        answers=answers,
    )


def attacked_report() -> Report:
    """A report that is made of all payloads."""
    everything = " ".join(PAYLOADS)
    base = sample_report()
    model = base.models["smol"].model_copy(
        update={
            "reference": everything,
            "identity": everything,
            "engine": everything,
            "version": everything,
            "device": everything,
            "dtype": f"int8 {everything}",
            "why": everything,
            "prefix": everything,
            "generation": {p: p for p in PAYLOADS},
            "origins": {p: p for p in PAYLOADS},
            "failure_codes": {p: 1 for p in PAYLOADS},
        }
    )
    names = [*PAYLOADS, "f1"]
    score = Score(value=0.4, low=0.3, high=0.5, method=everything, n=3, reasons={everything: 2})
    return base.model_copy(
        update={
            "name": everything,
            "task": everything,
            "created": everything,
            "data": DataSummary(
                name=everything,
                hash=everything,
                rows=70,
                columns=PAYLOADS,
                roles={p: [p] for p in PAYLOADS},
                groups=4,
            ),
            "models": {"one": model, "two": model, "three": model},
            "metrics": {p: MetricSummary(metric=p, unit=p, signature=p) for p in names},
            "scores": {m: dict.fromkeys(names, score) for m in ("one", "two")},
            "ranking": ("one", "two"),
            "ranked_by": "f1",
            "pairs": tuple(
                Pair(a="one", b="two", metric=p, difference=0.1, low=0.0, high=0.2, method=p)
                for p in PAYLOADS
            ),
            "race": tuple(RaceEvent(at=3, dropped=p, evidence=p) for p in PAYLOADS),
            "verdict": Verdict(kind="better", sentence=everything, metric=everything, margin=1),
            "warnings": tuple(Warning(code=p, text=p, rows=1) for p in PAYLOADS),
            "versions": {p: p for p in PAYLOADS},
        }
    )
