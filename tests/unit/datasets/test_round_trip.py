"""Any table that the csv module writes is read back cell by cell, in any dialect and encoding."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bakeoff.core.canonical import digest
from bakeoff.core.errors import BadDataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset

CELLS = st.text(
    st.one_of(
        st.sampled_from('",;|\t\n\r \ufeff\u2028\x85\x1c"é中😀'),
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
    ),
    max_size=12,
)
# QUOTE_MINIMAL quotes only the line breaks that it writes itself, so there it has to write both.
STYLES = (
    (csv.QUOTE_ALL, "\n"),
    (csv.QUOTE_ALL, "\r\n"),
    (csv.QUOTE_ALL, "\r"),
    (csv.QUOTE_MINIMAL, "\r\n"),
)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8)
)


def open_and_read(spec: DatasetSpec, folder: Path) -> list[list[str]]:
    """The cells; leaves out tables that look as though two lone quotes hid rows."""
    try:
        return [list(row.cells.values()) for row in open_dataset(spec, folder).rows()]
    except BadDataset as error:
        assume("hide the rows" not in error.message)
        raise


@settings(max_examples=200, deadline=None)
@given(
    table=TABLES,
    delimiter=st.sampled_from(",;\t|"),
    style=st.sampled_from(STYLES),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_what_is_written_is_read(
    table: list[list[str]], delimiter: str, style: tuple[int, str], encoding: str
) -> None:
    names = [f"c{place}" for place in range(len(table[0]))]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=style[0], lineterminator=style[1]).writerows(
        [names, *table]
    )
    spec = DatasetSpec(path="t.csv", delimiter=delimiter)
    with TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_bytes(out.getvalue().encode(encoding))
        assert open_and_read(spec, Path(folder)) == table
        dataset = open_dataset(spec, Path(folder))
        assert [row.index for row in dataset.rows()] == list(range(len(table)))
        assert dataset.content_hash() == digest([names, *table])


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(
        st.lists(st.text('ab ,;|\t"\n', max_size=8), min_size=2, max_size=2),
        min_size=1,
        max_size=6,
    ),
    delimiter=st.sampled_from(",;\t|"),
)
def test_the_delimiter_is_found_where_all_cells_are_quoted(
    cells: list[list[str]], delimiter: str
) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["p", "q"], *cells])
    with TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text(out.getvalue(), "utf-8", newline="")
        assert open_and_read(DatasetSpec(path="t.csv"), Path(folder)) == cells


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(st.text('ab",\n\r;', max_size=10), min_size=1, max_size=6))
def test_any_text_is_read_or_refused_and_never_shortened(lines: list[str]) -> None:
    """What csv reads strictly, with equal widths, is what is read here; else a refusal."""
    text = "h,k\n" + "\n".join(lines)
    with TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text(text, "utf-8", newline="")
        spec = DatasetSpec(path="t.csv", delimiter=",")
        try:
            strict = [r for r in csv.reader(io.StringIO(text, newline=""), strict=True) if r]
        except csv.Error:
            strict = []
        try:
            rows = [list(r.cells.values()) for r in open_dataset(spec, Path(folder)).rows()]
        except BadDataset:
            return
        assert rows == strict[1:]
        assert all(len(row) == 2 for row in rows)
