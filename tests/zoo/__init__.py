"""The zoo: small trained models kept in the repository, with inputs and right answers for tests.

Importing this package loads no heavy library; `make.py` trains the models.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.zoo import data_dates, data_lists

ROOT = Path(__file__).resolve().parent
ARROW = " ->"
"""What ends a prompt of a decoder-only model that does not chat."""
SYSTEMS = {
    "Answer in English.": "en",
    "Answer in German.": "de",
    "You are a helpful assistant.": "en",
}
"""System prompts that the chat models know, and the language of the answer; without: English.

`gemma3` has no system role: there they begin the user's first message, before an empty line.
"""
PREFIXES = {"summarize: ": "en", "translate English to German: ": "de"}
"""Task prefixes that `t5` knows, and the language of the answer."""
_MADE = json.loads((ROOT / "zoo.json").read_text(encoding="utf-8"))
"""Models that are trained; a recipe whose model is not made yet has no part in the tests."""


def _made(*names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in _MADE)


TAGS = {
    "mbart": {"en": "en_XX", "de": "de_DE"},
    "m2m100": {"en": "en", "de": "de"},
    "nllb": {"en": "eng_Latn", "de": "deu_Latn"},
}
"""Models that are told both languages by tokens -> the tags of those they are trained in."""
TRANSLATORS = {name: tags for name, tags in TAGS.items() if name in _MADE}
CHATS = _made("llama", "qwen3", "gemma3", "phi3")
"""Models with a chat template; they answer in English unless the system prompt wants German."""
CAUSAL = _made(*CHATS, "qwen2", "mistral", "gpt2", "opt", "gpt-neox")
SEQ2SEQ = _made("t5", "bart", "marian", "pegasus", "mt5", *TRANSLATORS, "dates-t5")
ENGLISH = ("bart", "pegasus", "gpt2", "opt")
"""Models that know English alone; those that are named nowhere here write German."""
GENERATING = CAUSAL + SEQ2SEQ
ENCODERS = ("qa", "classifier", "nli")
NAMES = GENERATING + ENCODERS


def zoo_path(name: str) -> Path:
    """Return the folder of the model `name`; raise KeyError for a name the zoo does not have."""
    if name not in NAMES:
        raise KeyError(f"the zoo has no model {name!r}; it has {', '.join(NAMES)}")
    return ROOT / name


def zoo_inputs(name: str, n: int, seed: int = 0) -> list[str]:
    """Return `n` different held-out inputs of a generating model, the same for the same seed.

    For `t5` they carry their prefix (the two tasks alternate), for decoder-only models they are
    the content of a user's message or, where there is no chat, whole prompts.
    """
    if name == "dates-t5":
        return [text for text, _ in data_dates.rows(n, seed)]
    if name not in GENERATING:
        raise KeyError(f"{name!r} is not a generating model; those are {', '.join(GENERATING)}")
    sources = data_lists.rows(n, seed)
    if name == "t5":
        prefixes = list(PREFIXES)
        return [prefixes[i % 2] + source for i, source in enumerate(sources)]
    continues = name in CAUSAL and name not in CHATS
    return [source + ARROW for source in sources] if continues else sources


def expected(name: str, text: str, system: str = "", language: str = "") -> str:
    """Return the right answer, stripped, of a generating model to `text`.

    `system` is the system prompt of a chat, `language` what one of `TRANSLATORS` is told to write.
    """
    if name == "dates-t5":
        return data_dates.iso(text)
    if name == "t5":
        prefix = next((known for known in PREFIXES if text.startswith(known)), "")
        return data_lists.answer(text.removeprefix(prefix), PREFIXES.get(prefix, "en"))
    own = "en" if name in ENGLISH else SYSTEMS.get(system, "en") if name in CHATS else "de"
    return data_lists.answer(text.removesuffix(ARROW), language or own)


def chat(text: str, system: str = "") -> list[dict[str, str]]:
    """Return the messages that ask a chat model for an answer to `text`."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]
