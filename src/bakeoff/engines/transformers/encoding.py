"""Encoder input: tokenised, measured against the window, padded on the right, run in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bakeoff.core.errors import BakeoffError, EngineFailed, OutOfMemory, PromptTooLong
from bakeoff.core.requests import Truncate
from bakeoff.engines.transformers.loading import Loaded

Reader = Callable[[Any, torch.Tensor], Sequence[Any]]
"""Takes the model's output and the attention mask and gives one value a row."""
BATCH_TOKENS = 8192
"""Most tokens (rows times longest row) in one forward pass."""
MAX_BATCH = 64


@dataclass(frozen=True)
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
    loaded: Loaded,
    items: Sequence[Encoded],
    read: Reader,
) -> list[Ran | BakeoffError]:
    """Run all inputs, inputs of like length together; the order is that of `items`.

    A pass that fails is halved until the input that fails stands alone, so that it costs only
    itself; memory that does not suffice is treated the same way.

    Args:
        loaded: the model.
        items: inputs.
        read: how values are taken from the output.
    """
    order = sorted(range(len(items)), key=lambda i: items[i].length)
    found: list[Ran | BakeoffError] = [EngineFailed("not run")] * len(items)
    for chunk in _chunks(order, items):
        for index, value in zip(
            chunk, _attempt(loaded, [items[i] for i in chunk], read), strict=True
        ):
            found[index] = value
    return found


def _lists(encoded: dict[str, Any]) -> dict[str, list[int]]:
    return {name: list(values) for name, values in encoded.items()}


def _chunks(order: list[int], items: Sequence[Encoded]) -> list[list[int]]:
    """Neighbours in length, as many as the budget of tokens takes; `order` is ascending."""
    chunks: list[list[int]] = []
    for index in order:
        rows = len(chunks[-1]) + 1 if chunks else 0
        if chunks and rows <= MAX_BATCH and rows * items[index].length <= BATCH_TOKENS:
            chunks[-1].append(index)
        else:
            chunks.append([index])
    return chunks


def _attempt(loaded: Loaded, items: Sequence[Encoded], read: Reader) -> list[Ran | BakeoffError]:
    try:
        return [Ran(value, len(items)) for value in _forward(loaded, items, read)]
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        if len(items) == 1:
            return [_failure(error, items[0])]
    middle = len(items) // 2
    first = _attempt(loaded, items[:middle], read)
    return first + _attempt(loaded, items[middle:], read)


def _failure(error: Exception, item: Encoded) -> BakeoffError:
    full = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    if full or "out of memory" in str(error) or "can't allocate memory" in str(error):
        return OutOfMemory(f"a single input of {item.length} tokens does not fit into memory")
    return EngineFailed(f"the model failed on this row: {error}")


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
