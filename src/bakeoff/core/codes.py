"""Every stable code in one place: errors, exit codes, HTTP statuses and finish reasons.

docs/errors.md is generated from this file; a test compares them.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit status of the command line."""

    OK = 0
    """Finished; every row that was asked for has a result."""
    RUN_FAILED = 1
    """The run could not be finished (a model did not load, every row failed, ...)."""
    USAGE = 2
    """The command, the spec or the data is wrong; nothing was started."""
    PARTIAL = 3
    """Finished, but some rows are failures; the report counts them."""
    STOPPED_EARLY = 4
    """Stopped by --max-failures; the report covers what was done."""
    BUSY = 5
    """Another process works on the same run folder."""
    UNHEALTHY = 6
    """`bakeoff doctor` found a problem (with --strict: or a warning)."""
    INTERNAL = 70
    """A fault in bakeoff itself; the log holds the traceback."""
    INTERRUPTED = 130
    """Ended by Ctrl-C or SIGTERM; the same command resumes."""


class FinishReason(StrEnum):
    """Why a generation ended."""

    STOP = "stop"
    """End-of-sequence token or stop string."""
    LENGTH = "length"
    """The limit on new tokens, or the model's window, was reached."""
    CANCELLED = "cancelled"
    """The caller went away."""


class CodeInfo(NamedTuple):
    """What an error code means.

    Attributes:
        exit: exit status of the command line.
        http: status of the HTTP planes.
        meaning: one sentence for docs/errors.md.
    """

    exit: ExitCode
    http: int
    meaning: str


CODES: dict[str, CodeInfo] = {
    "invalid_request": CodeInfo(ExitCode.USAGE, 400, "A value in a request is wrong."),
    "invalid_spec": CodeInfo(ExitCode.USAGE, 422, "A spec has an unknown key or a wrong value."),
    "unknown_name": CodeInfo(
        ExitCode.USAGE, 404, "A name is not in a registry, a file or a data set."
    ),
    "unsupported_option": CodeInfo(
        ExitCode.USAGE, 400, "An option that the chosen engine or model cannot honour."
    ),
    "prompt_too_long": CodeInfo(
        ExitCode.PARTIAL, 400, "A prompt is longer than the model's window; both numbers are named."
    ),
    "template_failed": CodeInfo(
        ExitCode.PARTIAL, 400, "A prompt template or chat template refused the row."
    ),
    "bad_dataset": CodeInfo(
        ExitCode.USAGE, 422, "A data file cannot be read; file, line and column are named."
    ),
    "bad_row": CodeInfo(ExitCode.PARTIAL, 422, "A row lacks what the task needs."),
    "model_not_found": CodeInfo(
        ExitCode.RUN_FAILED, 404, "A model or a revision of it does not exist."
    ),
    "model_access_denied": CodeInfo(
        ExitCode.RUN_FAILED, 403, "A model is gated or private and the token does not open it."
    ),
    "model_load_failed": CodeInfo(
        ExitCode.RUN_FAILED, 502, "A model's files are there but cannot be loaded."
    ),
    "hub_unreachable": CodeInfo(
        ExitCode.RUN_FAILED, 503, "The Hub cannot be reached and the files are not in the cache."
    ),
    "out_of_memory": CodeInfo(
        ExitCode.RUN_FAILED, 503, "The device has too little memory, even for one row."
    ),
    "engine_failed": CodeInfo(
        ExitCode.PARTIAL, 500, "The engine raised while it computed a row; the cause is kept."
    ),
    "engine_closed": CodeInfo(ExitCode.RUN_FAILED, 503, "The engine was closed."),
    "engine_lost": CodeInfo(
        ExitCode.RUN_FAILED, 503, "The process that ran the engine ended; it is started again."
    ),
    "deadline_exceeded": CodeInfo(ExitCode.PARTIAL, 504, "A row took longer than its deadline."),
    "cancelled": CodeInfo(ExitCode.INTERRUPTED, 499, "The caller cancelled."),
    "dependency_missing": CodeInfo(
        ExitCode.USAGE, 501, "An optional part is not installed; the command to type is named."
    ),
    "install_failed": CodeInfo(
        ExitCode.RUN_FAILED, 500, "The tools of an engine could not be installed; what pip said."
    ),
    "run_locked": CodeInfo(ExitCode.BUSY, 409, "Another process works on the same run folder."),
    "run_not_found": CodeInfo(ExitCode.USAGE, 404, "There is no run under that name."),
    "server_busy": CodeInfo(
        ExitCode.BUSY, 429, "A server has as many requests as it takes; try again a little later."
    ),
    "run_damaged": CodeInfo(
        ExitCode.RUN_FAILED, 500, "A stored file of a run cannot be read; the file is named."
    ),
    "too_many_failures": CodeInfo(
        ExitCode.STOPPED_EARLY, 500, "More rows failed than max_failures allows."
    ),
    "metric_failed": CodeInfo(ExitCode.PARTIAL, 500, "A metric could not be computed."),
    "interrupted": CodeInfo(ExitCode.INTERRUPTED, 499, "Ended by Ctrl-C or SIGTERM."),
    "internal": CodeInfo(ExitCode.INTERNAL, 500, "A fault in bakeoff itself."),
}
