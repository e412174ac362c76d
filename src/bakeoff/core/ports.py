"""The interfaces between the layers. A contract suite in tests/contract runs over each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import (
    Capabilities,
    EngineInfo,
    ModelFacts,
    TokenizerFacts,
)
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk
from bakeoff.core.requests import (
    AnswerSpan,
    Classify,
    Embed,
    EngineRequest,
    GenerateRequest,
    Messages,
    PredictRequest,
    Prompt,
    ScoreRequest,
    ZeroShot,
)
from bakeoff.core.rows import Notice, Row, TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec

if TYPE_CHECKING:  # numpy takes longer to import than all of the core
    import numpy as np
    from numpy.typing import NDArray


class Engine(ABC):
    """A loaded model behind one interface.

    All methods are safe to call from several tasks of one event loop. Work happens on the
    engine's own thread; the event loop never blocks. Results come in the order they finish and
    carry their request's id. One failure never fails a neighbour. Greedy text does not depend on
    what else is in the batch.
    """

    capabilities: Capabilities
    info: EngineInfo
    notices: tuple[Notice, ...] = ()
    """What was noticed while loading; the report shows it."""

    @abstractmethod
    def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncIterator[Completion | Failure]:
        """Generate texts; pulls requests as it has room.

        A request with `n` above 1 gives n completions, `choice` 0 to n-1. Closing the iterator
        cancels what is in flight, within one step.
        """

    @abstractmethod
    def stream(self, request: GenerateRequest) -> AsyncIterator[TokenChunk]:
        """One text, piece by piece; the pieces add up to the completion's text.

        With `n` above 1 the chunks of the choices may come in any order among each other; each
        choice has a last chunk of its own.

        Raises:
            BakeoffError: the request fails; before the first chunk wherever that is possible.
        """

    @abstractmethod
    def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncIterator[Likelihood | Failure]:
        """Log-likelihoods of continuations.

        Context and continuation are tokenised so that the continuation's tokens are those of the
        joined text behind the context's (trailing blanks of the context move to the
        continuation, as in lm-evaluation-harness).
        """

    @abstractmethod
    def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncIterator[Prediction | Failure]:
        """An encoder's answers."""

    @abstractmethod
    def unsupported(self, request: EngineRequest) -> list[str]:
        """Names of the fields that this engine cannot honour for this request."""

    @abstractmethod
    async def abort(self, request_id: str) -> None:
        """Cancel one request; unknown ids are ignored."""

    @abstractmethod
    async def encode(self, text: str) -> list[int]:
        """Token ids of a text, special tokens included as the model wants them."""

    @abstractmethod
    async def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, special tokens left out."""

    @abstractmethod
    async def close(self) -> None:
        """Free the device; waiting requests fail with `EngineClosed`. May be called twice."""

    async def tokenizer(self) -> TokenizerFacts:
        """What clients ask of the tokenizer.

        Raises:
            UnsupportedOption: the engine has none.
        """
        raise self._no_tokenizer()

    async def read(self, prompt: Prompt, *, special: bool = True) -> list[int]:
        """Token ids of a prompt as the model reads it, whatever its length.

        Without `special` a text gets no special token that it does not spell itself.

        Raises:
            BakeoffError: the prompt cannot be read (no chat template, an unknown token id, ...).
        """
        raise self._no_tokenizer()

    async def render(self, prompt: Messages) -> str:
        """A conversation as the checkpoint's chat template writes it, ready for an answer.

        Raises:
            TemplateFailed: the template refused it, or there is none.
        """
        raise self._no_tokenizer()

    async def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token by itself; special tokens as they are spelled."""
        raise self._no_tokenizer()

    async def fill(
        self, before: str, after: str, files: tuple[tuple[str, str], ...] = ()
    ) -> list[int]:
        """The prompt that asks for what stands between two texts, in fill-in-the-middle tokens.

        `files` are names and texts of other files that help.

        Raises:
            UnsupportedOption: the tokenizer has no such tokens.
        """
        raise self._no_tokenizer()

    def _no_tokenizer(self) -> UnsupportedOption:
        return UnsupportedOption(
            f"the {self.info.name} engine has no tokenizer", option="tokenizer"
        )

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion | Failure]:
        """Results in the order of the requests (choice 0 of each)."""
        found: dict[str, Completion | Failure] = {}
        async for outcome in self.complete(requests):
            found.setdefault(outcome.id, outcome)
        return [found[request.id] for request in requests]


class Dataset(Protocol):
    """Rows with named columns. `rows` may be called again and gives the same rows."""

    @property
    def name(self) -> str:
        """For people: file name or repository."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names in order."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was noticed while reading, for example a guessed delimiter."""

    def rows(self) -> Iterator[Row]:
        """The selected rows, one by one, in bounded memory."""

    def content_hash(self) -> str:
        """SHA-256 over columns and cells of the selected rows; the same through every door."""


@dataclass(frozen=True, slots=True)
class ScoreAsk:
    """Context and continuation, before an id is given."""

    context: Prompt
    continuation: str


Ask = tuple[Prompt | ScoreAsk | AnswerSpan | Classify | ZeroShot | Embed, ...]
"""What one row asks of one model: one item, or one for each label or choice."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said for a row.

    Attributes:
        text: the prediction that metrics read.
        extra: JSON values beside it (probabilities, span positions, raw text, ...).
    """

    text: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Roles:
    """Column roles of a task.

    Attributes:
        required: roles without which a row cannot be asked.
        optional: roles it uses when they are there.
        guesses: role -> column names that are taken for it, best first, compared without case.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    guesses: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Task(ABC):
    """A kind of question put to each row. Built from a `TaskSpec`; holds no state of a run."""

    kind: ClassVar[str]
    roles: ClassVar[Roles]
    default_metrics: ClassVar[tuple[str, ...]]
    blank_is_answer: bool = False
    """Whether a blank reference means "the right answer is nothing", where other rows have one."""

    @abstractmethod
    def hints(self) -> tuple[str, ...]:
        """Keys under which a checkpoint's `task_specific_params` may hold this task."""

    @abstractmethod
    def check(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> None:
        """Whether this model can be asked this task with this prompt.

        What passes here fails later only for what a single row holds.

        Raises:
            UnsupportedOption: it cannot, or it would not read a part of the prompt; the message
                says what to change.
            InvalidSpec: the prompt's template is wrong.
        """

    def notices(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> tuple[Notice, ...]:
        """What a reader of the report should know about this model at this task."""
        return ()

    def check_columns(self, columns: Sequence[str], prompt: PromptSpec | None = None) -> None:
        """Whether the templates, of the task and of this prompt, find their columns.

        Raises:
            InvalidSpec: a template uses a name that is no column; near matches are named.
        """
        return None

    @abstractmethod
    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Whether `ask` gives `ScoreAsk`s for this model."""

    @abstractmethod
    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """The row as this model is asked it.

        Raises:
            BadRow: the row lacks something.
            TemplateFailed: a template refused the row.
        """

    @abstractmethod
    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The prediction, from one outcome for each item of `ask`, in order."""

    def answer_settings(self, row: TaskRow) -> Any:
        """What `answer` reads besides the outcomes, as a JSON value: part of the row's key.

        A task whose answers hang on a setting or a cell that its requests need not show (labels,
        choices, ...) names them here; else rows made under another setting would be taken.
        """
        return self.kind

    def references(self, row: TaskRow) -> tuple[str, ...]:
        """What metrics compare with; tasks with labels turn an index into its text."""
        return row.references

    def settled(
        self, rows: Iterable[TaskRow], columns: Sequence[str], reference: Sequence[str]
    ) -> Settled:
        """This task with what only all rows together tell; called before any row is asked.

        `rows` are read once at most, one by one. `columns` are those that baselines read as
        answers, `reference` those that hold the references.

        Raises:
            InvalidSpec: the rows leave open what the spec has to say; the message names the option.
        """
        return Settled(self)


@dataclass(frozen=True, slots=True)
class Settled:
    """A task that knows its data.

    Attributes:
        task: the same task, or one made for these rows.
        spec: its spec with what was found, or None where that is as given.
        notices: what was found, for the reader of the report.
    """

    task: Task
    spec: TaskSpec | None = None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricOutput:
    """One number that a metric gives.

    Attributes:
        name: column in the leaderboard, for example `rougeL`.
        scale: the value of a perfect score (1 or 100), or None for open scales.
        better: which direction is better, or None where neither is.
        kind: `row` averages per-row values; `corpus` is computed from summed statistics.
        unit: for example `tokens`; empty without.
        graded: whether a row may lie between nothing and a full score, so that rows that are all
            0 or full are no share of right ones, but amounts.
    """

    name: str
    scale: float | None = 1.0
    better: Literal["higher", "lower"] | None = "higher"
    kind: Literal["row", "corpus"] = "row"
    unit: str = ""
    graded: bool = False


@dataclass(frozen=True, slots=True)
class MetricInput:
    """One prediction to score.

    Attributes:
        row: row id.
        repeat: 0 for the first.
        prediction: the text; failed rows are not passed to metrics.
        references: right answers; may be empty.
        source: what the model was given, for ratios and reference-free metrics.
        extra: `Answer.extra`, and `completion_tokens`, `prompt_tokens` where known.
    """

    row: str
    repeat: int
    prediction: str
    references: tuple[str, ...] = ()
    source: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """One output over all inputs, in their order.

    Attributes:
        output: which number.
        values: per input; None is "not measured".
        reasons: per input; why a value is None, else None.
        statistics: for corpus metrics, shape (inputs, k): sufficient statistics that add up;
            rows that are not measured hold zeros.
        combine: for corpus metrics: summed statistics, shape (k,) or (draws, k), to the value,
            shape () or (draws,).
        signature: settings that make the number reproducible; the same whatever is predicted.
        notices: what a reader must know about these inputs, for example texts that were cut.
    """

    output: MetricOutput
    values: tuple[float | None, ...]
    reasons: tuple[str | None, ...]
    statistics: NDArray[np.float64] | None = None
    combine: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    signature: str = ""
    notices: tuple[Notice, ...] = ()


class Metric(ABC):
    """Rows to scores. Pure: no network, no files other than a model the options name."""

    name: ClassVar[str]
    needs_reference: ClassVar[bool] = True

    @abstractmethod
    def outputs(self) -> tuple[MetricOutput, ...]:
        """What `score` gives, in order."""

    @abstractmethod
    def check(self) -> None:
        """Whether it can run here; called before any model is loaded.

        Raises:
            BakeoffError: it cannot; the message says what to install or to name.
        """

    @abstractmethod
    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """Score all inputs; an input that cannot be scored costs only itself."""
