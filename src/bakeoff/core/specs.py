"""`RunSpec` and its parts: what a person writes in YAML. Unknown keys are refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_serializer,
    model_validator,
)

from bakeoff.core.modelref import LoadOptions
from bakeoff.core.requests import GenerationParams, Truncate

_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_EXPONENT = re.compile(r"[-+]?\d+[eE][-+]?\d+")


def _plain_name(value: str) -> str:
    if not _ID.fullmatch(value):
        raise ValueError(
            f"{value!r} is used as a folder name: up to 100 letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return value


def _exponent(value: Any) -> Any:
    """YAML 1.1, which PyYAML reads, takes a number with an exponent and no point for a text."""
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


Number = Annotated[StrictFloat, BeforeValidator(_exponent)]
FolderName = Annotated[str, AfterValidator(_plain_name)]


class Spec(BaseModel):
    """Base of all parts: frozen, and an unknown key is an error.

    Numbers and flags are strict: `true` is no number, `"2"` and `yes` are texts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class DatasetSpec(Spec):
    """Where the rows come from; a plain string is the path."""

    path: str = Field(description="File, folder, hf://datasets/org/name, or - for standard input.")
    format: Literal["csv", "tsv", "jsonl", "json", "parquet", "datasets"] | None = Field(
        None, description="Taken from the name's ending, then from the content, where absent."
    )
    encoding: str | None = Field(None, description="Text encoding; default: UTF-8, or its mark.")
    delimiter: str | None = Field(None, description="One character between CSV cells.")
    split: str | None = Field(None, description="Split of a Hub data set.")
    config: str | None = Field(None, description="Configuration of a Hub data set.")
    revision: str | None = Field(None, description="Revision of a Hub data set.")
    limit: StrictInt | None = Field(None, ge=1, description="Only the first rows.")
    sample: StrictInt | None = Field(None, ge=1, description="This many rows, drawn with `seed`.")
    seed: StrictInt = Field(0, ge=0, description="Seed of `sample`.")

    @field_validator("delimiter")
    @classmethod
    def _one_character(cls, value: str | None) -> str | None:
        value = "\t" if value in ("tab", "\\t") else value
        if value is not None and len(value) != 1:
            raise ValueError(f"delimiter is {value!r}: write one character, or tab")
        return value


class ColumnsSpec(Spec):
    """Which column plays which role; what is absent is guessed, and the guess is shown.

    A role that is null has no column: nothing is guessed for it.
    """

    id: str | None = None
    source: str | None = None
    reference: tuple[str, ...] | None = None
    question: str | None = None
    context: str | None = None
    choices: tuple[str, ...] | None = None
    group: str | None = None

    @field_validator("reference", "choices", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @property
    def off(self) -> frozenset[str]:
        """Roles that are to have no column: written, and null or an empty list."""
        return frozenset(role for role in self.model_fields_set if not getattr(self, role))

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A null that is written says something, one that is a default does not.
        values = {role: value for role, value in handler(self).items() if value is not None}
        return values | dict.fromkeys(sorted(self.off))


Reading = Literal["text", "index-from-0", "index-from-1", "letter"]
"""How a cell names a label or a choice."""


class TaskSpec(Spec):
    """What is asked of each row; a plain string is the kind."""

    kind: str
    source_language: str | None = None
    target_language: str | None = None
    template: str | None = Field(None, description="Jinja template over the row's columns.")
    system: str | None = Field(None, description="System prompt.")
    mode: Literal["auto", "chat", "plain"] = Field(
        "auto", description="chat uses the checkpoint's template; auto does where there is one."
    )
    labels: tuple[str, ...] | None = Field(None, description="Labels of a classification.")
    hypothesis: str | None = Field(None, description="Zero-shot hypothesis with {} for the label.")
    method: Literal["auto", "likelihood", "generate"] = Field(
        "auto", description="How labels and choices are chosen by a generative model."
    )
    no_answer: StrictBool = Field(True, description="Whether a context may hold no answer.")
    reference_is: Literal["auto", Reading] = Field(
        "auto",
        description="How references name labels or choices; auto decides once, from all rows.",
    )


class ExampleSpec(Spec):
    """One worked example shown to the model before the row."""

    input: str
    output: str


class PromptSpec(Spec):
    """How a row is put to one model."""

    system: str | None = None
    template: str | None = None
    examples: tuple[ExampleSpec, ...] = ()
    mode: Literal["auto", "chat", "plain"] | None = None


class GenerationSpec(Spec):
    """How to decode; names as in Hugging Face's GenerationConfig."""

    max_new_tokens: StrictInt | None = Field(None, ge=1)
    min_new_tokens: StrictInt | None = Field(None, ge=0)
    temperature: Number | None = Field(None, ge=0)
    top_p: Number | None = Field(None, gt=0, le=1)
    top_k: StrictInt | None = Field(None, ge=0)
    min_p: Number | None = Field(None, ge=0, le=1)
    num_beams: StrictInt | None = Field(None, ge=1)
    early_stopping: StrictBool | Literal["never"] | None = None
    length_penalty: Number | None = None
    repetition_penalty: Number | None = Field(None, gt=0)
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None
    no_repeat_ngram_size: StrictInt | None = Field(None, ge=0)
    stop: tuple[str, ...] | None = None
    seed: StrictInt | None = Field(None, ge=0)

    @field_validator("stop", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    def params(self) -> GenerationParams:
        """The same values as the engine takes them."""
        names = GenerationSpec.model_fields
        return GenerationParams(**{name: getattr(self, name) for name in names})


class ModelEntry(GenerationSpec, LoadOptions):
    """One contender: a reference, load options, prompt and generation settings."""

    id: FolderName | None = None
    model: str | None = None
    endpoint: str | None = None
    api_key: str | None = Field(None, description="A reference, never the key: env:NAME.")
    prompt: PromptSpec | None = None
    truncate: Truncate | None = None
    limit: StrictInt | None = Field(
        None, ge=1, description="Only the first rows for this model; comparisons use shared rows."
    )

    @model_validator(mode="after")
    def _needs_model(self) -> ModelEntry:
        if not self.model and not self.endpoint:
            raise ValueError("a model entry needs `model:` (or `endpoint:` and `model:`)")
        return self


class MetricSpec(Spec):
    """A metric and its options; a plain string is the name."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "options" not in value and "name" in value:
            options = {k: v for k, v in value.items() if k != "name"}
            return {"name": value["name"], "options": options}
        return value


class DecideSpec(Spec):
    """What the decision rests on.

    `margin` is in points: hundredths of the metric's full scale, so 1.0 is 0.01 for a metric from
    0 to 1 and 1.0 for one from 0 to 100.
    """

    metric: str | None = None
    margin: Number = Field(0.0, ge=0)
    baseline: str | None = None
    estimand: Literal["rows-like-these", "exactly-these-rows"] = "rows-like-these"


class RunSpec(Spec):
    """A run: one data set and task, many models."""

    name: FolderName
    dataset: DatasetSpec
    columns: ColumnsSpec = ColumnsSpec()
    task: TaskSpec
    generation: GenerationSpec = GenerationSpec()
    repeats: StrictInt = Field(1, ge=1, le=1000)
    metrics: tuple[MetricSpec, ...] | None = None
    decide: DecideSpec | None = None
    stop: Literal["when-decided"] | None = None
    race: dict[str, Any] | None = None
    max_failures: StrictInt | None = Field(None, ge=0)
    truncate: Truncate | None = None
    strict_engine: StrictBool = Field(
        False, description="Rows of another engine or version are not taken as equal."
    )
    models: tuple[ModelEntry, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if isinstance(value.get("dataset"), str):
            value["dataset"] = {"path": value["dataset"]}
        if isinstance(value.get("task"), str):
            value["task"] = {"kind": value["task"]}
        if isinstance(value.get("metrics"), str):
            value["metrics"] = [value["metrics"]]
        models = value.get("models")
        if isinstance(models, str):
            models = [models]
        if isinstance(models, (list, tuple)):
            value["models"] = [{"model": m} if isinstance(m, str) else m for m in models]
        return value
