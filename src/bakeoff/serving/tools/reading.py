"""`Reader`: a text as it comes becomes words for the reader and calls of tools.

Whatever pieces the text comes in, the calls are the same, and so are the words when they are
put together. What may be the beginning of a call is held back until it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum

from bakeoff.serving.tools.forms import ToolForm
from bakeoff.serving.tools.objects import ObjectText, called


@dataclass(frozen=True, slots=True)
class Words:
    """What the model says beside its calls."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegins:
    """The call of that number, from 0, is of this tool."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsGoOn:
    """A piece of the JSON text of a call's arguments."""

    index: int
    text: str


Said = Words | CallBegins | ArgumentsGoOn


class _At(Enum):
    HEAD = "nothing but blanks was written"
    WORDS = "in words"
    CALLS = "where a call may begin"
    OBJECT = "in a call"
    BEHIND = "behind calls"


@dataclass
class Reader:
    """Reads one text.

    Attributes:
        form: in which its calls are written.
        tools: names of the tools that the request has.
        certain: whether a grammar makes every call right: arguments are then told as they come.
            Otherwise a call is told when it is complete, and one that is no JSON becomes words.
        most: calls that are told; later ones are dropped. None: all.
        calls: how many came.
    """

    form: ToolForm
    tools: Collection[str]
    certain: bool = False
    most: int | None = None
    calls: int = 0
    _at: _At = _At.HEAD
    _text: str = ""
    _held: str = ""
    _bare: bool = False
    _found: bool = False
    _object: ObjectText = field(default_factory=ObjectText)
    _told: int = 0
    _out: list[Said] = field(default_factory=list)

    def feed(self, text: str) -> list[Said]:
        """Take a piece; what is certain by now."""
        self._text += text
        steps: dict[_At, Callable[[], bool]] = {
            _At.HEAD: self._head,
            _At.WORDS: self._words,
            _At.CALLS: self._between,
            _At.OBJECT: self._inside,
            _At.BEHIND: self._behind,
        }
        while self._text and steps[self._at]():
            pass
        return self._given()

    def end(self) -> list[Said]:
        """The text is complete: what was held back, in words where it was no call."""
        begun = self._at is _At.OBJECT and self._object.name is not None and self.certain
        if not begun and self._at is not _At.BEHIND:
            inside = self._object.text if self._at is _At.OBJECT else ""
            self._say(self._held + inside + self._text)
        self._held = self._text = ""
        self._at = _At.BEHIND
        return self._given()

    # each step goes on from where the text stands; False where it needs more of it

    def _head(self) -> bool:
        begin = self._text.lstrip()
        if not begin:
            return False
        opens, bare = self.form.opens, self.form.bare
        if begin.startswith(opens):
            self._open(len(self._text) - len(begin) + len(opens), bare=False)
        elif opens.startswith(begin):
            return False
        elif bare and begin.startswith(bare):
            self._open(len(self._text) - len(begin), bare=True)
        else:
            self._at = _At.WORDS
        return True

    def _words(self) -> bool:
        opens = self.form.opens
        place = self._text.find(opens)
        if place < 0:
            kept = _beginning(self._text, opens)
            self._say(self._text[: len(self._text) - kept])
            self._text = self._text[len(self._text) - kept :]
            return False
        self._say(self._text[:place])
        self._text = self._text[place:]
        self._open(len(opens), bare=False)
        return True

    def _open(self, size: int, bare: bool) -> None:
        self._held += self._text[:size]
        self._text = self._text[size:]
        self._at, self._bare, self._found = _At.CALLS, bare, False

    def _between(self) -> bool:
        first = self._text[0]
        if first == "{":
            self._object, self._told, self._at = ObjectText(), 0, _At.OBJECT
            return True
        if first.isspace() or first in self.form.between:
            self._held += "" if self._found else first
            self._text = self._text[1:]
        elif self._found:
            self._at = _At.BEHIND
        else:
            self._give_up("")
        return True

    def _give_up(self, inside: str) -> None:
        """It is no call."""
        self._say(self._held + inside)
        self._held, self._at = "", _At.WORDS

    def _inside(self) -> bool:
        for at, character in enumerate(self._text):
            self._object.push(character)
            if self._object.done:
                self._text = self._text[at + 1 :]
                self._end_object()
                return True
        self._text = ""
        self._tell_arguments()
        return False

    def _end_object(self) -> None:
        self._tell_arguments()
        if self.certain and self._object.name is not None:
            self._count()
            return
        call = called(self._object.text, self.tools if self._bare else None)
        if call is None:
            self._give_up(self._object.text)
            return
        if self._wanted:
            self._out += [CallBegins(self.calls, call.name)]
            self._out += [ArgumentsGoOn(self.calls, call.arguments)]
        self._count()

    def _tell_arguments(self) -> None:
        if not (self.certain and self._wanted) or self._object.name is None:
            return
        if not self._told:
            self._out.append(CallBegins(self.calls, self._object.name))
        new = self._object.arguments[self._told :]
        if new:
            self._out.append(ArgumentsGoOn(self.calls, new))
        self._told = len(self._object.arguments)

    @property
    def _wanted(self) -> bool:
        return self.most is None or self.calls < self.most

    def _count(self) -> None:
        self.calls += 1
        self._held, self._found = "", True
        self._at = _At.BEHIND if self.form.closes else _At.CALLS

    def _behind(self) -> bool:
        """Blanks and marks that end calls do not show; anything else is words, or another call."""
        closes = self.form.closes
        self._text = self._text.lstrip()
        if not self._text or (closes and closes.startswith(self._text)):
            return False
        if closes and self._text.startswith(closes):
            self._text = self._text[len(closes) :]
            return True
        self._at = _At.WORDS
        return True

    def _say(self, text: str) -> None:
        if text:
            self._out.append(Words(text))

    def _given(self) -> list[Said]:
        out, self._out = self._out, []
        return out


def _beginning(text: str, mark: str) -> int:
    """Length of the longest ending of `text` that may be the beginning of `mark`."""
    most = min(len(text), len(mark) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(mark[:size])), 0)
