"""A checkpoint's tokenizer, ready for use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import transformers

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines.templates import default_template
from bakeoff.engines.text.languages import make_special


def load_tokenizer(ref: ModelRef, folder: Path, remote: dict[str, Any] | None = None) -> Any:
    """Load a tokenizer, its chat template and language tokens in order.

    Args:
        ref: of the model, for `use_fast`.
        folder: where the tokenizer's files lie.
        remote: arguments for code that comes with a checkpoint.

    Raises:
        UnsupportedOption: it has no version in Python, which `use_fast: false` asks for.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        str(folder), use_fast=ref.use_fast, **(remote or {})
    )
    if not ref.use_fast and tokenizer.is_fast:
        raise UnsupportedOption(
            f"use_fast is false, but {type(tokenizer).__name__} of {ref.uri} has no version "
            f"in Python in transformers {transformers.__version__}: leave use_fast out",
            option="use_fast",
        )
    named = tokenizer.chat_template
    tokenizer.chat_template = _older_template(folder) if named is None else default_template(named)
    make_special(tokenizer)
    return tokenizer


def _older_template(folder: Path) -> str | None:
    """The template of `chat_template.json`, which the library reads for processors alone."""
    path = folder / "chat_template.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
    return found if isinstance(found, str) else None
