"""`TokenDesk`: what clients ask of a tokenizer besides texts; on the compute thread only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import TokenizerFacts
from bakeoff.core.requests import Messages, Prompt, Text
from bakeoff.engines.checkpoint import FIM_TOKENS
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

    def fill(self, before: str, after: str) -> list[int]:
        """See `Engine.fill`."""
        known = set(self.tokenizer.get_vocab())
        spelled = next((names for names in FIM_TOKENS if known.issuperset(names)), None)
        if spelled is None or self.reader is None:
            raise UnsupportedOption(
                "the model's tokenizer has no fill-in-the-middle tokens: leave `suffix` out",
                option="suffix",
            )
        ids = [int(one) for one in self.tokenizer.convert_tokens_to_ids(list(spelled))]
        prefix, suffix = self.reader.plain(before), self.reader.plain(after)
        begin = self._beginning()
        if len(ids) == 2:  # Codestral: the suffix stands first, and nothing opens the middle
            return [*begin, ids[1], *suffix, ids[0], *prefix]
        return [*begin, ids[0], *prefix, ids[1], *suffix, ids[2]]

    def _beginning(self) -> list[int]:
        """The token that begins each text, where the tokenizer puts one."""
        bos = self.tokenizer.bos_token_id
        ids = list(self.tokenizer("x", verbose=False)["input_ids"])
        return [bos] if bos is not None and ids[:1] == [bos] else []
