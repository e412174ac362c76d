"""The exception tree.

BakeoffError
├── CallerError                 the caller's mistake; nothing was started
│   ├── InvalidRequest
│   ├── InvalidSpec
│   ├── UnknownName             carries near matches
│   ├── UnsupportedOption       carries the option's name
│   ├── BadDataset              carries file, line, column
│   ├── DependencyMissing       carries the command to type
│   ├── RunNotFound
│   └── ServerBusy
├── RowError                    one row fails, its neighbours do not
│   ├── PromptTooLong           carries both numbers
│   ├── TemplateFailed
│   ├── BadRow
│   ├── EngineFailed
│   └── DeadlineExceeded
├── ModelError                  one model of a run fails
│   ├── ModelNotFound
│   ├── ModelAccessDenied
│   ├── ModelLoadFailed
│   ├── HubUnreachable
│   ├── OutOfMemory
│   ├── EngineClosed
│   └── EngineLost
└── RunError                    the run as a whole
    ├── RunLocked
    ├── RunDamaged
    ├── TooManyFailures
    ├── MetricFailed
    ├── InstallFailed
    ├── Cancelled
    └── Interrupted

Each class has a stable `code`, listed in `core/codes.py`. A message says what, which value,
and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bakeoff.core.codes import CODES, CodeInfo


class BakeoffError(Exception):
    """Base of everything bakeoff raises on purpose.

    Attributes:
        code: stable name, a key of `CODES`.
        message: for people; never holds a secret.
        retryable: whether the same request may succeed later.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def info(self) -> CodeInfo:
        """Exit status, HTTP status and meaning of the code."""
        return CODES[self.code]


class CallerError(BakeoffError):
    """The caller's mistake; nothing was started."""

    code = "invalid_request"


class InvalidRequest(CallerError):
    """A value in a request is wrong.

    Attributes:
        field: of the request, as the caller spelled it; empty where it is not known.
    """

    code = "invalid_request"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidSpec(CallerError):
    """A spec has an unknown key or a wrong value; the message names the path of the key."""

    code = "invalid_spec"


class UnknownName(CallerError):
    """A name that is not known where it was looked up."""

    code = "unknown_name"

    def __init__(self, message: str, *, name: str = "", near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.near = tuple(near)


class UnsupportedOption(CallerError):
    """An option that cannot be honoured, refused by name."""

    code = "unsupported_option"

    def __init__(self, message: str, *, option: str = "") -> None:
        super().__init__(message)
        self.option = option


class BadDataset(CallerError):
    """A data file cannot be read as asked."""

    code = "bad_dataset"

    def __init__(
        self, message: str, *, file: str = "", line: int | None = None, column: str | None = None
    ) -> None:
        place = file
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column!r}"
        super().__init__(f"{place}: {message}" if place else message)
        self.file = file
        self.line = line
        self.column = column


class DependencyMissing(CallerError):
    """An optional part is not installed."""

    code = "dependency_missing"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'bakeoff[{extra}]'")
        self.extra = extra


class RunNotFound(CallerError):
    """There is no run under that name."""

    code = "run_not_found"


class ServerBusy(CallerError):
    """A server has as many requests as it takes; the same request may pass a little later."""

    code = "server_busy"
    retryable = True


class RowError(BakeoffError):
    """One row fails; its neighbours do not."""

    code = "engine_failed"


class PromptTooLong(RowError):
    """A prompt is longer than the window leaves room for.

    Attributes:
        tokens: length of the prompt in tokens.
        limit: the most tokens that the prompt may have.
    """

    code = "prompt_too_long"

    def __init__(self, tokens: int, limit: int, hint: str = "") -> None:
        text = f"the prompt has {tokens} tokens, the model takes at most {limit}"
        super().__init__(f"{text}; {hint}" if hint else text)
        self.tokens = tokens
        self.limit = limit


class TemplateFailed(RowError):
    """A template refused the row, or took too long or too much."""

    code = "template_failed"


class BadRow(RowError):
    """A row lacks what the task needs."""

    code = "bad_row"


class EngineFailed(RowError):
    """The engine raised while it computed this row."""

    code = "engine_failed"
    retryable = True


class DeadlineExceeded(RowError):
    """The row took longer than its deadline."""

    code = "deadline_exceeded"
    retryable = True


class ModelError(BakeoffError):
    """One model of a run fails; the others go on."""

    code = "model_load_failed"


class ModelNotFound(ModelError):
    """The model, or a revision or file of it, does not exist."""

    code = "model_not_found"


class ModelAccessDenied(ModelError):
    """The model is gated or private."""

    code = "model_access_denied"


class ModelLoadFailed(ModelError):
    """The files are there but do not load."""

    code = "model_load_failed"


class HubUnreachable(ModelError):
    """The Hub cannot be reached and the files are not cached."""

    code = "hub_unreachable"
    retryable = True


class OutOfMemory(ModelError):
    """The device has too little memory."""

    code = "out_of_memory"
    retryable = True


class EngineClosed(ModelError):
    """The engine was closed while a request was waiting."""

    code = "engine_closed"


class EngineLost(ModelError):
    """The process that ran the engine ended before its answer came."""

    code = "engine_lost"
    retryable = True


class RunError(BakeoffError):
    """The run as a whole."""

    code = "internal"


class RunLocked(RunError):
    """Another process works on the same run folder."""

    code = "run_locked"


class RunDamaged(RunError):
    """A stored file of a run cannot be read."""

    code = "run_damaged"


class TooManyFailures(RunError):
    """More rows failed than `max_failures` allows."""

    code = "too_many_failures"


class MetricFailed(RunError):
    """A metric could not be computed; it costs only itself."""

    code = "metric_failed"


class InstallFailed(RunError):
    """The tools of an engine could not be installed."""

    code = "install_failed"


class Cancelled(RunError):
    """The caller cancelled."""

    code = "cancelled"


class Interrupted(RunError):
    """Ended by Ctrl-C or SIGTERM."""

    code = "interrupted"
