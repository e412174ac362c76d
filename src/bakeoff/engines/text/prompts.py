"""Prompts become token ids: rendered once, tokenised once, refused or cut by a stated rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bakeoff.core.errors import InvalidRequest, PromptTooLong, TemplateFailed
from bakeoff.core.requests import Messages, Prompt, Source, Text, Tokens, Truncate
from bakeoff.engines.text.chat import ChatRules, rules_of
from bakeoff.engines.text.filling import Filling
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.special import Special


class Read(NamedTuple):
    """A prompt as the model reads it.

    Attributes:
        ids: token ids, special tokens included.
        chat: whether it was rendered by the chat template.
        cuttable: whether a part of it may be dropped.
        language: token of the target language, or None.
    """

    ids: list[int]
    chat: bool = False
    cuttable: bool = False
    language: int | None = None


class Fitted(NamedTuple):
    """Ids that fit the window, and how many were dropped."""

    ids: list[int]
    cut: int


@dataclass(frozen=True)
class PromptReader:
    """Reads prompts with one tokenizer; on the compute thread only.

    Attributes:
        tokenizer: the checkpoint's own.
        special: its special tokens.
        languages: the languages it has tokens for.
        vocabulary: how many token ids the model takes.
        continues: whether the model goes on where the prompt ends (decoder-only): then a prompt
            that is cut loses its beginning, since its end says what is to be written.
        chat: how conversations are put to the tokenizer's chat template.
        filling: what it has for filling in.
    """

    tokenizer: Any
    special: Special
    languages: Languages
    vocabulary: int
    continues: bool = False
    chat: ChatRules = field(init=False)
    filling: Filling = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filling", Filling(self.tokenizer))
        object.__setattr__(self, "chat", rules_of(self.tokenizer))

    def read(self, prompt: Prompt) -> Read:
        """Tokenise a prompt, whatever its length.

        Raises:
            TemplateFailed: the chat template refused the conversation, or there is none.
            UnsupportedOption: a language that the tokenizer does not know.
            InvalidRequest: a token id that the model does not have, or nothing to read.
        """
        if isinstance(prompt, Tokens):
            read = Read(self._checked(prompt.ids))
        elif isinstance(prompt, Messages):
            read = Read(self.rendered(self.render(prompt)), chat=True)
        elif isinstance(prompt, Source):
            read = self._source(prompt)
        else:
            read = self._text(prompt.text)
        if read.ids:
            return read
        return read._replace(ids=[self.begin()])

    def _text(self, text: str) -> Read:
        spelled = self.filling.spelled(text) if self.continues else None
        return Read(self.encode(text), cuttable=True) if spelled is None else Read(spelled)

    def begin(self) -> int:
        """The token that stands for an empty text, as lm-evaluation-harness has it.

        Raises:
            InvalidRequest: the model has none.
        """
        begin, own = self.special.bos, self.tokenizer.eos_token_id
        if begin is None:
            begin = own if own in self.special.end else min(self.special.end, default=None)
        if begin is None:
            raise InvalidRequest("the prompt is empty: write at least one character")
        return begin

    def render(self, prompt: Messages) -> str:
        """The conversation as the checkpoint's own template writes it, ready for an answer."""
        if not self.tokenizer.chat_template:
            raise TemplateFailed(
                "the model has no chat template: send text, or name under `tokenizer:` one that has"
            )
        try:
            text = self.tokenizer.apply_chat_template(
                self.chat.arrange(prompt.messages),
                tools=[json.loads(one.text) for one in prompt.tools] or None,
                tokenize=False,
                add_generation_prompt=True,
            )
        except Exception as error:  # a template may raise anything; it costs this row alone
            raise TemplateFailed(f"the chat template refused the conversation: {error}") from error
        return self.chat.finish(str(text))

    def encode(self, text: str) -> list[int]:
        """Ids with the special tokens of the tokenizer; BOS once, even if the text spells it."""
        ids: list[int] = self.tokenizer(text, verbose=False)["input_ids"]
        bos = self.special.bos
        doubled = len(ids) > 1 and ids[0] == ids[1] == bos
        if doubled and text.startswith(str(self.tokenizer.bos_token)):
            return ids[1:]
        return ids

    def rendered(self, text: str) -> list[int]:
        """Ids of a rendered conversation; BOS once, even if the template writes it twice."""
        ids = self.plain(text)
        doubled = len(ids) > 1 and ids[0] == ids[1] == self.special.bos
        return ids[1:] if doubled else ids

    def plain(self, text: str) -> list[int]:
        """Ids of the text alone; no special token is added."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def answer(self, text: str) -> list[int]:
        """Ids of a text as an encoder-decoder writes it: Marian splits its target otherwise."""
        if self.languages.source is not None:  # one vocabulary; its target mode needs a language
            return self.plain(text)
        ids: list[int] = self.tokenizer(text_target=text, add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return ids

    def _source(self, prompt: Source) -> Read:
        self.languages.check(prompt)
        text = self.languages.marked(prompt)
        own = self.languages.source
        if prompt.source_language is None or prompt.source_language == own:
            ids = self.encode(text)
        else:
            self.tokenizer.src_lang = prompt.source_language
            try:
                ids = self.encode(text)
            finally:
                self.tokenizer.src_lang = own
        return Read(ids, cuttable=True, language=self.languages.target(prompt))

    def _checked(self, ids: Sequence[int]) -> list[int]:
        for token in ids:
            if not 0 <= token < self.vocabulary:
                raise InvalidRequest(f"token id {token} is not in 0 to {self.vocabulary - 1}")
        return list(ids)

    def fit(self, read: Read, limit: int | None, truncate: Truncate, keep: int) -> Fitted:
        """Make a prompt fit, or refuse it.

        Args:
            read: the prompt.
            limit: most tokens that it may have, or None.
            truncate: what the request wants done.
            keep: most tokens that stay where it is cut.

        Raises:
            PromptTooLong: it does not fit and may not be cut.
        """
        ids = read.ids
        if limit is None or len(ids) <= (keep if self._may_cut(read, truncate) else limit):
            return Fitted(ids, 0)
        if not self._may_cut(read, truncate):
            dropped = "beginning" if self.continues else "end"
            hint = f"set truncate: cut to drop the {dropped}" if read.cuttable else "shorten it"
            raise PromptTooLong(len(ids), limit, hint)
        frame = self._framing(ids[::-1] if not self.continues else ids)
        if keep <= frame:
            raise PromptTooLong(len(ids), limit, "the window has no room for any text")
        cut = len(ids) - keep
        at = frame if self.continues else keep - frame
        return Fitted(ids[:at] + ids[at + cut :], cut)

    def _may_cut(self, read: Read, truncate: Truncate) -> bool:
        return truncate == "cut" and read.cuttable

    def _framing(self, ids: Sequence[int]) -> int:
        """How many special tokens stand first: they stay when text is cut."""
        special = set(self.tokenizer.all_special_ids)
        return next((at for at, token in enumerate(ids) if token not in special), len(ids))


def text_of(prompt: Text | Source, languages: Languages) -> str:
    """The text of a prompt that is not a conversation."""
    return languages.marked(prompt) if isinstance(prompt, Source) else prompt.text
