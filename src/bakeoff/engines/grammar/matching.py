"""`Matching`: guides by llguidance, for the tokens of one model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bakeoff.core.errors import BakeoffError, EngineFailed, InvalidRequest, UnsupportedOption
from bakeoff.core.requests import Grammar
from bakeoff.engines.grammar.port import Allowed
from bakeoff.engines.grammar.trial import library_grammar, short
from bakeoff.engines.grammar.vocabulary import spelled

_KEPT = 64
"""Compiled grammars."""


@dataclass(eq=False)
class Matching:
    """Compiles each grammar once; `Guides`. The library is loaded with the first grammar.

    Attributes:
        tokenizer: the checkpoint's own.
        ends: tokens that end a text of this model.
        size: how many token ids the model takes.
    """

    tokenizer: Any
    ends: frozenset[int]
    size: int
    _tokens: Any = None
    _compiled: OrderedDict[Grammar, Any] = field(default_factory=OrderedDict)

    def open(self, grammar: Grammar, ends: frozenset[int]) -> LibraryGuide:
        """See `Guides.open`."""
        if not ends or not self.ends:
            raise UnsupportedOption(
                "the model has no token that ends a text, so that none can follow a grammar",
                option="grammar",
            )
        if grammar not in self._compiled:
            self._compiled[grammar] = self._compile(grammar)
            while len(self._compiled) > _KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(grammar)
        return LibraryGuide(self._compiled[grammar].deep_copy(), ends)

    def _compile(self, grammar: Grammar) -> Any:
        if self._tokens is None:
            self._tokens = self._read_tokens()
        from llguidance import LLMatcher

        try:
            written = library_grammar(grammar.kind, grammar.text)
        except ValueError as error:
            raise InvalidRequest(f"the grammar cannot be read: {short(str(error))}") from error
        made = LLMatcher(self._tokens, written, log_level=0)
        if made.is_error():
            raise InvalidRequest(f"the grammar cannot be used: {short(made.get_error())}")
        return made

    def _read_tokens(self) -> Any:
        try:
            return read_tokens(self.tokenizer, self.ends, self.size)
        except BakeoffError:
            raise
        except Exception as error:  # the library raises what it likes on a tokenizer
            raise UnsupportedOption(
                f"grammars need a tokenizer that llguidance can read: {short(str(error))}",
                option="grammar",
            ) from error


def read_tokens(tokenizer: Any, ends: frozenset[int], size: int) -> Any:
    """The vocabulary as the library keeps it.

    Args:
        tokenizer: the checkpoint's own.
        ends: tokens that end a text.
        size: how many token ids the model takes.
    """
    from llguidance import LLTokenizer, TokenizerWrapper
    from llguidance.hf import from_tokenizer

    most, first = max(size, len(tokenizer)), sorted(ends)
    try:
        return from_tokenizer(tokenizer, n_vocab=most, eos_token=first)
    except ValueError:  # no fast tokenizer, or a decoder that the library does not know
        if getattr(tokenizer, "separate_vocabs", False):
            raise
        wrapped = TokenizerWrapper(spelled(tokenizer, most, first[0]))
        return LLTokenizer(wrapped, n_vocab=most, eos_token=first)


@dataclass(eq=False)
class LibraryGuide:
    """Follows one text; a `Guide`.

    Attributes:
        matcher: the library's state.
        ends: tokens that end the text.
    """

    matcher: Any
    ends: frozenset[int]
    _read: int = 0

    def allowed(self, written: Sequence[int]) -> Allowed:
        """See `Guide.allowed`."""
        new = list(written[self._read :])
        if new and not self.matcher.consume_tokens(new):
            raise EngineFailed(f"the text left its grammar: {short(self.matcher.get_error())}")
        self._read = len(written)
        complete = self.matcher.is_accepting()
        if self.matcher.is_stopped():
            found = np.zeros(0, dtype=bool)
        else:
            bits = np.frombuffer(self.matcher.compute_bitmask(), dtype=np.uint8)
            found = np.unpackbits(bits, bitorder="little").astype(bool)
        if self.matcher.is_error():
            raise EngineFailed(f"the grammar is too large: {short(self.matcher.get_error())}")
        return self._with_ends(found, complete)

    def _with_ends(self, found: Allowed, complete: bool) -> Allowed:
        most = max(self.ends) + 1
        if len(found) < most:
            found = np.concatenate([found, np.zeros(most - len(found), dtype=bool)])
        found[list(self.ends)] = complete
        if not found.any():
            raise UnsupportedOption(
                "none of the model's tokens can go on with this grammar: it has no token for a "
                "character that has to come",
                option="grammar",
            )
        return found
