"""What a chat template needs done to a conversation; found out by asking it.

Templates differ in what they take: some have no place for a system prompt, some insist that user
and assistant take turns, some forget a part. A few made-up turns show which; `ChatRules` then
holds for every conversation. docs/chat-templates.md lists the decisions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jinja2

from bakeoff.core.requests import Message
from bakeoff.core.rows import Notice
from bakeoff.engines.text.arranging import folded, joined, turn_of
from bakeoff.engines.text.toolforms import tool_form

Turns = list[dict[str, Any]]
Render = Callable[[Turns, bool], str]
"""Turns, and whether the assistant's turn is to be opened -> text. Raises what it likes."""

_SYSTEM, _USER, _OTHER = "zqrule", "zqhello", "zqagain"
_ANSWER = "zq answer qz"
_NONE = re.compile(r"\bNone\b")


@dataclass(frozen=True, slots=True)
class ChatRules:
    """How conversations are put to one template.

    Attributes:
        system: whether it has a place for a system prompt; where not, the system prompt goes
            before the next user's turn, with a blank line between.
        alternates: whether neighbours of one role have to be joined, with a blank line between.
        opens: whether an empty system message goes before a conversation that has none, since
            the template refuses, or writes "None", without.
        parts: whether it reads a message's content as a list of parts, not as a text.
        header: what begins the assistant's turn, where the template writes it before the
            assistant's words but does not end a prompt with it; else empty.
        closing: what it writes behind the assistant's words.
        silent: why it wrote no assistant's turn, or None.
        error: why it renders no user's turn at all; empty where it does.
        notices: what a person should know.
        tools: in which form it has tools called, see `tool_form`; empty where it has no place.
    """

    system: bool = True
    alternates: bool = False
    opens: bool = False
    parts: bool = False
    header: str = ""
    closing: str = ""
    silent: str | None = None
    error: str = ""
    notices: tuple[Notice, ...] = ()
    tools: str = ""

    def arrange(self, messages: Iterable[Message]) -> Turns:
        """The conversation as the template takes it."""
        turns = list(messages)
        if not self.system:
            turns = folded(turns)
        if self.alternates:
            turns = joined(turns)
        if self.opens and turns and turns[0].role != "system":
            turns = [Message("system", ""), *turns]
        return [turn_of(turn, self._content(turn.content)) for turn in turns]

    def _content(self, text: str) -> Any:
        return [{"type": "text", "text": text}] if self.parts else text

    def finish(self, text: str) -> str:
        """The rendered conversation, ready for the assistant's words."""
        return text + self.header


def rules_of(tokenizer: Any) -> ChatRules:
    """The rules for a tokenizer's own template; those that change nothing where it has none."""
    if not tokenizer.chat_template:
        return ChatRules()

    def render(turns: Turns, opened: bool) -> str:
        made = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=opened)
        return str(made)

    return study(render, str(tokenizer.chat_template), str(tokenizer.bos_token or ""))


def study(render: Render, source: str, bos: str = "") -> ChatRules:
    """Try a template out.

    Args:
        render: renders turns by it.
        source: its text.
        bos: the token that begins a text, or empty.
    """
    return _Study(render, source, bos).rules()


class _Study:
    """The questions that are put to one template, each building on those before."""

    def __init__(self, render: Render, source: str, bos: str) -> None:
        self._render = render
        self._source = source
        self._bos = bos
        self._opens = self._parts = False
        self._error = ""
        self._notices: list[Notice] = []

    def rules(self) -> ChatRules:
        plain = self._find_a_way()
        if plain is None:
            text = f"the chat template renders no user's turn: {self._error}"
            self._tell("chat-template-fails", text)
            return ChatRules(silent=self._error, error=self._error, notices=tuple(self._notices))
        system = self._has_system()
        self._check_none(plain, system)
        closing, silent = self._closing()
        header = "" if silent else self._header()
        self._check_bos()
        return ChatRules(
            system=system,
            alternates=not self._shows(("user", _USER), ("user", _OTHER)),
            opens=self._opens,
            parts=self._parts,
            header=header,
            closing=closing,
            silent=silent,
            notices=tuple(self._notices),
            tools=tool_form(self._source),
        )

    def _find_a_way(self) -> str | None:
        """A user's turn as it stands, in parts, or behind an empty system message."""
        reasons = []
        for parts, opens in ((False, False), (True, False), (False, True)):
            self._parts, self._opens, self._error = parts, opens, ""
            text = self._asked(("user", _USER))
            if text is not None and _USER in text:
                return text
            reasons.append(self._error or "it leaves the user's words out")
        self._error = reasons[0]
        return None

    def _has_system(self) -> bool:
        return self._shows(("system", _SYSTEM), ("user", _USER))

    def _check_none(self, plain: str, system: bool) -> None:
        """The word None where nothing was given, as an f-string would print it."""
        if not self._prints_none(plain):
            return
        told = self._asked(("system", _SYSTEM), ("user", _USER)) if system else None
        if told is None or self._prints_none(told):
            self._tell("template-prints-none", "the chat template writes None into each prompt")
            return
        self._opens = True
        again = self._asked(("user", _USER))
        self._opens = again is not None and not self._prints_none(again)
        done = "it is given an empty one" if self._opens else "give one"
        text = f"the chat template writes None where there is no system message: {done}"
        self._tell("template-prints-none", text)

    def _prints_none(self, text: str) -> bool:
        """Whether the word stands where the template's author did not write it."""
        for line in _meant(self._source):
            text = text.replace(line, "")
        return _NONE.search(text) is not None

    def _closing(self) -> tuple[str, str | None]:
        text = self._asked(("user", _USER), ("assistant", _ANSWER))
        if text is None:
            why = f"how it ends a turn is unknown ({self._error})"
            what = "the chat template does not render a user's and an assistant's turn, so that "
            self._tell("chat-template-fails", what + why)
            return "", self._error
        return text.rpartition(_ANSWER)[2].strip() if _ANSWER in text else "", None

    def _header(self) -> str:
        """What the template writes before the assistant's words and leaves out of a prompt."""
        prompt, bare = self._asked(("user", _USER), opened=True), self._asked(("user", _USER))
        whole = self._asked(("user", _USER), ("assistant", _ANSWER))
        if prompt != bare or bare is None or whole is None or not whole.startswith(bare):
            return ""
        header = whole[len(bare) :].partition(_ANSWER)[0]
        if not header.strip() or _ANSWER not in whole:
            return ""
        text = f"the chat template does not open the assistant's turn: {header!r} is put behind it"
        self._tell("generation-prompt-missing", text)
        return header

    def _check_bos(self) -> None:
        text = self._asked(("user", _USER), opened=True) or ""
        if self._bos and text.startswith(self._bos + self._bos):
            text = f"the chat template writes {self._bos} twice: one of them is dropped"
            self._tell("bos-twice", text)

    def _shows(self, *turns: tuple[str, str]) -> bool:
        text = self._asked(*turns)
        return text is not None and all(words in text for _, words in turns)

    def _asked(self, *turns: tuple[str, str], opened: bool = False) -> str | None:
        rules = ChatRules(opens=self._opens, parts=self._parts)
        try:
            return self._render(rules.arrange(Message(*turn) for turn in turns), opened)
        except Exception as error:  # templates raise what they like
            self._error = " ".join(f"{type(error).__name__}: {error}".split())
            return None

    def _tell(self, code: str, text: str) -> None:
        self._notices.append(Notice(code, text))


def _meant(source: str) -> Iterator[str]:
    """The lines with the word None that a template writes as they stand, the longest first.

    A string that is this word and nothing else stands for something that was not given.
    """
    tokens = jinja2.Environment().lex(source)
    texts = [text for _, kind, text in tokens if kind in ("data", "string")]
    parts = [text.replace("\\n", "\n").strip("'\"") for text in texts]
    lines = {line.strip() for part in parts for line in part.splitlines()}
    kept = (line for line in lines if _NONE.search(line) and line != "None")
    return iter(sorted(kept, key=len, reverse=True))
