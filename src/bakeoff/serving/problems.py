"""`Problem`: what went wrong with a request, before a wire format words it."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.core.codes import CODES
from bakeoff.core.errors import (
    BakeoffError,
    InvalidRequest,
    PromptTooLong,
    ServerBusy,
    UnsupportedOption,
)
from bakeoff.core.outputs import Failure

_TOO_LONG = "context_length_exceeded"
"""The name by which OpenAI's clients know a prompt that is too long."""
_RENAMED = {
    "max_new_tokens": "max_tokens",
    "min_new_tokens": "min_tokens",
    "stop_ids": "stop_token_ids",
    "prompt_logprobs": "echo",
    "grammar": "response_format",
}
"""Field of the core -> what the wire calls it."""
_AGAIN = 1
"""Seconds after which a request that may pass later is worth sending again."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal or a failure.

    Attributes:
        status: HTTP status.
        message: for people.
        code: stable name.
        field: of the request, as the wire spells it, or None.
        retry_after: seconds after which it may pass, or None.
    """

    status: int
    message: str
    code: str
    field: str | None = None
    retry_after: int | None = None


class Refusal(Exception):
    """Carries a problem to where the response is written."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def problem_of(error: Exception) -> Problem:
    """The problem behind anything that was raised; what is not ours tells nothing of itself."""
    if isinstance(error, Refusal):
        return error.problem
    if isinstance(error, BakeoffError):
        return _of_code(error.code, error.message, field_of(error), error.retryable)
    return Problem(500, "a fault in bakeoff; the server's log has the details", "internal")


def problem_of_failure(failure: Failure, field: str | None = None) -> Problem:
    """The problem behind an outcome that is no answer."""
    return _of_code(failure.code, failure.message, field, failure.retryable)


def wire_name(field: str) -> str:
    """What the wire calls a field of the core."""
    return _RENAMED.get(field, field)


def field_of(error: BakeoffError) -> str | None:
    """The field that an error speaks of, as the wire spells it."""
    if isinstance(error, UnsupportedOption):
        return wire_name(error.option) or None
    return (error.field or None) if isinstance(error, InvalidRequest) else None


def _of_code(code: str, message: str, field: str | None, retryable: bool) -> Problem:
    status = CODES[code].http
    waits = code == ServerBusy.code or (retryable and status in (429, 503))
    return Problem(
        status=status,
        message=message,
        code=_TOO_LONG if code == PromptTooLong.code else code,
        field=field,
        retry_after=_AGAIN if waits else None,
    )
