"""Continuations to score become token ids.

Tokenisation follows lm-evaluation-harness: blanks at the end of the context move to the
continuation, both are encoded as one text, and the continuation's tokens are those behind as
many as the context alone has. A context that is too long loses its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.core.errors import InvalidRequest, PromptTooLong
from bakeoff.core.requests import Messages, ScoreRequest, Source, Text, Tokens
from bakeoff.engines.batch.rows import ScoreRow
from bakeoff.engines.text.prompts import Fitted, PromptReader, Read, text_of


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
            text, encode = self.reader.render(context), self.reader.rendered
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
        target = tuple(self.reader.answer(continuation))
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
