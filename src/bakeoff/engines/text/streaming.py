"""A row alone, its text shown piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.core.outputs import Completion, TokenChunk
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.text.detokenize import Pieces
from bakeoff.engines.text.recording import Record

Push = Callable[[TokenChunk], None]


class Telling:
    """Turns the tokens of a row into chunks; the last chunk carries what is still held back."""

    def __init__(self, row: Row, pieces: Pieces, push: Push) -> None:
        self._row = row
        self._pieces = pieces
        self._push = push
        self._told = 0
        self._begun = False

    def show(self, ids: Sequence[int], record: Record | None = None, /) -> None:
        """Push the text that is certain by now; `ids` are all tokens so far.

        A log-probability tells its token, so it is held back as long as any of the token's text.
        """
        text = self._pieces.more(ids)
        if not text:
            return
        told, row = self._told, self._row
        self._told = len(ids) if record is None else self._pieces.shown(ids, told)
        chunk = TokenChunk(row.id, text, tuple(ids[told : self._told]), choice=row.choice)
        if record is not None:
            chunk = self._with(chunk, record, told)
        self._begun = True
        self._push(chunk)

    def _with(self, chunk: TokenChunk, record: Record, told: int) -> TokenChunk:
        """The same with what is known of its tokens, and of the prompt where it is the first."""
        row = self._row
        prompt = row.prompt_logprobs is not None and not self._begun
        return replace(
            chunk,
            logprobs=None if row.logprobs is None else tuple(record.new[told : self._told]),
            prompt_logprobs=tuple(record.prompt) if prompt else None,
        )

    def end(self, made: Completion) -> None:
        """Push the last chunk."""
        last = _last(made, self._pieces.rest(made.text), self._told)
        self._push(replace(last, prompt_logprobs=None) if self._begun else last)


def whole(made: Completion) -> TokenChunk:
    """A text in one chunk."""
    return _last(made, made.text, 0)


def _last(made: Completion, text: str, told: int) -> TokenChunk:
    logprobs = made.logprobs
    return TokenChunk(
        id=made.id,
        text=text,
        token_ids=made.token_ids[told:],
        finish=made.finish,
        usage=made.usage,
        choice=made.choice,
        looped=made.looped,
        logprobs=None if logprobs is None else logprobs[told:],
        prompt_logprobs=made.prompt_logprobs,
    )


def pieces_of(row: Row, decode: Any, byte_ids: frozenset[int], tokenizer: Any) -> Pieces:
    """What decides which text is certain, for this tokenizer."""
    cleans = bool(getattr(tokenizer, "clean_up_tokenization_spaces", False))
    return Pieces(decode, row.stops, byte_ids.__contains__, cleans=cleans)
