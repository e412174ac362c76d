"""predictions.parquet, predictions.csv and scores.parquet: one line a row, model and repeat."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.core.report import ComparedAnswer, ComparedRow, RowScore
from bakeoff.store.files.atomic import replacing

BATCH = 2000

_PREDICTIONS = pa.schema(
    [
        ("row", pa.string()),
        ("repeat", pa.int32()),
        ("model", pa.string()),
        ("ok", pa.bool_()),
        ("prediction", pa.string()),
        ("error", pa.string()),
        ("finish", pa.string()),
        ("completion_tokens", pa.int64()),
        ("tokens_cut", pa.int64()),
        ("looped", pa.bool_()),
        ("seconds", pa.float64()),
        ("group", pa.string()),
        ("inputs", pa.string()),
        ("references", pa.list_(pa.string())),
        ("scores", pa.string()),
        ("extra", pa.string()),
    ]
)
_SCORES = pa.schema(
    [
        ("model", pa.string()),
        ("metric", pa.string()),
        ("row", pa.string()),
        ("repeat", pa.int32()),
        ("value", pa.float64()),
        ("reason", pa.string()),
    ]
)


def write_predictions(folder: Path, rows: Iterable[ComparedRow]) -> None:
    """Both files, in one pass over the rows."""
    names = _PREDICTIONS.names
    with (
        replacing(folder / "predictions.parquet") as columns,
        replacing(folder / "predictions.csv") as text,
        pq.ParquetWriter(columns, _PREDICTIONS, compression="zstd") as parquet,
        text.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        plain = csv.DictWriter(file, names, lineterminator="\n")
        plain.writeheader()
        lines = (line for row in rows for line in _lines(row))
        while batch := list(islice(lines, BATCH)):
            parquet.write_table(pa.Table.from_pylist(batch, schema=_PREDICTIONS))
            plain.writerows(_flat(line) for line in batch)


def _lines(row: ComparedRow) -> Iterator[dict[str, Any]]:
    for answer in row.answers:
        yield {
            "row": _clean(row.row),
            "repeat": answer.repeat,
            "model": answer.model,
            "ok": answer.ok,
            "prediction": _clean(answer.text),
            "error": _clean(answer.error),
            "finish": answer.finish,
            "completion_tokens": answer.completion_tokens,
            "tokens_cut": answer.cut,
            "looped": answer.looped,
            "seconds": answer.seconds,
            "group": _clean(row.group),
            "inputs": json.dumps(_clean_all(row.inputs), ensure_ascii=False),
            "references": [_clean(r) for r in row.references],
            "scores": json.dumps(answer.scores, allow_nan=False),
            "extra": _clean(json.dumps(answer.extra, ensure_ascii=False, allow_nan=False)),
        }


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "references": json.dumps(line["references"], ensure_ascii=False)}


def _clean(text: str | None) -> str | None:
    """Lone surrogates, which no UTF-8 file can hold, as U+FFFD."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _clean_all(values: dict[str, str]) -> dict[str, str]:
    return {k: v.encode("utf-8", "replace").decode() for k, v in values.items()}


def write_scores(folder: Path, scores: Iterable[RowScore]) -> None:
    """All per-row scores, long."""
    values = iter(scores)
    with (
        replacing(folder / "scores.parquet") as path,
        pq.ParquetWriter(path, _SCORES, compression="zstd") as parquet,
    ):
        while batch := list(islice(values, BATCH * 10)):
            lines = [score.model_dump() for score in batch]
            for line in lines:
                line["row"] = _clean(line["row"])
            parquet.write_table(pa.Table.from_pylist(lines, schema=_SCORES))


def read_predictions(folder: Path) -> Iterator[ComparedRow]:
    """The rows of a finished run, answers side by side again."""
    held: ComparedRow | None = None
    with pq.ParquetFile(folder / "predictions.parquet") as file:
        for batch in file.iter_batches(BATCH):
            for line in batch.to_pylist():
                answer = _answer(line)
                if held is not None and held.row == line["row"]:
                    held = held.model_copy(update={"answers": (*held.answers, answer)})
                    continue
                if held is not None:
                    yield held
                held = _row(line, answer)
    if held is not None:
        yield held


def _answer(line: dict[str, Any]) -> ComparedAnswer:
    return ComparedAnswer.model_validate(
        {
            "model": line["model"],
            "repeat": line["repeat"],
            "ok": line["ok"],
            "text": line["prediction"],
            "error": line["error"],
            "finish": line["finish"],
            "cut": line["tokens_cut"],
            "looped": line["looped"],
            "empty": bool(line["ok"]) and not (line["prediction"] or "").strip(),
            "completion_tokens": line["completion_tokens"],
            "seconds": line["seconds"],
            "scores": json.loads(line["scores"]),
            "extra": json.loads(line["extra"]),
        }
    )


def _row(line: dict[str, Any], answer: ComparedAnswer) -> ComparedRow:
    return ComparedRow.model_validate(
        {
            "row": line["row"],
            "group": line["group"],
            "inputs": json.loads(line["inputs"]),
            "references": tuple(line["references"]),
            "answers": (answer,),
        }
    )
