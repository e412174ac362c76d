"""What `bakeoff infer` writes: the rows of the data with a column of predictions."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import typer

from bakeoff.cli.building import Finished
from bakeoff.cli.carrying import exit_code
from bakeoff.cli.placing import check_place
from bakeoff.cli.plain import one_line
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.ports import Dataset
from bakeoff.core.specs import RunSpec
from bakeoff.datasets import open_dataset
from bakeoff.jobs.collect import finite
from bakeoff.jobs.csvlines import CsvLines, Writable
from bakeoff.jobs.data import local_path
from bakeoff.jobs.specfile import load_spec
from bakeoff.jobs.tables import cell_text, read_predictions, write_parquet
from bakeoff.store.files.atomic import replacing

Rows = Iterator[dict[str, Any]]


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
        if out is not None and data != "-" and _same(out, Path(data)):
            raise InvalidRequest(f"--out {str(out)!r} is the data itself: choose another name")
        if out is not None:
            check_place(out, overwrite, "--overwrite")
        return cls(out, field, overwrite)

    @property
    def error_field(self) -> str:
        """Column that says why a row has no prediction."""
        return f"{self.field}_error"

    def check(self, spec: RunSpec) -> None:
        """Whether the data has room for the column; not asked of what can be read only once.

        Raises:
            InvalidRequest: a column of that name exists and may not be replaced.
        """
        path = local_path(spec.dataset.path, Path.cwd())
        if spec.dataset.path == "-" or (path is not None and path.is_fifo()):
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


def _same(out: Path, data: Path) -> bool:
    try:
        return out.samefile(data)
    except OSError:  # one of them does not exist
        return False


def write_rows(finished: Finished, output: Output) -> None:
    """Write the file, say what was written, and leave with the exit code that fits."""
    model = next(iter(finished.report.models.values()))
    if not model.done:
        _refuse_nothing(finished)
    dataset = _again(finished)
    output.check_columns(dataset.columns)
    rows = _rows(dataset, finished, output)
    if output.path is None:
        text = codecs.getwriter("utf-8")(sys.stdout.buffer, "backslashreplace")
        _csv(text, output, dataset, rows)
    else:
        with replacing(output.path) as temporary:
            _write(temporary, output, dataset, rows)
    where = str(output.path) if output.path else "standard output"
    sys.stderr.write(f"run: {one_line(str(finished.folder))}\n")
    sys.stderr.write(f"{model.done} of {model.rows} rows predicted, written to {one_line(where)}\n")
    finished.leave()


def _refuse_nothing(finished: Finished) -> NoReturn:
    """A file of failures alone would stand in the way of the next attempt."""
    answers = (answer for row in read_predictions(finished.folder) for answer in row.answers)
    first = next(answers, None)
    said = (first.error if first is not None else None) or "there are no rows"
    sys.stderr.write(f"error: nothing was written, no row has a prediction: {one_line(said)}\n")
    raise typer.Exit(int(exit_code(finished.report)))


def _again(finished: Finished) -> Dataset:
    """The data as the run read it; standard input was kept in the run's folder."""
    frozen = load_spec(finished.folder / "spec.yaml")
    return open_dataset(frozen.dataset, Path.cwd())


def _columns(dataset: Dataset, output: Output) -> list[str]:
    kept = [c for c in dataset.columns if c not in (output.field, output.error_field)]
    return [*kept, output.field, output.error_field]


def _rows(dataset: Dataset, finished: Finished, output: Output) -> Rows:
    answers = (row.answers[0] for row in read_predictions(finished.folder))
    for row, answer in zip(dataset.rows(), answers, strict=True):
        text = answer.text if answer.ok else None
        yield {**row.cells, output.field: text, output.error_field: answer.error}


def _write(path: Path, output: Output, dataset: Dataset, rows: Rows) -> None:
    kind = output.path.suffix.lower() if output.path else ".csv"
    if kind == ".parquet":
        write_parquet(path, _columns(dataset, output), rows)
        return
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if kind == ".csv":
            _csv(file, output, dataset, rows)
            return
        columns = _columns(dataset, output)
        for row in rows:
            line = finite({column: row.get(column) for column in columns})
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def _csv(file: Writable, output: Output, dataset: Dataset, rows: Rows) -> None:
    columns = _columns(dataset, output)
    lines = CsvLines(file)
    lines.write(columns)
    for row in rows:
        lines.write(cell_text(row.get(column)) or "" for column in columns)
