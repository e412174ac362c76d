"""Encoder models: answer spans, labels and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.errors import (
    BadRow,
    BakeoffError,
    EngineFailed,
    InvalidRequest,
    UnsupportedOption,
)
from bakeoff.core.modelfacts import Head
from bakeoff.core.outputs import Failure, Labelled, Prediction, Span, Usage, Vector
from bakeoff.core.requests import AnswerSpan, Classify, Embed, PredictRequest, ZeroShot
from bakeoff.engines.batch.careful import Careful, unreadable
from bakeoff.engines.heads import contradiction_index, entailment_index
from bakeoff.engines.transformers.encoding import Encoded, Ran, Reader, encode, run
from bakeoff.engines.transformers.loading import Loaded
from bakeoff.engines.transformers.spans import Window, best_span, read_logits, windows
from bakeoff.engines.transformers.vectors import read_labels, read_vectors

Floats = NDArray[np.float64]
Group = Literal["span", "vector", "label"]
Answer = Span | Labelled | Vector
_HEADS: dict[type, Head] = {
    AnswerSpan: "answer-span",
    Classify: "classify",
    ZeroShot: "pair-classify",
    Embed: "embed",
}


@dataclass(frozen=True)
class _Plan:
    """A request on its way: its inputs, and how their values become the answer."""

    items: Sequence[Encoded]
    finish: Callable[[Sequence[Any]], Answer]


def unsupported(loaded: Loaded, request: PredictRequest) -> list[str]:
    """Names of the fields that this model cannot honour for this request."""
    return [] if _HEADS[type(request.ask)] in _heads(loaded) else ["ask"]


def predict_batch(
    loaded: Loaded, careful: Careful, requests: Sequence[PredictRequest]
) -> list[Prediction | Failure]:
    """Answer all requests, in their order; one failure never fails a neighbour.

    Requests of several kinds may be mixed; those of one kind share passes.
    """
    plans: dict[int, _Plan] = {}
    found: dict[int, Prediction | Failure] = {}
    for index, request in enumerate(requests):
        try:
            plans[index] = _plan(loaded, request)
        except BakeoffError as error:
            found[index] = Failure.of(request.id, error)
        except Exception as error:  # a tokenizer may raise anything; it costs this row alone
            found[index] = Failure.of(request.id, unreadable(error))
    for group in ("span", "vector", "label"):
        chosen = {i: p for i, p in plans.items() if _group(requests[i]) == group}
        ran = run(loaded, careful, _items(chosen), _reader(loaded, group))
        found.update(_answers(requests, chosen, ran))
    return [found[index] for index in range(len(requests))]


def _items(plans: dict[int, _Plan]) -> list[Encoded]:
    return [item for plan in plans.values() for item in plan.items]


def _answers(
    requests: Sequence[PredictRequest],
    plans: dict[int, _Plan],
    ran: Sequence[Ran | BakeoffError],
) -> dict[int, Prediction | Failure]:
    left = iter(ran)
    return {
        index: _finish(requests[index].id, plan, [next(left) for _ in plan.items])
        for index, plan in plans.items()
    }


def _finish(
    request_id: str, plan: _Plan, ran: Sequence[Ran | BakeoffError]
) -> Prediction | Failure:
    values = [r for r in ran if isinstance(r, Ran)]
    for problem in ran:
        if isinstance(problem, BakeoffError):
            return Failure.of(request_id, problem)
    numbers = [v.value for v in values]
    if not all(np.isfinite(part).all() for number in numbers for part in np.atleast_2d(number)):
        return Failure.of(request_id, EngineFailed("the model gave NaN or infinity for this row"))
    usage = Usage(
        prompt=sum(item.length for item in plan.items), cut=sum(item.cut for item in plan.items)
    )
    concurrency = max(value.concurrency for value in values)
    return Prediction(request_id, plan.finish(numbers), usage, concurrency=concurrency)


def _heads(loaded: Loaded) -> frozenset[Head]:
    return loaded.facts.capabilities.heads if loaded.facts else frozenset()


def _plan(loaded: Loaded, request: PredictRequest) -> _Plan:
    if unsupported(loaded, request):
        name = type(request.ask).__name__
        heads = ", ".join(sorted(_heads(loaded))) or "text"
        raise UnsupportedOption(
            f"{name} is asked of a model that gives {heads}: name a model with the head "
            f"{_HEADS[type(request.ask)]!r}",
            option="ask",
        )
    ask = request.ask
    if isinstance(ask, AnswerSpan):
        return _span_plan(loaded, ask)
    if isinstance(ask, Classify):
        item = encode(loaded, ask.text, ask.pair, request.truncate, "longest_first")
        return _Plan([item], lambda values: _labelled(loaded, values[0]))
    if isinstance(ask, ZeroShot):
        return _zero_shot_plan(loaded, ask, request)
    prefix = loaded.facts.prefix if loaded.facts else ""
    item = encode(loaded, prefix + ask.text, None, request.truncate, "longest_first")
    return _Plan([item], lambda values: Vector(tuple(map(float, values[0]))))


def _group(request: PredictRequest) -> Group:
    """Requests of one group share passes: their output is read in one way."""
    if isinstance(request.ask, AnswerSpan):
        return "span"
    return "vector" if isinstance(request.ask, Embed) else "label"


def _reader(loaded: Loaded, group: Group) -> Reader:
    if group == "vector":
        return partial(read_vectors, loaded.pooling)
    return read_logits if group == "span" else read_labels


def _span_plan(loaded: Loaded, ask: AnswerSpan) -> _Plan:
    if not loaded.tokenizer.is_fast:
        raise UnsupportedOption(
            f"{type(loaded.tokenizer).__name__} gives no character positions, which an extracted "
            "answer needs: leave use_fast at true",
            option="use_fast",
        )
    parts: list[Window] = windows(loaded, ask)
    return _Plan([part.encoded for part in parts], lambda values: best_span(ask, parts, values))


def _zero_shot_plan(loaded: Loaded, ask: ZeroShot, request: PredictRequest) -> _Plan:
    if not ask.labels:
        raise InvalidRequest("labels is empty: name at least one")
    if "{}" not in ask.template:
        raise InvalidRequest(f"template is {ask.template!r}: write {{}} where the label goes")
    if not ask.text.strip():
        raise BadRow("the text is blank")
    hypotheses = [ask.template.replace("{}", label) for label in ask.labels]
    items = [encode(loaded, ask.text, h, request.truncate, "only_first") for h in hypotheses]
    labels = loaded.facts.capabilities.labels if loaded.facts else ()
    return _Plan(items, lambda values: _zero_shot(ask, labels, np.array(values)))


def _labelled(loaded: Loaded, logits: Floats) -> Labelled:
    """All labels with their probabilities.

    A sigmoid of each where labels do not exclude each other (`problem_type` multi-label, or a
    single output), else a softmax over all, as the text-classification pipeline of transformers
    chooses.
    """
    several = loaded.model.config.problem_type == "multi_label_classification"
    shares = 1 / (1 + np.exp(-logits)) if several or len(logits) == 1 else _softmax(logits)
    names = loaded.facts.capabilities.labels if loaded.facts else ()
    return _ranked(names, shares)


def _zero_shot(ask: ZeroShot, labels: tuple[str, ...], logits: Floats) -> Labelled:
    """Probability of each label from the inference logits of its hypothesis, shape (labels, 3).

    One distribution: softmax of the entailment logits over the labels. Several labels, or only
    one: entailment against contradiction for each, as the zero-shot pipeline of transformers
    does.
    """
    entails, contradicts = entailment_index(labels), contradiction_index(labels)
    if entails is None:
        raise EngineFailed("the model has no entailment label")
    if not ask.multi_label and len(ask.labels) > 1:
        return _ranked(ask.labels, _softmax(logits[:, entails]))
    if contradicts is None:
        raise EngineFailed("the model has no contradiction label to weigh entailment against")
    pairs = logits[:, [contradicts, entails]]
    return _ranked(ask.labels, np.array([_softmax(pair)[1] for pair in pairs]))


def _ranked(names: Sequence[str], shares: Floats) -> Labelled:
    probabilities = tuple(zip(names, map(float, shares), strict=True))
    return Labelled(names[int(np.argmax(shares))], probabilities)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())
