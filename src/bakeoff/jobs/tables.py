"""predictions.parquet, predictions.csv and scores.parquet: one line a row, model and repeat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.core.errors import RunDamaged
from bakeoff.core.report import ComparedAnswer, ComparedRow, RowScore
from bakeoff.jobs.csvlines import CsvLines
from bakeoff.store.files.atomic import replacing

BATCH = 2000
_LONE = re.compile("[\ud800-\udfff]")
_UNREADABLE = (OSError, pa.ArrowException, LookupError, TypeError, ValueError, RecursionError)

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
        plain = CsvLines(file)
        plain.write(names)
        lines = (line for row in rows for line in _lines(row))
        while batch := list(islice(lines, BATCH)):
            parquet.write_table(pa.Table.from_pylist(batch, schema=_PREDICTIONS))
            for line in map(_flat, batch):
                plain.write(line[name] for name in names)


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
    return None if text is None else _LONE.sub("\ufffd", text)


def _clean_all(values: dict[str, str]) -> dict[str, str]:
    return {_LONE.sub("\ufffd", k): _LONE.sub("\ufffd", v) for k, v in values.items()}


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
    """The rows of a finished run, answers side by side again.

    Raises:
        RunDamaged: predictions.parquet is missing, or is not what a run wrote.
    """
    path = folder / "predictions.parquet"
    try:
        yield from _compared(path)
    except _UNREADABLE as problem:
        said = " ".join(str(problem).split())[:200]
        raise RunDamaged(
            f"{path} cannot be read ({said}): the same `bakeoff run` writes it again"
        ) from problem


def _compared(path: Path) -> Iterator[ComparedRow]:
    held: ComparedRow | None = None
    seen: set[tuple[str, int]] = set()
    for line in _stored_lines(path):
        answer = _answer(line)
        place = (answer.model, answer.repeat)
        # two ids may look alike here, where lone surrogates are replaced
        if held is not None and held.row == line["row"] and place not in seen:
            held = held.model_copy(update={"answers": (*held.answers, answer)})
            seen.add(place)
            continue
        if held is not None:
            yield held
        held, seen = _row(line, answer), {place}
    if held is not None:
        yield held


def _stored_lines(path: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            yield from batch.to_pylist()


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


def write_parquet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows of any values as a Parquet file; a column of mixed kinds becomes text."""
    values: dict[str, list[Any]] = {column: [] for column in columns}
    for row in rows:
        for column, kept in values.items():
            kept.append(row.get(column))
    arrays = [_array(kept) for kept in values.values()]
    pq.write_table(pa.Table.from_arrays(arrays, [_LONE.sub("\ufffd", c) for c in columns]), path)


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):
        return pa.array([_clean(cell_text(value)) for value in values], pa.string())


def cell_text(value: Any) -> str | None:
    """A cell as text: text as it is, other values as JSON; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
