"""Log-likelihoods of continuations, many at once.

Tokenisation follows lm-evaluation-harness: blanks at the end of the context move to the
continuation, both are encoded as one text, and the continuation's tokens are those behind as
many as the context alone has. A context that is too long loses its beginning.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bakeoff.core.errors import InvalidRequest, PromptTooLong
from bakeoff.core.outputs import Likelihood, Usage
from bakeoff.core.requests import Messages, ScoreRequest, Source, Text, Tokens
from bakeoff.engines.transformers.loading import Loaded
from bakeoff.engines.transformers.prompts import Fitted, PromptReader, Read, text_of
from bakeoff.engines.transformers.rows import Control, ScoreRow


@dataclass(frozen=True)
class ScoreReader:
    """Tokenises score requests; on the compute thread only.

    Attributes:
        reader: reads prompts.
        window: most tokens that the model reads, or None.
        encoder: whether the context goes to an encoder.
        written: most tokens that a decoder takes, or None.
    """

    reader: PromptReader
    window: int | None
    encoder: bool
    written: int | None = None

    def read(self, request: ScoreRequest) -> ScoreRow:
        """Tokenise context and continuation.

        Raises:
            BakeoffError: the request cannot be scored.
        """
        if not request.continuation:
            raise InvalidRequest("the continuation is empty: there is nothing to score")
        return self._pair(request) if self.encoder else self._joined(request)

    def _joined(self, request: ScoreRequest) -> ScoreRow:
        """A decoder-only model reads context and continuation as one text."""
        context = request.context
        if isinstance(context, Tokens):
            ids = self.reader.read(context).ids
            target = self.reader.plain(request.continuation)
        else:
            ids, target = self._split(context, request.continuation)
        ids = ids or [self.reader.begin()]
        if self.window is None or len(ids) + len(target) <= self.window + 1:
            return ScoreRow(request.id, tuple(ids), tuple(target))
        if request.truncate == "refuse" or len(target) > self.window:
            raise PromptTooLong(len(ids) + len(target) - 1, self.window)
        kept = ids[len(ids) + len(target) - self.window - 1 :]
        return ScoreRow(request.id, tuple(kept), tuple(target), cut=len(ids) - len(kept))

    def _split(
        self, context: Text | Messages | Source, continuation: str
    ) -> tuple[list[int], list[int]]:
        if isinstance(context, Messages):
            text, encode = self.reader.render(context), self.reader.plain
        else:
            text, encode = text_of(context, self.reader.languages), self._open
        text, continuation = _moved(text, continuation)
        before, whole = encode(text), encode(text + continuation)
        target = whole[len(before) :]
        if not target:  # the continuation melted into the context's last token
            target = self.reader.plain(continuation)
        return before, target

    def _open(self, text: str) -> list[int]:
        """Ids of a text that goes on: what the tokenizer puts behind every text is left out."""
        ids = self.reader.encode(text)
        while len(ids) > 1 and ids[-1] in self.reader.special.end:
            ids = ids[:-1]
        return ids

    def _pair(self, request: ScoreRequest) -> ScoreRow:
        """An encoder reads the context; the decoder is asked for the continuation."""
        context, continuation = request.context, request.continuation
        if isinstance(context, (Text, Source)):
            text, continuation = _moved(text_of(context, self.reader.languages), continuation)
            # Marks for the language are in the text already.
            context = Text(text) if isinstance(context, Text) else self._bare(context, text)
        read = self.reader.read(context)
        fitted = self._fitted(read, request)
        special = self.reader.special
        begin = tuple(one for one in special.beginning(read.language) if one is not None)
        target = tuple(self.reader.plain(continuation))
        if not target:
            raise InvalidRequest("the continuation has no token: there is nothing to score")
        if self.written is not None and len(begin) + len(target) > self.written + 1:
            raise PromptTooLong(len(begin) + len(target) - 1, self.written, "continuation")
        return ScoreRow(request.id, tuple(fitted.ids), target, begin, fitted.cut)

    def _bare(self, context: Source, text: str) -> Source:
        target = context.target_language
        kept = None if target in self.reader.languages.prefixes else target
        return Source(text, context.source_language, kept)

    def _fitted(self, read: Read, request: ScoreRequest) -> Fitted:
        """The encoder's input; its beginning is dropped where it does not fit."""
        ids = read.ids
        if self.window is None or len(ids) <= self.window:
            return Fitted(ids, 0)
        if request.truncate == "refuse" or not read.cuttable:
            raise PromptTooLong(len(ids), self.window)
        return Fitted(ids[-self.window :], len(ids) - self.window)


def _moved(context: str, continuation: str) -> tuple[str, str]:
    """Blanks at the end of the context belong to the continuation."""
    bare = context.rstrip()
    return bare, context[len(bare) :] + continuation


class Scorer:
    """Computes batches of log-likelihoods; on the compute thread only."""

    def __init__(self, loaded: Loaded, pad: int) -> None:
        self._loaded = loaded
        self._pad = pad
        self._encoder = bool(loaded.model.config.is_encoder_decoder)
        takes = inspect.signature(loaded.model.forward).parameters
        self._keeps = "logits_to_keep" in takes

    def run(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood]:
        """Score rows of any lengths.

        Raises:
            Cancelled, EngineClosed: the caller went away.
            RuntimeError: whatever the library raises.
        """
        if control.reason is not None:
            raise control.error()
        with torch.inference_mode():
            return self._pairs(rows) if self._encoder else self._joined(rows)

    def _joined(self, rows: Sequence[ScoreRow]) -> list[Likelihood]:
        """Rows that read the same (one-token choices of one question) are computed once.

        Padding stands on the right: what a row reads is where it is when it is alone.
        """
        inputs = {row: (*row.ids, *row.target[:-1]) for row in rows}
        places = {ids: at for at, ids in enumerate(dict.fromkeys(inputs.values()))}
        ids, mask = self._padded(list(places))
        width = ids.shape[1]
        begins = {row: len(row.ids) - 1 for row in rows}
        kept = width - min(begins.values()) if self._keeps else width
        more = {"logits_to_keep": kept} if self._keeps else {}
        logits = self._loaded.model(
            input_ids=ids, attention_mask=mask, use_cache=False, **more
        ).logits
        shift = width - int(logits.shape[1])
        return [self._row(row, logits[places[inputs[row]]], begins[row] - shift) for row in rows]

    def _pairs(self, rows: Sequence[ScoreRow]) -> list[Likelihood]:
        ids, mask = self._padded([row.ids for row in rows])
        decoder, decoder_mask = self._padded([(*row.begin, *row.target[:-1]) for row in rows])
        logits = self._loaded.model(
            input_ids=ids,
            attention_mask=mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
            use_cache=False,
        ).logits
        return [self._row(row, logits[at], len(row.begin) - 1) for at, row in enumerate(rows)]

    def _padded(self, lines: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        width = max(len(line) for line in lines)
        ids = [[*line, *[self._pad] * (width - len(line))] for line in lines]
        mask = [[1] * len(line) + [0] * (width - len(line)) for line in lines]
        device = self._loaded.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _row(self, row: ScoreRow, logits: Any, begin: int) -> Likelihood:
        """Read one row's numbers; `logits[begin]` predicts its first target token."""
        part = torch.log_softmax(logits[begin : begin + len(row.target)].float(), dim=-1)
        target = torch.tensor(row.target, device=part.device)[:, None]
        return Likelihood(
            id=row.id,
            token_ids=row.target,
            logprobs=tuple(part.gather(1, target)[:, 0].tolist()),
            best=tuple(part.argmax(dim=-1).tolist()),
            usage=Usage(prompt=len(row.ids), cut=row.cut, completion=len(row.target)),
        )
