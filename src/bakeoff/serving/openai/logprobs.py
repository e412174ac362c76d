"""Log-probabilities as OpenAI's two routes write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.core.outputs import Completion, TokenChunk, TokenLogprob

Pieces = Mapping[int, str]
"""Token id -> its text."""


def token_ids(made: Completion | TokenChunk) -> set[int]:
    """Every token whose text is needed to tell what is in a text, or in a piece of one."""
    entries = (*(made.prompt_logprobs or ()), *(made.logprobs or ()))
    ids = {token for one in entries if one is not None for token, _ in one.top}
    return ids | {one.id for one in entries if one is not None}


def legacy(
    entries: Sequence[TokenLogprob | None],
    first: int | None,
    pieces: Pieces,
    offset: int = 0,
) -> dict[str, Any]:
    """Of `/v1/completions`: lists with one entry a token.

    Args:
        entries: a token each; None for the first of a prompt, which has no probability.
        first: the id of that first token.
        pieces: the texts of all tokens.
        offset: characters before the first of `entries`.
    """
    tokens, values, tops, offsets = [], [], [], []
    for one in entries:
        text = pieces[one.id] if one is not None else pieces.get(first or 0, "")
        tokens.append(text)
        values.append(None if one is None else one.logprob)
        tops.append(None if one is None else _alternatives(one, pieces))
        offsets.append(offset)
        offset += len(text)
    return {
        "tokens": tokens,
        "token_logprobs": values,
        "top_logprobs": tops,
        "text_offset": offsets,
    }


def _alternatives(one: TokenLogprob, pieces: Pieces) -> dict[str, float]:
    """The best, and the token itself, whose float is the same as in the list of tokens.

    Clients tell by equality whether the token was the best. Of two tokens with one text the
    likelier one stands.
    """
    found: dict[str, float] = {}
    for token, value in (*one.top, (one.id, one.logprob)):
        text = pieces[token]
        found[text] = max(value, found.get(text, value))
    return found


def chat(entries: Sequence[TokenLogprob], pieces: Pieces) -> dict[str, Any]:
    """Of `/v1/chat/completions`: an object for each token."""
    return {
        "content": [
            {
                **_token(pieces[one.id], one.logprob),
                "top_logprobs": [_token(pieces[token], value) for token, value in one.top],
            }
            for one in entries
        ],
        "refusal": None,
    }


def _token(text: str, value: float) -> dict[str, Any]:
    return {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace"))}
