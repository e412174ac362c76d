"""`Report`, format 1: what a run says at the end. The types are the file format."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = 1


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSummary(_Stored):
    """The rows that were used."""

    name: str
    hash: str
    """SHA-256 over columns and cells."""
    rows: int
    columns: tuple[str, ...]
    roles: dict[str, Any] = Field(default_factory=dict)
    """Role to column, guesses included."""
    with_reference: int = 0
    groups: int = 0


class LatencySummary(_Stored):
    """Seconds a row, from a pass of up to 20 rows one at a time."""

    rows: int
    p50: float
    p95: float
    first_token_p50: float | None = None
    first_token_p95: float | None = None
    concurrency: int = 1


class ModelSummary(_Stored):
    """One contender."""

    reference: str
    identity: str = ""
    engine: str
    version: str = ""
    device: str = ""
    dtype: str = ""
    adapters: tuple[str, ...] = ()
    """PEFT weights laid over it, in order."""
    numerics: str = "exact"
    why: str = ""
    generation: dict[str, Any] = Field(default_factory=dict)
    """Decoding settings as resolved."""
    origins: dict[str, str] = Field(default_factory=dict)
    """Setting to where it came from."""
    prefix: str = ""
    rows: int = 0
    """Rows and repeats that were asked for."""
    done: int = 0
    """Of these, finished with a prediction."""
    reused: int = 0
    """Of these, taken from an earlier run of the folder."""
    failures: int = 0
    failure_codes: dict[str, int] = Field(default_factory=dict)
    truncated: int = 0
    """Rows whose input was cut."""
    tokens_cut: int = 0
    ran_to_limit: int = 0
    looped: int = 0
    """Rows that repeated the same 1 to 8 tokens at least 20 times."""
    empty: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens_per_s: float | None = None
    """New tokens a second of generation at the batch used; None where nothing was generated."""
    seconds: float | None = None
    """Of generation, loading left out."""
    batch: float | None = None
    """Mean number of rows that shared a batch."""
    latency: LatencySummary | None = None


class Score(_Stored):
    """One metric of one model, with its 95 % interval over rows.

    Rows are counted, each once whatever its repeats: `n`, `unscored` and `failed` add up to the
    rows that the model was asked.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was made."""
    n: int = 0
    """Rows that the value rests on: with a value in some repeat."""
    unscored: int = 0
    """Rows with a prediction in some repeat, but without a value (no reference, ...)."""
    failed: int = 0
    """Rows without a prediction in any repeat; they are not in the value."""
    reasons: dict[str, int] = Field(default_factory=dict)
    """Why rows are unscored, and how many for each reason."""


class MetricSummary(_Stored):
    """How to read a metric."""

    metric: str
    """The family, for example `rouge`."""
    scale: float | None = 1.0
    better: Literal["higher", "lower"] | None = "higher"
    kind: Literal["row", "corpus"] = "row"
    unit: str = ""
    graded: bool = False
    """Whether a row may lie between nothing and a full score."""
    signature: str = ""


class Pair(_Stored):
    """Two models on the same rows: a minus b."""

    a: str
    b: str
    metric: str
    difference: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    n: int = 0
    n_effective: float | None = None
    rows_to_settle: int | None = None


class RaceEvent(_Stored):
    """A contender that left a race."""

    at: int
    dropped: str
    evidence: str


class Verdict(_Stored):
    """The run's one sentence."""

    kind: Literal["better", "cannot-tell", "not-worse"]
    sentence: str
    metric: str
    margin: float


class Warning(_Stored):
    """Something that a reader must know."""

    code: str
    text: str
    rows: int | None = None


class Report(_Stored):
    """Everything a run says, in strict JSON."""

    name: str
    format: Literal[1] = 1
    created: str
    """UTC, ISO 8601."""
    status: Literal["finished", "partial", "stopped-early"] = "finished"
    data: DataSummary
    task: str
    spec_hash: str = ""
    models: dict[str, ModelSummary]
    metrics: dict[str, MetricSummary] = Field(default_factory=dict)
    scores: dict[str, dict[str, Score]] = Field(default_factory=dict)
    """Model to metric to score."""
    ranking: tuple[str, ...] = ()
    """Model ids, best first by the deciding metric."""
    ranked_by: str | None = None
    pairs: tuple[Pair, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    race: tuple[RaceEvent, ...] = ()
    verdict: Verdict | None = None
    warnings: tuple[Warning, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)


class RowScore(_Stored):
    """A score of one row, kept long: {model, metric, row, repeat, value | null, reason}."""

    model: str
    metric: str
    row: str
    repeat: int = 0
    value: float | None
    reason: str | None = None


class ComparedAnswer(_Stored):
    """What one model said for a row and repeat, with its scores; for the page."""

    model: str
    repeat: int = 0
    ok: bool
    text: str | None = None
    error: str | None = None
    """`code: message` of a failure."""
    finish: str | None = None
    cut: int = 0
    looped: bool = False
    empty: bool = False
    completion_tokens: int = 0
    seconds: float | None = None
    scores: dict[str, float | None] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)


class ComparedRow(_Stored):
    """One row with all answers side by side; for the page."""

    row: str
    group: str | None = None
    inputs: dict[str, str] = Field(default_factory=dict)
    """Role or column name to text."""
    references: tuple[str, ...] = ()
    answers: tuple[ComparedAnswer, ...] = ()
