"""The bytes of each token, for tokenizers that the library cannot read by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_WORD_BEGINS = "▁"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class Spelled:
    """A sentencepiece vocabulary as the library takes a tokenizer; named as it wants them.

    Attributes:
        tokens: bytes of each token.
        special_token_ids: tokens that stand for no text.
        eos_token_id: one that ends a text.
        bos_token_id: none is needed.
        reader: the tokenizer itself.
    """

    tokens: Sequence[bytes]
    special_token_ids: Sequence[int]
    eos_token_id: int
    reader: Any
    bos_token_id: int | None = None

    def __call__(self, text: str | bytes) -> list[int]:
        """Ids of a text."""
        said = text.decode(errors="ignore") if isinstance(text, bytes) else text
        found: list[int] = self.reader(said, add_special_tokens=False, verbose=False)["input_ids"]
        return found


def spelled(tokenizer: Any, size: int, eos: int) -> Spelled:
    """The vocabulary of a tokenizer whose tokens begin words with U+2581.

    Args:
        tokenizer: the checkpoint's own.
        size: how many token ids there are.
        eos: a token that ends a text.
    """
    special = {token for token in tokenizer.all_special_ids if token < size}
    special |= {eos}
    names = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
    tokens = [_bytes(name) for name in names] + [b""] * (size - len(names))
    # a token without bytes could come for ever
    special |= {token for token, said in enumerate(tokens) if not said}
    for token in special:
        tokens[token] = b"\xff<[%d]>" % token
    return Spelled(tokens, sorted(special), eos, tokenizer)


def _bytes(name: Any) -> bytes:
    if not isinstance(name, str):
        return b""
    byte = _BYTE.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else name.replace(_WORD_BEGINS, " ").encode()
