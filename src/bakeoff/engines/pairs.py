"""The one pair of languages that a translation model was made for, where its files say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bakeoff.core.modelfacts import LanguagePair

_OPUS = re.compile(r"^opus-[a-z0-9.-]*?(?P<source>[A-Za-z_]{2,})-(?P<target>[A-Za-z_]{2,})$")
"""Names of the Marian models of the University of Helsinki: `opus-mt-en-de`,
`opus-mt-tc-big-en-pt`."""
_TASK = re.compile(r"^translation_(?P<source>.+)_to_(?P<target>.+)$")


def made_for(
    name: str, config: Mapping[str, Any], tokenizer: Mapping[str, Any]
) -> LanguagePair | None:
    """The pair of a one-pair model; either side may be a group of languages.

    Args:
        name: of the repository or the folder, without the owner.
        config: `config.json`.
        tokenizer: `tokenizer_config.json`.
    """
    listed = config.get("langs") or tokenizer.get("langs")  # FSMT
    if isinstance(listed, list) and len(listed) == 2:
        return LanguagePair(str(listed[0]), str(listed[1]), "`langs` of its configuration")
    if config.get("model_type") != "marian":
        return None
    said = (tokenizer.get("source_lang"), tokenizer.get("target_lang"))
    if all(isinstance(side, str) and side for side in said) and said[0] != said[1]:
        origin = "source_lang and target_lang in its tokenizer_config.json"
        return LanguagePair(str(said[0]), str(said[1]), origin)
    match = _OPUS.match(name.rsplit("/", 1)[-1])
    return LanguagePair(match["source"], match["target"], "its name") if match else None


def pair_of_task(hint: str) -> LanguagePair | None:
    """The pair of an entry of `task_specific_params`, for example `translation_en_to_de`."""
    match = _TASK.match(hint)
    if match is None:
        return None
    return LanguagePair(match["source"], match["target"], f"task_specific_params.{hint}")
