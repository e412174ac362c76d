"""A row alone, its text shown piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bakeoff.core.outputs import Completion, TokenChunk
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.text.detokenize import Pieces

Push = Callable[[TokenChunk], None]


class Telling:
    """Turns the tokens of a row into chunks; the last chunk carries what is still held back."""

    def __init__(self, row: Row, pieces: Pieces, push: Push) -> None:
        self._row = row
        self._pieces = pieces
        self._push = push
        self._told = 0

    def show(self, ids: Sequence[int]) -> None:
        """Push the text that is certain by now; `ids` are all tokens so far."""
        text = self._pieces.more(ids)
        if text:
            self._push(
                TokenChunk(self._row.id, text, tuple(ids[self._told :]), choice=self._row.choice)
            )
            self._told = len(ids)

    def end(self, made: Completion) -> None:
        """Push the last chunk."""
        told, self._told = self._told, 0
        text = self._pieces.rest(made.text)
        self._push(_last(made, text, told))


def whole(made: Completion) -> TokenChunk:
    """A text in one chunk."""
    return _last(made, made.text, 0)


def _last(made: Completion, text: str, told: int) -> TokenChunk:
    return TokenChunk(
        id=made.id,
        text=text,
        token_ids=made.token_ids[told:],
        finish=made.finish,
        usage=made.usage,
        choice=made.choice,
    )


def pieces_of(row: Row, decode: Any, byte_ids: frozenset[int], tokenizer: Any) -> Pieces:
    """What decides which text is certain, for this tokenizer."""
    cleans = bool(getattr(tokenizer, "clean_up_tokenization_spaces", False))
    return Pieces(decode, row.stops, byte_ids.__contains__, cleans=cleans)
