"""The chat template that transformers would take, read from a checkpoint's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT = "default"
"""The name of the template that is used where none is named."""


@dataclass(frozen=True)
class TemplateFiles:
    """What a checkpoint offers.

    Attributes:
        text: the template that is used; empty where there is none.
        others: names of further templates (`tool_use`, `rag`), which are not used.
    """

    text: str = ""
    others: tuple[str, ...] = ()


def read_templates(
    folder: Path, tokenizer: Mapping[str, Any], older: Mapping[str, Any]
) -> TemplateFiles:
    """The template, and the names of those that are left.

    In transformers' order: `chat_template.jinja` and `additional_chat_templates/*.jinja` replace
    what `tokenizer_config.json` holds. `chat_template.json`, which the library reads for
    processors alone, comes last.

    Args:
        folder: of the tokenizer.
        tokenizer: its `tokenizer_config.json`.
        older: its `chat_template.json`.
    """
    named = _files(folder) or _named(tokenizer.get("chat_template"))
    text = default_template(named)
    if not named:
        text = default_template(_named(older.get("chat_template")))
    return TemplateFiles(text or "", tuple(sorted(named.keys() - {DEFAULT})))


def default_template(templates: Any) -> str | None:
    """Of templates by name, or a single one: the one that is used without asking, or None."""
    found = templates.get(DEFAULT) if isinstance(templates, Mapping) else templates
    return found if isinstance(found, str) and found else None


def _files(folder: Path) -> dict[str, str]:
    extra = sorted((folder / "additional_chat_templates").glob("*.jinja"))
    paths = {path.stem: path for path in extra}
    whole = folder / "chat_template.jinja"
    if whole.is_file():
        paths[DEFAULT] = whole
    return {name: path.read_text("utf-8", errors="replace") for name, path in paths.items()}


def _named(said: Any) -> dict[str, str]:
    if isinstance(said, str) and said:
        return {DEFAULT: said}
    if not isinstance(said, list):
        return {}
    pairs = [(e.get("name"), e.get("template")) for e in said if isinstance(e, dict)]
    return {str(name): text for name, text in pairs if isinstance(text, str)}
