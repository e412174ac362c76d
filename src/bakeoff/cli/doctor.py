"""`bakeoff doctor MODEL`."""

from __future__ import annotations

from typing import Annotated

import typer

ModelArgument = Annotated[
    str, typer.Argument(help="Model reference: hf://org/name, a folder, a .gguf file.")
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", help="How it is loaded: NAME=VALUE, for example torch_dtype=float16."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings count as problems.")]
QuickOption = Annotated[bool, typer.Option("--quick", "--no-speed", help="Measure no speed.")]
StaticOption = Annotated[
    bool, typer.Option("--static", help="Look at the files alone; load no weights.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads for computing.")
]


def doctor(
    model: ModelArgument,
    option: OptionOption = None,
    json: JsonOption = False,
    strict: StrictOption = False,
    quick: QuickOption = False,
    static: StaticOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Say what a model is, what is wrong with it, and whether each engine runs it right.

    Ends with status 6 where a problem is found (with --strict: a warning too), else with 0.
    """
    import sys

    from bakeoff.cli.doctorshow import print_diagnosis, stages
    from bakeoff.cli.loading import reference
    from bakeoff.core.codes import ExitCode
    from bakeoff.engines.options import EngineOptions
    from bakeoff.settings import Settings

    ref = reference(model, option or ())
    from bakeoff.engines.doctor.examine import DoctorOptions, diagnose

    options = DoctorOptions(
        load=not static,
        speed=not quick,
        engine=EngineOptions(threads=threads or Settings.read().threads),
    )
    found = diagnose(ref, options, stages(shown=not json and sys.stderr.isatty()))
    print_diagnosis(found, json)
    if found.status == "problem" or (strict and found.status == "warning"):
        raise typer.Exit(int(ExitCode.UNHEALTHY))
