"""A chat template tried out on made-up turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Turn = tuple[str, str]
"""Role and words."""
SYSTEM: Turn = ("system", "zq rule qz")
USER: Turn = ("user", "zq hello qz")
ASSISTANT: Turn = ("assistant", "zq answer qz")


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template wrote.

    Attributes:
        text: empty where it refused.
        refused: why it wrote nothing, or empty.
    """

    text: str
    refused: str = ""


def render(tokenizer: Any, *turns: Turn, answer: bool = False) -> Rendering:
    """Render turns; with `answer`, ready for the assistant's words."""
    messages = [{"role": role, "content": words} for role, words in turns]
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=answer)
    except Exception as error:  # a template raises what it likes
        return Rendering("", " ".join(f"{type(error).__name__}: {error}".split()))
    return Rendering(str(text))


def shown(text: str, most: int = 60) -> str:
    """A piece of a rendering for one line: line breaks as they are written in code."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else quoted[: most - 4] + "...'"
