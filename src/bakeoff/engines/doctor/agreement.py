"""An engine's answers against those of plain transformers, each alone and all in one batch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion, Failure, Labelled, Likelihood, Prediction, Span, Vector
from bakeoff.core.ports import Engine
from bakeoff.core.requests import (
    AnswerSpan,
    Classify,
    Embed,
    GenerateRequest,
    GenerationParams,
    PredictRequest,
    ScoreRequest,
    Text,
)
from bakeoff.engines.doctor.diagnosis import Agreement
from bakeoff.engines.doctor.plain import PlainScore, PlainText, Reference
from bakeoff.engines.doctor.probes import NEW_TOKENS, PROSE, SHORT

TIE = 1e-4
"""The reference's two best logits lie closer than this: either token is right (float32)."""
_TIE_HALF = 0.5
"""The same in half precision, where logits of 16 to 32 are an eighth apart at the least."""
_CLOSE, _CLOSE_HALF = 1e-3, 0.25
"""How far log-probabilities and probabilities may be apart, in float32 and below."""
GREEDY = GenerationParams(max_new_tokens=NEW_TOKENS, temperature=0.0, num_beams=1)


async def compare_texts(engine: Engine, reference: Reference) -> Agreement:
    """Greedy texts, token for token.

    A text that bakeoff ends at one of its end markers is compared up to there: plain transformers
    may know fewer of them and go on.
    """
    asked_of = {
        f"text-{at}": (text, GenerateRequest(f"text-{at}", text.prompt, _params(text)))
        for at, text in enumerate(reference.texts)
    }
    expected = {name: text for name, (text, one) in asked_of.items() if not engine.unsupported(one)}
    requests = [asked_of[name][1] for name in expected]
    rounds = [[request] for request in requests] + [requests]
    judged = []
    for asked in rounds:
        where = "alone" if len(asked) == 1 else f"in a batch of {len(asked)}"
        for made in await engine.generate(asked):
            judged.append((_judge_text(expected[made.id], made, reference), where))
    parted = [f"{said}, {where}" for said, where in judged if said not in ("", "tie")]
    return Agreement(
        compared=len(judged),
        equal=sum(said == "" for said, _ in judged),
        ties=sum(said == "tie" for said, _ in judged),
        tokens=2 * sum(len(text.ids) for text in expected.values()),
        parted=parted[0] if parted else "",
    )


def _params(text: PlainText) -> GenerationParams:
    return replace(GREEDY, min_new_tokens=text.least or None)


def _judge_text(expected: PlainText, made: Completion | Failure, reference: Reference) -> str:
    """Empty where equal, `tie`, or where the two part."""
    if isinstance(made, Failure):
        return _failed(made)
    found, wanted = list(made.token_ids), list(expected.ids)
    spelled = reference.spelled and made.finish is FinishReason.STOP
    if spelled or (found and found[-1] in reference.ends):
        wanted = wanted[: len(found)]
    if found == wanted:
        return ""
    at = next(
        (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b),
        min(len(found), len(wanted)),
    )
    tie = TIE if reference.exact else _TIE_HALF
    if at < len(expected.gaps) and expected.gaps[at] < tie:
        return "tie"
    return f"from token {at + 1} of {len(expected.ids)}"


async def compare_scores(engine: Engine, reference: Reference) -> Agreement:
    """Log-probabilities of continuations."""
    requests = [
        ScoreRequest(f"score-{at}", Text(one.context), one.continuation)
        for at, one in enumerate(reference.scores)
    ]
    expected = {request.id: one for request, one in zip(requests, reference.scores, strict=True)}
    worst, parted, equal, compared = 0.0, "", 0, 0
    for asked in [*([request] for request in requests), requests]:
        async for made in engine.score(asked):
            compared += 1
            said, apart = _judge_score(expected[made.id], made)
            if not said and apart > (_CLOSE if reference.exact else _CLOSE_HALF):
                said = f"by {apart:.2g}"
            worst, parted, equal = max(worst, apart), parted or said, equal + (not said)
    return Agreement(
        compared=compared,
        equal=equal,
        tokens=2 * sum(len(one.ids) for one in reference.scores),
        worst=worst,
        parted=parted,
    )


def _judge_score(expected: PlainScore, made: Likelihood | Failure) -> tuple[str, float]:
    """What is wrong (empty: nothing but the numbers may be), and the largest difference."""
    if isinstance(made, Failure):
        return _failed(made), 0.0
    if made.token_ids != expected.ids:
        return "other tokens are scored", 0.0
    return _apart(made.logprobs, expected.logprobs)


def _apart(some: Sequence[float], others: Sequence[float]) -> tuple[str, float]:
    """What is wrong, and the largest difference between numbers of one order."""
    apart = max((abs(a - b) for a, b in zip(some, others, strict=True)), default=0.0)
    if all(map(isfinite, (*some, *others))):
        return "", apart
    return "a number that is infinite or NaN", 0.0


async def compare_predictions(engine: Engine, exact: bool) -> Agreement:
    """An encoder's answers in a batch against the same alone."""
    asks = _asks(engine)
    requests = [PredictRequest(f"ask-{at}", ask, "cut") for at, ask in enumerate(asks)]
    alone: dict[str, Prediction | Failure] = {}
    for request in requests:
        alone |= await _by_id(engine.predict([request]))
    together = await _by_id(engine.predict(requests))
    worst, parted, equal = 0.0, "", 0
    for request in requests:
        said, apart = _judge_answer(alone[request.id], together[request.id])
        if not said and apart > (_CLOSE if exact else _CLOSE_HALF):
            said = f"by {apart:.2g}"
        worst, parted, equal = max(worst, apart), parted or said, equal + (not said)
    return Agreement(compared=len(requests), equal=equal, worst=worst, parted=parted)


def _failed(failure: Failure) -> str:
    return f"a failure ({failure.code}: {failure.message})"


async def _by_id(
    outcomes: AsyncIterator[Prediction | Failure],
) -> dict[str, Prediction | Failure]:
    return {outcome.id: outcome async for outcome in outcomes}


def _asks(engine: Engine) -> list[AnswerSpan | Classify | Embed]:
    """Questions of the kind that this encoder answers, short and long."""
    heads, texts = engine.capabilities.heads, (*SHORT[:4], PROSE)
    if "answer-span" in heads:
        return [AnswerSpan(text, PROSE[: 200 * (at + 1)]) for at, text in enumerate(texts[:4])]
    if "classify" in heads:
        return [Classify(text) for text in texts]
    return [Embed(text) for text in texts]


def _judge_answer(one: Prediction | Failure, other: Prediction | Failure) -> tuple[str, float]:
    if isinstance(one, Failure):
        return _failed(one), 0.0
    if isinstance(other, Failure):
        return _failed(other), 0.0
    if _words(one.value) != _words(other.value):
        return "another answer", 0.0
    return _apart(_numbers(one.value), _numbers(other.value))


def _numbers(value: Span | Labelled | Vector) -> Sequence[float]:
    if isinstance(value, Span):
        return (value.score,)
    if isinstance(value, Labelled):
        return [probability for _, probability in value.probabilities]
    return value.values


def _words(value: Span | Labelled | Vector) -> Any:
    if isinstance(value, Span):
        return value.start, value.end
    return value.label if isinstance(value, Labelled) else ""
