"""Extractive question answering: the best span over overlapping windows of the context.

Defined as the question-answering pipeline of transformers 4 did it, which version 5 no longer
has: start and end logits become probabilities by a softmax over the context's tokens and the
classifier token; a span's score is the product of its start and end; spans have at most
`MAX_ANSWER` tokens and are widened to whole words; "no answer" is the product at the classifier
token, the smallest over the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bakeoff.core.errors import BadRow, PromptTooLong
from bakeoff.core.outputs import Span
from bakeoff.core.requests import AnswerSpan
from bakeoff.engines.transformers.encoding import Encoded, window
from bakeoff.engines.transformers.loading import Loaded

MAX_ANSWER = 15
"""Most tokens of an answer: the pipeline's default."""
MAX_WINDOW = 384
"""Most tokens of question and context together in one pass: the pipeline's default."""
STRIDE = 128
"""Tokens that neighbouring windows share: the pipeline's default."""
_MASKED = -10000.0
_UNBOUNDED = 10**9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """One stretch of the context behind the question.

    Attributes:
        encoded: input of the model.
        allowed: tokens that count: those of the context, and the classifier token.
        words: for each token, first and last character of its word in the context.
    """

    encoded: Encoded
    allowed: NDArray[np.bool_]
    words: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Best:
    score: float
    start: int
    end: int


def windows(loaded: Loaded, ask: AnswerSpan) -> list[Window]:
    """Cut a context into overlapping windows.

    Raises:
        BadRow: question or context is blank.
        PromptTooLong: the question leaves no room for the context.
    """
    for name in ("question", "context"):
        if not getattr(ask, name).strip():
            raise BadRow(f"the {name} is blank: an extractive model needs both")
    length = min(window(loaded) or _UNBOUNDED, MAX_WINDOW)
    question = len(loaded.tokenizer(ask.question, "", verbose=False)["input_ids"])
    room = length - question
    if room < 2:
        raise PromptTooLong(question, length - 2, "the question leaves no room for the context")
    encoding = loaded.tokenizer(
        ask.question,
        ask.context,
        truncation="only_second",
        max_length=length,
        stride=min(STRIDE, length // 2, room // 2),
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    return [_window(loaded, encoding, i) for i in range(len(encoding["input_ids"]))]


def read_logits(output: Any, mask: torch.Tensor) -> Sequence[tuple[Floats, Floats]]:
    """Start and end logits of each row, padding left off."""
    lengths = mask.sum(dim=1).tolist()
    starts = output.start_logits.float().cpu().numpy().astype(np.float64)
    ends = output.end_logits.float().cpu().numpy().astype(np.float64)
    return [(s[:n], e[:n]) for s, e, n in zip(starts, ends, lengths, strict=True)]


def best_span(
    ask: AnswerSpan, parts: Sequence[Window], logits: Sequence[tuple[Floats, Floats]]
) -> Span:
    """The best answer over all windows, or none where "no answer" is likelier."""
    best, null = _Best(0.0, 0, 0), 1.0
    for part, (start, end) in zip(parts, logits, strict=True):
        starts, ends = _probabilities(start, part), _probabilities(end, part)
        null = min(null, float(starts[0] * ends[0]))
        starts[0] = ends[0] = 0.0
        best = max(best, _best_of(starts, ends, part), key=lambda found: found.score)
    no_answer = null if ask.allow_no_answer else None
    if best.end <= best.start or (no_answer is not None and no_answer > best.score):
        return Span("", 0, 0, null if no_answer is not None else best.score, no_answer)
    text = ask.context[best.start : best.end]
    return Span(text, best.start, best.end, best.score, no_answer)


def _window(loaded: Loaded, encoding: Any, index: int) -> Window:
    names = [n for n in loaded.tokenizer.model_input_names if n in encoding]
    encoded = Encoded({name: list(encoding[name][index]) for name in names})
    sides = encoding.sequence_ids(index)
    ids = encoded.inputs["input_ids"]
    classifier = loaded.tokenizer.cls_token_id
    allowed = np.array([s == 1 or i == classifier for s, i in zip(sides, ids, strict=True)])
    return Window(encoded, allowed, _word_ends(encoding, index, sides))


def _word_ends(
    encoding: Any, index: int, sides: Sequence[int | None]
) -> tuple[tuple[int, int], ...]:
    """First and last character of the whole word that each token of the context belongs to."""
    offsets, words = encoding["offset_mapping"][index], encoding.word_ids(index)
    ends: dict[int, tuple[int, int]] = {}
    for side, word, (low, high) in zip(sides, words, offsets, strict=True):
        if side == 1 and word is not None:
            first, last = ends.get(word, (low, high))
            ends[word] = (min(first, low), max(last, high))
    return tuple(
        ends.get(word, tuple(offset)) if side == 1 and word is not None else tuple(offset)
        for side, word, offset in zip(sides, words, offsets, strict=True)
    )


def _probabilities(logits: Floats, part: Window) -> Floats:
    masked = np.where(part.allowed, logits, _MASKED)
    powers = np.exp(masked - masked.max())
    return np.asarray(powers / powers.sum())


def _best_of(starts: Floats, ends: Floats, part: Window) -> _Best:
    products = np.triu(np.outer(starts, ends))
    products = np.tril(products, MAX_ANSWER - 1)
    first, last = np.unravel_index(int(products.argmax()), products.shape)
    score = float(products[first, last])
    return _Best(score, part.words[int(first)][0], part.words[int(last)][1])
