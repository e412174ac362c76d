"""What the page's script gets: models, metrics and rows as plain JSON values."""

from __future__ import annotations

from typing import Any

from bakeoff.core.report import Report
from bakeoff.jobs.page.compact import Clip, PageAnswer, PageRow
from bakeoff.jobs.page.leaderboard import conditions, metric_order


def page_data(report: Report) -> dict[str, Any]:
    """Everything but the rows."""
    order = [m for m in report.ranking if m in report.models]
    order += [m for m in report.models if m not in order]
    return {
        "run": report.name,
        "metric": report.ranked_by,
        "models": [_model(report, model) for model in order],
        "metrics": [_metric(report, name) for name in metric_order(report)],
    }


def _model(report: Report, model: str) -> dict[str, Any]:
    summary = report.models[model]
    latency = summary.latency
    return {
        "id": model,
        "scores": [
            [name, score.value, score.low, score.high]
            for name, score in report.scores.get(model, {}).items()
        ],
        "latency": None
        if latency is None
        else {
            "p50": latency.p50,
            "p95": latency.p95,
            "first": latency.first_token_p50,
            "rows": latency.rows,
            "conditions": conditions(summary),
        },
    }


def _metric(report: Report, name: str) -> dict[str, Any]:
    info = report.metrics.get(name)
    return {
        "name": name,
        "scale": info.scale if info else None,
        "better": info.better if info else None,
        "unit": info.unit if info else "",
    }


def row_data(row: PageRow) -> dict[str, Any]:
    """A row with short keys; what is absent or zero is left out."""
    return _dense(
        {
            "id": row.row,
            "order": row.order,
            "group": row.group,
            "inputs": [[name, *_text(cell)] for name, cell in row.inputs],
            "refs": [_text(cell) for cell in row.references],
            "answers": [_answer(answer) for answer in row.answers],
            "apart": round(row.distance, 4),
            "moreAnswers": row.more_answers,
        }
    )


def _answer(answer: PageAnswer) -> dict[str, Any]:
    return _dense(
        {
            "model": answer.model,
            "text": _text(answer.text) if answer.text else None,
            "error": _text(answer.error) if answer.error else None,
            "count": answer.count,
            "finish": answer.finish,
            "cut": answer.cut,
            "looped": answer.looped,
            "empty": answer.empty,
            "tokens": answer.tokens,
            "seconds": _rounded(answer.seconds),
            "scores": [[name, _rounded(value)] for name, value in answer.scores],
            "extra": list(answer.extra),
        }
    )


def _text(cell: Clip) -> list[Any]:
    return [cell.text, cell.more] if cell.more else [cell.text]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _dense(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if v is not None and v is not False and v != 0}
