"""`bakeoff serve MODEL...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelsArgument = Annotated[
    list[str], typer.Argument(help="Model references: hf://org/name, a folder, a .gguf file.")
]
HostOption = Annotated[str, typer.Option("--host", help="Address to listen on.")]
PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")
]
NameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--name", "--alias", help="A further name: NAME, or NAME=MODEL where there are several."
    ),
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option("--api-key", envvar="BAKEOFF_API_KEY", help="A key that clients must send."),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option("--api-key-file", help="Keys, one a line; hidden from `ps`. Needs mode 0600."),
]
NoAuthOption = Annotated[
    bool, typer.Option("--no-auth", help="Ask for no key, even from other machines.")
]
OriginOption = Annotated[
    list[str] | None, typer.Option("--cors-origin", help="A web page that may send requests.")
]
AllowedHostOption = Annotated[
    list[str] | None, typer.Option("--allowed-host", help="A further name of this server.")
]
MaxRunningOption = Annotated[
    int, typer.Option("--max-running", min=1, help="Most requests at each model's engine.")
]
MaxQueueOption = Annotated[
    int, typer.Option("--max-queue", min=0, help="Most that wait at each; more are refused.")
]
DeadlineOption = Annotated[
    float, typer.Option("--deadline", min=0.0, help="Seconds a request may take; 0: no limit.")
]
DrainOption = Annotated[
    float, typer.Option("--drain", min=0.0, help="Seconds for running requests at the end.")
]
EngineOption = Annotated[str, typer.Option("--engine", help="What runs the models.")]
DtypeOption = Annotated[str, typer.Option("--dtype", help="Precision of the weights.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
LengthOption = Annotated[
    int | None,
    typer.Option("--max-model-len", min=1, help="Tokens read at most, below the model's own."),
]
FourOption = Annotated[
    bool, typer.Option("--load-in-4bit", help="Quantise on loading: less memory, slower.")
]
EightOption = Annotated[
    bool, typer.Option("--load-in-8bit", help="Quantise on loading: less memory, slower.")
]
AdapterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--adapter",
        help="PEFT weights laid over the model. NAME=PATH serves the model with them under that "
        "name, beside the model itself; it takes the memory of a whole model.",
    ),
]
OptionOption = Annotated[
    list[str] | None, typer.Option("--option", help="How models are loaded: NAME=VALUE.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads for computing.")
]
LogPromptsOption = Annotated[
    bool, typer.Option("--log-prompts", help="Write prompts to the log; else it has none.")
]
PinOption = Annotated[
    list[str] | None,
    typer.Option("--pin", help="A model that is loaded at the start and never unloaded."),
]
IdleOption = Annotated[
    float,
    typer.Option("--idle-unload", min=0.0, help="Seconds until an idle model goes; 0: never."),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        help="Most memory for all models, for example 8GiB; the one idle longest makes room.",
    ),
]
ShareOption = Annotated[
    bool, typer.Option("--share-cache", help="Keys share what was computed for prompts.")
]
LoopsOption = Annotated[
    int | None,
    typer.Option(
        "--stop-loops", min=2, help="End texts in which a piece stands so often in a row."
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check/--no-check", help="Look at the models' files in the background.")
]
InProcessOption = Annotated[
    bool | None,
    typer.Option(
        "--in-process/--own-process",
        help="Run models in this process, or each in one of its own, which may die and is started "
        "again; the default is the latter for models that compute.",
        show_default=False,
    ),
]


def serve(
    models: ModelsArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    name: NameOption = None,
    api_key: KeyOption = None,
    api_key_file: KeyFileOption = None,
    no_auth: NoAuthOption = False,
    cors_origin: OriginOption = None,
    allowed_host: AllowedHostOption = None,
    max_running: MaxRunningOption = 64,
    max_queue: MaxQueueOption = 512,
    deadline: DeadlineOption = 600.0,
    drain: DrainOption = 30.0,
    engine: EngineOption = "auto",
    dtype: DtypeOption = "auto",
    device: DeviceOption = "auto",
    max_model_len: LengthOption = None,
    load_in_4bit: FourOption = False,
    load_in_8bit: EightOption = False,
    adapter: AdapterOption = None,
    option: OptionOption = None,
    threads: ThreadsOption = None,
    log_prompts: LogPromptsOption = False,
    pin: PinOption = None,
    idle_unload: IdleOption = 0.0,
    max_memory: MemoryOption = None,
    share_cache: ShareOption = False,
    stop_loops: LoopsOption = None,
    check: CheckOption = True,
    in_process: InProcessOption = None,
) -> None:
    """Serve models over HTTP to editors, clients and harnesses, until Ctrl-C.

    Speaks the wire formats of OpenAI, llama.cpp, Ollama and text-generation-inference. Other
    machines get in only with a key, or with --no-auth. The first model is loaded at the start,
    the others when they are first asked for.
    """
    said = dict(locals())  # the flags by their names, as `Flags` has them
    from bakeoff.cli.servestart import Flags, carry_out

    carry_out(Flags(**said))
