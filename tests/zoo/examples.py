"""The one shape in which training examples of every task travel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One training or test example.

    `source` is the input, `target` the right answer as text or label; `pair` is the second text
    of a pair (context, hypothesis), `span` the answer's start and end in it (None: no answer),
    `system` a system prompt and `turns` earlier turns of a chat, `hints`
    characters (first, end) of the pair that training may point at, `flags` facts on the whole,
    `languages` the tags of source and target where a model is told them.
    """

    source: str
    target: str
    pair: str = ""
    span: tuple[int, int] | None = None
    system: str = ""
    turns: tuple[dict[str, str], ...] = ()
    hints: tuple[tuple[tuple[int, int], ...], ...] = ()
    flags: tuple[bool, ...] = ()
    languages: tuple[str, str] = ("", "")
