"""Encoder input: tokenised, measured against the window, padded on the right, run in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bakeoff.core.errors import BakeoffError, PromptTooLong
from bakeoff.core.requests import Truncate
from bakeoff.engines.batch.careful import Careful
from bakeoff.engines.transformers.loading import Loaded

Reader = Callable[[Any, torch.Tensor], Sequence[Any]]
"""Takes the model's output and the attention mask and gives one value a row."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """One input of the model.

    Attributes:
        inputs: input name -> one number a token, attention mask included.
        cut: tokens that were dropped.
    """

    inputs: dict[str, list[int]]
    cut: int = 0

    @property
    def length(self) -> int:
        """Tokens that the model reads."""
        return len(self.inputs["input_ids"])

    @property
    def group(self) -> None:
        """All inputs may share a batch."""

    @property
    def max_new(self) -> int:
        """Nothing is written."""
        return 0

    @property
    def lanes(self) -> int:
        """One sequence."""
        return 1


@dataclass(frozen=True)
class Ran:
    """What the model gave for one input, and how many inputs shared the pass."""

    value: Any
    concurrency: int


def window(loaded: Loaded) -> int | None:
    """The most tokens the model reads, special ones included."""
    return loaded.facts.capabilities.context_length if loaded.facts else None


def encode(
    loaded: Loaded, text: str, pair: str | None, truncate: Truncate, strategy: str
) -> Encoded:
    """Tokenise a text or a pair; one that is too long is refused or cut.

    Args:
        loaded: the model.
        text: first text.
        pair: second text, or None.
        truncate: what happens to one that does not fit.
        strategy: which of the two loses tokens, as the tokenizer names it.

    Raises:
        PromptTooLong: it does not fit, and `truncate` refuses or cannot help.
    """
    whole = dict(loaded.tokenizer(text, pair, verbose=False))
    limit, length = window(loaded), len(whole["input_ids"])
    if limit is None or length <= limit:
        return Encoded(_lists(whole))
    if truncate == "refuse":
        raise PromptTooLong(length, limit, "write `truncate: cut` to drop what does not fit")
    if strategy == "only_first" and len(loaded.tokenizer("", pair)["input_ids"]) >= limit:
        raise PromptTooLong(length, limit, "the part that may not be cut is too long by itself")
    short = dict(loaded.tokenizer(text, pair, truncation=strategy, max_length=limit))
    kept = len(short["input_ids"])
    return Encoded(_lists(short), length - kept)


def run(
    loaded: Loaded, careful: Careful, items: Sequence[Encoded], read: Reader
) -> list[Ran | BakeoffError]:
    """Run all inputs, inputs of like length together; the order is that of `items`.

    Args:
        loaded: the model.
        careful: plans the batches, and sees to it that a failure costs one input.
        items: inputs.
        read: how values are taken from the output.
    """

    def passed(part: Sequence[Encoded]) -> list[Ran]:
        return [Ran(value, len(part)) for value in _forward(loaded, part, read)]

    found: dict[int, Ran | BakeoffError] = {}
    for batch in careful.plan(items):
        for item, ran in zip(batch, careful.run(batch, passed), strict=True):
            found[id(item)] = ran
    return [found[id(item)] for item in items]


def _lists(encoded: dict[str, Any]) -> dict[str, list[int]]:
    return {name: list(values) for name, values in encoded.items()}


def _forward(loaded: Loaded, items: Sequence[Encoded], read: Reader) -> Sequence[Any]:
    inputs = _padded(loaded, items)
    with torch.inference_mode():
        return read(loaded.model(**inputs), inputs["attention_mask"])


def _padded(loaded: Loaded, items: Sequence[Encoded]) -> dict[str, torch.Tensor]:
    longest = max(item.length for item in items)
    fill = {
        "input_ids": loaded.tokenizer.pad_token_id or 0,
        "token_type_ids": loaded.tokenizer.pad_token_type_id,
    }
    padded = {
        name: torch.tensor(
            [item.inputs[name] + [fill.get(name, 0)] * (longest - item.length) for item in items],
            device=loaded.device,
        )
        for name in items[0].inputs
    }
    padded.setdefault(
        "attention_mask",
        torch.tensor(
            [[1] * item.length + [0] * (longest - item.length) for item in items],
            device=loaded.device,
        ),
    )
    return padded
