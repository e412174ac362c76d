"""`Languages`: how a translation model is told its languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.requests import Source
from bakeoff.engines.languagecodes import marked_language


@dataclass(frozen=True)
class Languages:
    """The languages that a tokenizer knows.

    Attributes:
        codes: language tag -> id of its token.
        prefixes: language tag -> text that is written before the source (Marian's `>>fra<<`,
            MADLAD's `<2fr>`); it names the target alone.
        source: the tokenizer's own source language, or None where it has none.
    """

    codes: dict[str, int]
    prefixes: dict[str, str]
    source: str | None

    @classmethod
    def of(cls, tokenizer: Any) -> Languages:
        """Read them from a tokenizer."""
        source = getattr(tokenizer, "src_lang", None)
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        if source is not None:
            return cls(_codes(tokenizer, vocabulary), {}, source)
        marks = {code: name for name in vocabulary if (code := marked_language(name))}
        return cls({}, marks, None)

    def unknown(self, prompt: Source) -> list[str]:
        """Names of the fields of a source that this tokenizer cannot honour."""
        wrong = []
        if prompt.source_language is not None and prompt.source_language not in self.codes:
            wrong.append("source_language")
        target = prompt.target_language
        if target is not None and target not in self.codes and target not in self.prefixes:
            wrong.append("target_language")
        return wrong

    def check(self, prompt: Source) -> None:
        """Raise for a language that is not known.

        Raises:
            UnsupportedOption: names the option, the value and some tags that are known.
        """
        for option in self.unknown(prompt):
            known = sorted({*self.codes, *self.prefixes})
            listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
            hint = f"it knows {listed}" if known else "it has no language tags: leave it out"
            raise UnsupportedOption(
                f"{option} is {getattr(prompt, option)!r}, which the model's tokenizer does not "
                f"know; {hint}",
                option=option,
            )

    def marked(self, prompt: Source) -> str:
        """The source with the mark for its target language, where the model wants one."""
        mark = self.prefixes.get(prompt.target_language or "")
        return f"{mark} {prompt.text}" if mark else prompt.text

    def target(self, prompt: Source) -> int | None:
        """Id of the target language's token, or None."""
        return self.codes.get(prompt.target_language or "")


def make_special(tokenizer: Any) -> None:
    """Tell a tokenizer that its language tokens are special, so that no text shows them.

    M2M100's adds 100 languages to every vocabulary, but knows as special only those that its files
    name as such: without them each translation would begin with `__de__`.
    """
    ids: dict[str, int] = getattr(tokenizer, "lang_token_to_id", None) or {}
    lacking = [token for token in ids if token not in tokenizer.added_tokens_encoder]
    if not lacking or len(tokenizer.get_vocab()) != ids[lacking[0]]:
        return  # they would get other ids than those that the model was trained with
    tokenizer.add_special_tokens(
        {"extra_special_tokens": lacking}, replace_extra_special_tokens=False
    )


def _codes(tokenizer: Any, vocabulary: dict[str, int]) -> dict[str, int]:
    """Tags of the tokens that name a language: `en_XX`, `eng_Latn`, or `en` for `__en__`."""
    listed: dict[str, int] = getattr(tokenizer, "lang_code_to_id", None) or {}
    if listed and hasattr(tokenizer, "lang_token_to_id"):  # M2M100: `de` itself may be a word
        return dict(listed)
    if listed:  # made with the class; a vocabulary that is read later may move the tokens
        return {tag: vocabulary.get(tag, token) for tag, token in listed.items()}
    special = {*tokenizer.all_special_tokens, *tokenizer.added_tokens_encoder}
    basic = set(tokenizer.special_tokens_map.values() if tokenizer.special_tokens_map else ())
    found = {}
    for name in special:
        if isinstance(name, str) and name in vocabulary and not name.startswith(("<", "[")):
            found[name.strip("_") if name.startswith("__") else name] = vocabulary[name]
    return {tag: token for tag, token in found.items() if tag not in basic}
