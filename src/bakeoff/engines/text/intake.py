"""`Intake`: requests become rows, with every limit of the model applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import GenerateRequest
from bakeoff.engines.batch.decoding import Decoding
from bakeoff.engines.batch.rows import Arrived, Row
from bakeoff.engines.text.prompts import Fitted, PromptReader, Read
from bakeoff.engines.text.special import Special

_DECODER_POSITIONS = ("max_decoder_position_embeddings", "max_position_embeddings")


class Intake:
    """Reads requests for one model; on the compute thread only.

    Attributes:
        window: most tokens that the model reads (decoder-only: prompt and answer), or None.
        encodes: whether an encoder reads the prompt.
        written: most tokens that a decoder's positions allow (encoder-decoder), or None.
    """

    def __init__(
        self,
        facts: ModelFacts,
        config: Any,
        special: Special,
        reader: PromptReader,
        stop_loops: int | None = None,
    ) -> None:
        self.window = facts.capabilities.context_length
        self.encodes = facts.capabilities.kind == "seq2seq"
        self.written = _positions(config) if self.encodes else None
        self._defaults = facts.defaults
        self._special = special
        self._reader = reader
        self._stop_loops = stop_loops

    def rows(self, arrived: Arrived) -> list[Row]:
        """Tokenise a request: one row, or one for each sampled choice.

        Raises:
            BakeoffError: the request cannot be answered.
        """
        request, special = arrived.request, self._special
        decoding = Decoding.resolve(request.params, self._defaults)
        read = self._reader.read(request.prompt)
        fitted, room = self._fit(read, request, decoding)
        wanted = decoding.max_new_tokens
        start, first = self._beginning(read)
        end_ids = special.end.union(
            decoding.stop_ids,
            special.turn_end if read.chat else (),
            self._reader.filling.stops(decoding.stop),
        )
        row = Row(
            id=request.id,
            ids=tuple(fitted.ids),
            cut=fitted.cut,
            decoding=replace(
                decoding, max_new_tokens=min(wanted, wanted if room is None else room)
            ),
            end_ids=end_ids,
            stops=(*decoding.stop, *(special.turn_stops if read.chat else ())),
            first=first,
            start=start,
            copies=1 if decoding.sampled or decoding.num_beams > 1 else decoding.n,
            logprobs=request.logprobs,
            prompt_logprobs=request.prompt_logprobs,
            arrived=arrived.at,
            deadline=None if request.deadline is None else arrived.at + request.deadline,
            lane=request.lane,
            scope=request.cache_scope,
            stop_loops=self._stop_loops,
            grammar=request.grammar,
        )
        choices = decoding.n if decoding.sampled else 1
        return [replace(row, choice=choice) for choice in range(choices)]

    def _fit(
        self, read: Read, request: GenerateRequest, decoding: Decoding
    ) -> tuple[Fitted, int | None]:
        """The prompt as it fits, and the room for new tokens (None: no limit).

        Where a decoder-only prompt may be cut, it is cut so far that the answer has room: all
        of `max_new_tokens`, but at most half the window.
        """
        window, truncate = self.window, request.truncate
        if self.encodes:
            return self._reader.fit(read, window, truncate, window or 0), self.written
        if window is None:
            return Fitted(read.ids, 0), None
        keep = window - max(1, min(decoding.max_new_tokens, window // 2))
        most = window - min(1, decoding.max_new_tokens)
        fitted = self._reader.fit(read, most, truncate, keep)
        return fitted, window - len(fitted.ids)

    def _beginning(self, read: Read) -> tuple[int | None, int | None]:
        """What the decoder reads first, and the token that it is forced to write first."""
        if not self.encodes:
            return None, None
        return self._special.beginning(read.language)


def _positions(config: Any) -> int | None:
    """New tokens that fit the decoder's positions, behind its start token."""
    for name in _DECODER_POSITIONS:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value - 1
    return None
