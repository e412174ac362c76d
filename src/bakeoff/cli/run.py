"""`bakeoff run SPEC`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SpecArgument = Annotated[Path, typer.Argument(help="The spec, a YAML file.", show_default=False)]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Make all rows anew.")]
RunsOption = Annotated[
    Path | None, typer.Option("--runs", help="Folder of the run folders.  [default: runs]")
]
WaitOption = Annotated[
    float, typer.Option("--wait", min=0, help="Seconds to wait for a process that holds the run.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on standard output, no progress.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="Only the first rows of the data set.")
]
FailuresOption = Annotated[
    int | None, typer.Option("--max-failures", min=0, help="Stop after more failed rows than this.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict-engine", help="Do not reuse rows of another engine or version.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads for computing.")
]
TokensOption = Annotated[
    int | None, typer.Option("--batch-tokens", min=1, help="Most tokens in one batch.")
]
BatchOption = Annotated[
    int | None, typer.Option("--max-batch", min=1, help="Most rows in a batch.")
]
LatencyOption = Annotated[
    int, typer.Option("--latency-rows", min=0, help="Rows that are timed one at a time; 0: none.")
]


def run(
    spec: SpecArgument,
    fresh: FreshOption = False,
    runs: RunsOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    quiet: QuietOption = False,
    limit: LimitOption = None,
    max_failures: FailuresOption = None,
    strict_engine: StrictOption = False,
    threads: ThreadsOption = None,
    batch_tokens: TokensOption = None,
    max_batch: BatchOption = None,
    latency_rows: LatencyOption = 20,
) -> None:
    """Run every model of a spec on every row, then rank them.

    The same command resumes, and reuses every row that is still right.
    """
    from bakeoff.cli.carrying import Carrying, carry_out
    from bakeoff.engines.options import EngineOptions
    from bakeoff.jobs.specfile import named
    from bakeoff.wiring import read_spec

    parsed, base = read_spec(spec)
    changes: dict[str, object] = {}
    if max_failures is not None:
        changes["max_failures"] = max_failures
    if strict_engine:
        changes["strict_engine"] = True
    if limit is not None:
        changes["dataset"] = parsed.dataset.model_copy(update={"limit": limit})
    flags = Carrying(
        base=base,
        runs=runs,
        fresh=fresh,
        wait=wait,
        json=json,
        quiet=quiet,
        engine=EngineOptions(batch_tokens, max_batch, threads),
        latency_rows=latency_rows,
    )
    with named(spec):
        carry_out(parsed.model_copy(update=changes), flags)
