"""`Checker`: whether a grammar can be used, found out in a process that may be killed.

Schemas and expressions come from clients. A library that compiles them could take very long, all
memory or the process with it; what was tried out before is compiled in the engine.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.core.errors import InvalidRequest, ServerBusy
from bakeoff.core.requests import Grammar
from bakeoff.engines.grammar import trial

SECONDS = 5.0
"""For a grammar, the start of a process included."""
_KEPT = 512
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class GrammarLimits:
    """How large a grammar may be.

    Attributes:
        chars: of its text.
        depth: of lists and objects inside one another in a schema.
        seconds: that trying it out may take.
    """

    chars: int = 64 * 1024
    depth: int = 64
    seconds: float = SECONDS


@dataclass(eq=False)
class Checker:
    """Remembers what it found out about the last grammars.

    Attributes:
        limits: of each grammar.
        command: starts the process that tries a grammar out.
        tried: how many processes were started.
    """

    limits: GrammarLimits = field(default_factory=GrammarLimits)
    command: tuple[str, ...] = (sys.executable, "-P", trial.__file__)
    tried: int = 0
    _known: OrderedDict[str, str | None] = field(default_factory=OrderedDict)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def check(self, grammar: Grammar, name: str) -> None:
        """Refuse a grammar that cannot be used.

        Args:
            grammar: that a text should follow.
            name: the field that holds it, for the message.

        Raises:
            InvalidRequest: it passes a limit, is wrong, or the library does not support it.
            ServerBusy: no process could be started to find out.
        """
        if grammar.kind == "json_object":
            return
        self._bound(grammar, name)
        key = hashlib.sha256(f"{grammar.kind}\0{grammar.text}".encode()).hexdigest()
        if key not in self._known:
            async with self._places:
                if key not in self._known:
                    self._remember(key, await self._refusal(grammar))
        self._known.move_to_end(key)
        refusal = self._known[key]
        if refusal is not None:
            raise InvalidRequest(f"{name}: {_WHAT[grammar.kind]}: {refusal}", field=name)

    def _bound(self, grammar: Grammar, name: str) -> None:
        if len(grammar.text) > self.limits.chars:
            raise InvalidRequest(
                f"{name} has {len(grammar.text)} characters: at most {self.limits.chars} are "
                "allowed",
                field=name,
            )
        if grammar.kind == "json_schema" and depth_of(grammar.text) > self.limits.depth:
            raise InvalidRequest(
                f"{name} is nested deeper than {self.limits.depth} levels", field=name
            )

    def _remember(self, key: str, refusal: str | None) -> None:
        self._known[key] = refusal
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    async def _refusal(self, grammar: Grammar) -> str | None:
        self.tried += 1
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
            )
        except OSError as error:
            raise ServerBusy(f"no process to try the grammar out could be started: {error}") from (
                error
            )
        said = json.dumps({"kind": grammar.kind, "text": grammar.text}).encode()
        try:
            async with asyncio.timeout(self.limits.seconds):
                out, _ = await process.communicate(said)
        except TimeoutError:
            return f"it takes longer than {self.limits.seconds:g} s to compile: write a smaller one"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _told(out)


_WHAT: Mapping[str, str] = {
    "json_schema": "the schema cannot be used",
    "regex": "the regular expression cannot be used",
    "grammar": "the grammar cannot be used",
}


def _told(out: bytes) -> str | None:
    """What the process said; one that ended without a word was brought down by the grammar."""
    try:
        refusal = json.loads(out)["refusal"]
    except (ValueError, KeyError, TypeError):
        return "compiling it failed: write a smaller one"
    return None if refusal is None else str(refusal)


def depth_of(text: str) -> int:
    """How deep lists and objects lie inside one another in JSON text."""
    deepest = depth = 0
    inside = escaped = False
    for character in text:
        if inside:
            inside = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
