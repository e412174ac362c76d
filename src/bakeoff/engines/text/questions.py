"""`TokenDesk`: what clients ask of a tokenizer besides texts; on the compute thread only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import TokenizerFacts
from bakeoff.core.requests import Messages, Prompt, Text
from bakeoff.engines.text.filling import File
from bakeoff.engines.text.prompts import PromptReader

_WORD_BEGINS = "▁"


@dataclass(frozen=True)
class TokenDesk:
    """Answers about one tokenizer.

    Attributes:
        tokenizer: the checkpoint's own.
        vocabulary: how many token ids the model takes.
        reader: reads prompts; None for an encoder.
    """

    tokenizer: Any
    vocabulary: int
    reader: PromptReader | None = None

    def facts(self) -> TokenizerFacts:
        """See `Engine.tokenizer`."""
        template = self.tokenizer.chat_template
        return TokenizerFacts(
            vocabulary=self.vocabulary,
            bos=self.tokenizer.bos_token,
            eos=self.tokenizer.eos_token,
            pad=self.tokenizer.pad_token,
            chat_template=template if isinstance(template, str) else None,
            fill_ends=() if self.reader is None else self.reader.filling.ends,
        )

    def read(self, prompt: Prompt, special: bool) -> list[int]:
        """See `Engine.read`."""
        if self.reader is None:
            return self._texts_alone(prompt, special)
        if isinstance(prompt, Text) and not special:
            return self.reader.plain(prompt.text)
        if isinstance(prompt, Text):
            return self.reader.encode(prompt.text)
        return self.reader.read(prompt).ids

    def _texts_alone(self, prompt: Prompt, special: bool) -> list[int]:
        if not isinstance(prompt, Text):
            raise UnsupportedOption("an encoder reads texts alone: send text", option="prompt")
        found = self.tokenizer(prompt.text, add_special_tokens=special, verbose=False)
        return list(found["input_ids"])

    def render(self, prompt: Messages) -> str:
        """See `Engine.render`."""
        if self.reader is None:
            raise UnsupportedOption("an encoder takes no conversations", option="messages")
        return self.reader.render(prompt)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """See `Engine.pieces`."""
        return [self._piece(token) for token in ids]

    def _piece(self, token: int) -> str:
        text = str(self.tokenizer.decode([token]))
        spelled = self.tokenizer.convert_ids_to_tokens(token)
        # a sentencepiece decoder drops the blank of the first word it is given
        begins = isinstance(spelled, str) and spelled.startswith(_WORD_BEGINS)
        return f" {text}" if begins and not text.startswith(" ") else text

    def fill(self, before: str, after: str, files: Sequence[File]) -> list[int]:
        """See `Engine.fill`."""
        if self.reader is None:
            raise UnsupportedOption("an encoder fills nothing in", option="suffix")
        return self.reader.filling.prompt(before, after, files)
