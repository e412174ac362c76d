"""`bakeoff data FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def data(
    file: Annotated[str, typer.Argument(help="Data file, folder, hf://datasets/..., or -.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", help="csv, tsv, jsonl, json, parquet or datasets.")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="Text encoding, for example cp1252.  [default: UTF-8]"),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="One character between CSV cells, or tab.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Split of a Hub data set, for example test.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", help="Configuration of a Hub data set.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option("--revision", help="Branch, tag or commit of a Hub data set.")
    ] = None,
) -> None:
    """Show what bakeoff sees in a data file.

    Columns with lengths and scripts, the roles that their names suggest, and problems.
    """
    from bakeoff.cli.datashow import print_profile
    from bakeoff.cli.drafting import fitting
    from bakeoff.cli.flagwords import FLAGS
    from bakeoff.core.specs import DatasetSpec
    from bakeoff.datasets import open_dataset
    from bakeoff.datasets.profile import profile
    from bakeoff.jobs.data import local_path
    from bakeoff.jobs.specfile import parse_part

    said = {
        "path": file,
        "format": format,
        "encoding": encoding,
        "delimiter": delimiter,
        "split": split,
        "config": config,
        "revision": revision,
    }
    values = {name: value for name, value in said.items() if value is not None}
    spec = parse_part(DatasetSpec, values, FLAGS)
    local_path(file, Path.cwd())
    dataset = open_dataset(spec, Path.cwd())
    print_profile(profile(dataset), fitting(dataset), json)
