"""`RowResult`: one line of the journal, a prediction or a failure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowError(_Stored):
    """Why a row has no prediction."""

    code: str
    """Stable, from `core/codes.py`."""
    message: str
    retryable: bool = False


class UsageRecord(_Stored):
    """Tokens, summed over the items of the row."""

    prompt: int = 0
    cut: int = 0
    """Tokens of the input that were dropped because it did not fit."""
    cached: int = 0
    completion: int = 0


class TimingRecord(_Stored):
    """Seconds since the engine took the row; None where not observed."""

    queued: float | None = None
    first_token: float | None = None
    done: float | None = None


class RowResult(_Stored):
    """What one model said for one row and repeat."""

    key: str
    """Generation key: what was asked of what; see `core/keys.py`."""
    row: str
    """Row id."""
    repeat: int = 0
    ok: bool
    text: str | None = None
    """The prediction; set when ok."""
    error: RowError | None = None
    """Set when not ok."""
    finish: str | None = None
    """`stop` or `length` for generated text."""
    usage: UsageRecord = UsageRecord()
    timing: TimingRecord = TimingRecord()
    concurrency: int = 1
    """How many rows shared the batch."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Probabilities, span positions, flags (`looped`, `engine`, ...)."""
