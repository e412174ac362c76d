"""`Filling`: prompts that ask for what stands between two texts, in the tokenizer's own tokens.

The families differ in their tokens, in what comes first, and in how a filled text ends:

| family | prompt | ends with |
|---|---|---|
| Code Llama | `▁<PRE>` before `▁<SUF>` after `▁<MID>` | `▁<EOT>` |
| Qwen-Coder | `<|fim_prefix|>` before `<|fim_suffix|>` after `<|fim_middle|>` | `<|endoftext|>` |
| Granite 4 | the same | `<|end_of_text|>` |
| CodeGemma | the same | `<|file_separator|>` |
| StarCoder, Granite | `<fim_prefix>` before `<fim_suffix>` after `<fim_middle>` | `<|endoftext|>` |
| DeepSeek | `<｜fim▁begin｜>` before `<｜fim▁hole｜>` after `<｜fim▁end｜>` | end of sequence |
| Codestral | `[SUFFIX]` after `[PREFIX]` before | end of sequence |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.engines.checkpoint import FIM_TOKENS

File = tuple[str, str]
"""Name and text of another file."""
_ENDS = (
    "▁<EOT>", "<|endoftext|>", "<|end_of_text|>", "<|fim_pad|>", "<fim_pad>", "<|repo_name|>",
    "<repo_name>", "<|file_sep|>", "<file_sep>", "<|file_separator|>", "<|filename|>",
    "<｜end▁of▁sentence｜>",
)  # fmt: skip
"""Tokens that end a filled text, where a tokenizer has them: what comes next is another one."""
_FILES = (("<|repo_name|>", "<|file_sep|>"), ("<repo_name>", "<file_sep>"))
"""Tokens before the name of a repository and of a file: Qwen-Coder, StarCoder 2."""
_WORD_BEGINS = "▁"
_MARK = "☺"
_CODE_LLAMA = re.compile(r"\A ?<PRE> (.*?) <SUF>(.*) <MID>\Z", re.DOTALL)
"""Code Llama's prompt as editors write it out; its tokenizer reads these marks as plain text."""


@dataclass(frozen=True)
class Filling:
    """What one tokenizer has for filling in; on the compute thread only.

    Attributes:
        tokenizer: the checkpoint's own.
    """

    tokenizer: Any

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """How its tokens are spelled, as in `FIM_TOKENS`; None where it has none."""
        known = set(self.tokenizer.get_vocab())
        return next((names for names in FIM_TOKENS if known.issuperset(names)), None)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Tokens that end a filled text, besides the end of sequence; its own marks are some."""
        known = self.tokenizer.get_vocab()
        names = (*_ENDS, *(self.names or ()))
        return tuple(sorted(known[name] for name in names if self.names and name in known))

    def prompt(self, before: str, after: str, files: Sequence[File] = ()) -> list[int]:
        """The prompt that asks for what stands between two texts.

        Special tokens that a text spells are plain text here: it is somebody's file.

        Raises:
            UnsupportedOption: the tokenizer has no such tokens.
        """
        if self.names is None:
            raise UnsupportedOption(
                "the model's tokenizer has no fill-in-the-middle tokens: leave `suffix` out",
                option="suffix",
            )
        ids = [self._id(name) for name in self.names]
        other, ahead = self._others(files)
        prefix, suffix = self._literal(ahead + before), self._inner(after)
        begin = [*self._beginning(), *other]
        if len(ids) == 2:  # Codestral: the suffix stands first, and nothing opens the middle
            return [*begin, ids[1], *suffix, ids[0], *prefix]
        return [*begin, ids[0], *prefix, ids[1], *suffix, ids[2]]

    def spelled(self, text: str) -> list[int] | None:
        """The prompt that a text writes out in marks which the tokenizer reads as plain text."""
        found = _CODE_LLAMA.match(text) if self.names == ("▁<PRE>", "▁<SUF>", "▁<MID>") else None
        return self.prompt(found[1], found[2]) if found else None

    def stops(self, texts: Sequence[str]) -> frozenset[int]:
        """Tokens that stop strings spell: their text is never shown, so it would not be found."""
        added = self.tokenizer.get_added_vocab() if texts else {}
        spellings = [spelling for text in texts for spelling in (text, _WORD_BEGINS + text)]
        return frozenset(int(added[one]) for one in spellings if one in added)

    def _others(self, files: Sequence[File]) -> tuple[list[int], str]:
        """Other files: as tokens where there are some for that, else as text before the prefix."""
        known = self.tokenizer.get_vocab()
        marks = next((both for both in _FILES if known.keys() >= set(both)), None)
        if not files or marks is None:
            return [], "".join(f"--- {name} ---\n{text}\n" for name, text in files)
        repository, file = (self._id(name) for name in marks)
        ids = [repository, *self._literal("repository\n")]
        for name, text in files:
            ids += [file, *self._literal(f"{name}\n{text}\n")]
        return [*ids, file], ""

    def _id(self, name: str) -> int:
        return int(self.tokenizer.convert_tokens_to_ids(name))

    def _literal(self, text: str) -> list[int]:
        found = self.tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, verbose=False
        )
        return list(found["input_ids"])

    def _inner(self, text: str) -> list[int]:
        """Ids of a text that goes on from another: without the blank that some put before all."""
        first = self.tokenizer.convert_ids_to_tokens(self._literal("x")[:1])
        if not (first and str(first[0]).startswith(_WORD_BEGINS)):
            return self._literal(text)
        mark, whole = self._literal(_MARK), self._literal(_MARK + text)
        return whole[len(mark) :] if whole[: len(mark)] == mark else self._literal(text)

    def _beginning(self) -> list[int]:
        """The token that begins each text, where the tokenizer puts one."""
        bos = self.tokenizer.bos_token_id
        ids = list(self.tokenizer("x", verbose=False)["input_ids"])
        return [bos] if bos is not None and ids[:1] == [bos] else []
