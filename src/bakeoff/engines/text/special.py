"""`Special`: the token ids that begin, end and pad texts, from wherever a checkpoint says them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bakeoff.engines.text.chat import rules_of

_BYTE = re.compile(r"^<0x[0-9A-Fa-f]{2}>$")
_BY_START = ("MBartTokenizer", "MBartTokenizerFast")
"""mBART's decoder starts with the language; mBART-50, NLLB and M2M100 write it first."""
_MARKER = re.compile(r"^(?:<{1,2}[^<>\s]{1,38}>{1,2}|\[{1,2}[^\[\]\s]{1,38}\]{1,2})")
"""One marker: what follows it may be the next turn's, which a prompt opens by itself."""


@dataclass(frozen=True, slots=True)
class Special:
    """Token ids with a meaning.

    Attributes:
        end: end-of-sequence *set*: generation config, config and tokenizer together.
        pad: fills up a batch; masked, so it may be any token.
        bos: begins a text, or None.
        start: what a decoder reads first (encoder-decoder), or None.
        first: token that a decoder is forced to begin with, or None.
        last: token that is forced at the limit of a text, or None.
        turn_end: tokens that end the assistant's turn in the chat template.
        turn_stops: the same, where the template spells it and the tokenizer has no token for it.
        byte_ids: tokens that stand for one byte each.
        silent: why the chat template did not show how it ends a turn, or None.
    """

    end: frozenset[int]
    pad: int
    bos: int | None
    start: int | None
    first: int | None
    last: int | None
    turn_end: frozenset[int]
    turn_stops: tuple[str, ...]
    byte_ids: frozenset[int]
    silent: str | None = None
    by_start: bool = False
    """Whether a target language takes the place of `start` rather than that of `first`."""

    def beginning(self, language: int | None) -> tuple[int | None, int | None]:
        """What a decoder reads first and is forced to write first, for a target language."""
        if language is None:
            return self.start, self.first
        return (language, self.first) if self.by_start else (self.start, language)

    @classmethod
    def of(cls, config: Any, said: Any, tokenizer: Any, vocabulary: int) -> Special:
        """Read them from a checkpoint.

        Args:
            config: its configuration.
            said: its generation configuration.
            tokenizer: its tokenizer.
            vocabulary: how many token ids the model takes.
        """
        places = (said, config)
        end = _ids(getattr(place, "eos_token_id", None) for place in places)
        end |= _ids([tokenizer.eos_token_id])
        end = frozenset(token for token in end if token < vocabulary)  # no model writes the others
        bos = _one("bos_token_id", *places, tokenizer)
        start = _one("decoder_start_token_id", *places)
        pad = _one("pad_token_id", tokenizer, *places)
        if pad is None or pad >= vocabulary:
            pad = min(end, default=0)  # some tokenizers pad with a token the model never had
        rules = rules_of(tokenizer)
        turn_end, turn_stops = _turn(tokenizer, rules.closing)
        return cls(
            end=end,
            pad=pad,
            bos=bos,
            start=bos if start is None else start,
            first=_one("forced_bos_token_id", said),
            last=_one("forced_eos_token_id", said),
            turn_end=turn_end,
            turn_stops=turn_stops,
            byte_ids=frozenset(
                token for name, token in tokenizer.get_vocab().items() if _BYTE.match(name)
            ),
            silent=rules.silent,
            by_start=type(tokenizer).__name__ in _BY_START,
        )


def _ids(values: Iterable[Any]) -> frozenset[int]:
    found: set[int] = set()
    for value in values:
        if isinstance(value, int):
            found.add(value)
        elif value is not None:
            found.update(int(one) for one in value)
    return frozenset(one for one in found if one >= 0)


def _one(name: str, *places: Any) -> int | None:
    """The first id that a place has under this name."""
    for place in places:
        value = getattr(place, name, None)
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, int) and value >= 0:
            return value
    return None


def _turn(tokenizer: Any, behind: str) -> tuple[frozenset[int], tuple[str, ...]]:
    """The token that ends the assistant's turn, or its spelling where there is no such token."""
    ids = tokenizer(behind, add_special_tokens=False)["input_ids"] if behind else []
    known = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    if ids and ids[0] in known:
        return frozenset({ids[0]}), ()
    spelled = _MARKER.match(behind)
    return frozenset(), (spelled[0],) if spelled else ()
