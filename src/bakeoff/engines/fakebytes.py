"""Tokens of the fake engine: one UTF-8 byte each, and made-up log-probabilities for them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from bakeoff.core.outputs import Completion, TokenChunk, TokenLogprob

END = 256
"""Ends a text."""
_END_SPELLED = "<end>"


def decoded(ids: Sequence[int]) -> str:
    """The text of bytes; broken ones become U+FFFD."""
    return bytes(i for i in ids if i < END).decode(errors="replace")


def piece(token: int) -> str:
    """The text of one token."""
    return decoded([token]) if token < END else _END_SPELLED


def logprobs(before: str, ids: Sequence[int], most: int | None) -> tuple[TokenLogprob, ...] | None:
    """A log-probability for each token, drawn from what stands before it; None: not asked for."""
    if most is None:
        return None
    read = before.encode()
    told = []
    for token in ids:
        told.append(_drawn(read, token, most))
        read += bytes([token % END])
    return tuple(told)


def prompt_logprobs(prompt: str, most: int | None) -> tuple[TokenLogprob | None, ...] | None:
    """The same for a prompt, whose first token has none."""
    ids = list(prompt.encode())
    told = logprobs("", ids, most)
    return None if told is None else (*([None] if told else []), *told[1:])


def told(chunk: TokenChunk, made: Completion, begin: int) -> TokenChunk:
    """A chunk with the log-probabilities of its tokens, which begin at `begin` of the text's."""
    mine = made.logprobs
    return replace(
        chunk,
        logprobs=None if mine is None else mine[begin : begin + len(chunk.token_ids)],
        prompt_logprobs=None if begin else made.prompt_logprobs,
    )


def _drawn(before: bytes, token: int, most: int) -> TokenLogprob:
    drawn = hashlib.sha256(before + b"|" + bytes([token % END])).digest()
    value = -0.05 - drawn[0] / 64
    likeliest = (token, value) if drawn[1] < 128 else ((token + 1) % END, value / 2)
    others = tuple(((token + 2 + k) % END, -10.0 - k) for k in range(most - 1))
    return TokenLogprob(token, piece(token), value, (likeliest, *others)[:most])
