"""What `bakeoff infer` writes: the rows of the data with a column of predictions."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bakeoff.cli.building import Finished
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.ports import Dataset
from bakeoff.core.specs import RunSpec
from bakeoff.datasets import open_dataset
from bakeoff.jobs.tables import read_predictions
from bakeoff.store.files.atomic import replacing

_KINDS = (".csv", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Output:
    """Where the rows go.

    Attributes:
        path: file to write, or None for CSV on standard output.
        field: column of the predictions; failures are explained in `<field>_error`.
        overwrite: whether a column or file of that name may be replaced.
    """

    path: Path | None
    field: str
    overwrite: bool

    @classmethod
    def choose(cls, data: str, out: Path | None, field: str, overwrite: bool) -> Output:
        """Check the flags.

        Raises:
            InvalidRequest: the ending is unknown, the file exists, or the name is blank.
        """
        if not field.strip():
            raise InvalidRequest("--output-field is blank: name a column, for example predictions")
        if out is not None and out.suffix.lower() not in _KINDS:
            raise InvalidRequest(f"--out {str(out)!r}: the name must end in {', '.join(_KINDS)}")
        if out is not None and data != "-" and out.exists() and Path(data).exists():
            if out.samefile(data):
                raise InvalidRequest(f"--out {str(out)!r} is the data itself: choose another name")
        if out is not None and out.exists() and not overwrite:
            raise InvalidRequest(f"{out} exists: choose another name or pass --overwrite")
        return cls(out, field, overwrite)

    @property
    def error_field(self) -> str:
        """Column that says why a row has no prediction."""
        return f"{self.field}_error"

    def check(self, spec: RunSpec) -> None:
        """Whether the data has room for the column; not asked of standard input.

        Raises:
            InvalidRequest: a column of that name exists and may not be replaced.
        """
        if spec.dataset.path == "-":
            return
        self.check_columns(open_dataset(spec.dataset, Path.cwd()).columns)

    def check_columns(self, columns: tuple[str, ...]) -> None:
        """See `check`."""
        taken = [name for name in (self.field, self.error_field) if name in columns]
        if taken and not self.overwrite:
            raise InvalidRequest(
                f"the data has a column {taken[0]!r}: choose another --output-field or pass "
                "--overwrite"
            )


def write_rows(finished: Finished, output: Output) -> None:
    """Write the file, say what was written, and leave with the exit code that fits."""
    dataset = _again(finished)
    output.check_columns(dataset.columns)
    rows = _rows(dataset, finished, output)
    if output.path is None:
        _csv(sys.stdout, _columns(dataset, output), rows)
    else:
        with replacing(output.path) as temporary:
            _write(temporary, output.path.suffix.lower(), _columns(dataset, output), rows)
    model = next(iter(finished.report.models.values()))
    where = str(output.path) if output.path else "standard output"
    sys.stderr.write(f"{model.done} of {model.rows} rows predicted, written to {where}\n")
    finished.leave()


def _again(finished: Finished) -> Dataset:
    """The data as the run read it; standard input was kept in the run's folder."""
    from bakeoff.jobs.specfile import load_spec

    frozen = load_spec(finished.folder / "spec.yaml")
    return open_dataset(frozen.dataset, Path.cwd())


def _columns(dataset: Dataset, output: Output) -> list[str]:
    kept = [c for c in dataset.columns if c not in (output.field, output.error_field)]
    return [*kept, output.field, output.error_field]


def _rows(dataset: Dataset, finished: Finished, output: Output) -> Iterator[dict[str, Any]]:
    answers = (row.answers[0] for row in read_predictions(finished.folder))
    for row, answer in zip(dataset.rows(), answers, strict=True):
        text = answer.text if answer.ok else None
        yield {**row.cells, output.field: text, output.error_field: answer.error}


def _write(path: Path, kind: str, columns: list[str], rows: Iterator[dict[str, Any]]) -> None:
    if kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([{c: r.get(c) for c in columns} for r in rows]), path)
        return
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if kind == ".jsonl":
            for row in rows:
                line = {c: row.get(c) for c in columns}
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        else:
            _csv(file, columns, rows)


def _csv(file: IO[str], columns: list[str], rows: Iterator[dict[str, Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
