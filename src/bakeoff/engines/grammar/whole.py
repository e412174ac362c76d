"""Whether a whole text follows a grammar; for engines that do not write token by token."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.core.errors import InvalidRequest
from bakeoff.core.requests import Grammar
from bakeoff.engines.grammar.trial import library_grammar, short

_END = 256


@dataclass(frozen=True)
class _Bytes:
    """A vocabulary of bytes and an end, as the library takes a tokenizer."""

    tokens: tuple[bytes, ...] = (*(bytes([one]) for one in range(256)), b"<end>")
    special_token_ids: tuple[int, ...] = (_END,)
    eos_token_id: int = _END
    bos_token_id: int | None = None

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


def follows(text: str, grammar: Grammar) -> bool:
    """Whether the grammar allows exactly this text.

    Raises:
        InvalidRequest: the grammar is wrong, or beyond what the library supports.
    """
    from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

    try:
        written = library_grammar(grammar.kind, grammar.text)
    except ValueError as error:
        raise InvalidRequest(f"the grammar cannot be read: {short(str(error))}") from error
    tokens = LLTokenizer(TokenizerWrapper(_Bytes()), n_vocab=_END + 1, eos_token=[_END])
    matcher = LLMatcher(tokens, written, log_level=0)
    if matcher.is_error():
        raise InvalidRequest(f"the grammar cannot be used: {short(matcher.get_error())}")
    data = text.encode()
    return bool(matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())
