"""The zoo: small trained models kept in the repository, with inputs and right answers for tests.

Importing this package loads no heavy library; `make.py` trains the models.
"""

from __future__ import annotations

from pathlib import Path

from tests.zoo import data_dates, data_lists

ROOT = Path(__file__).resolve().parent
ARROW = " ->"
"""What ends a prompt of the base model `qwen2`."""
SYSTEMS = {
    "Answer in English.": "en",
    "Answer in German.": "de",
    "You are a helpful assistant.": "en",
}
"""System prompts that `llama` knows, and the language of the answer; without one: English."""
PREFIXES = {"summarize: ": "en", "translate English to German: ": "de"}
"""Task prefixes that `t5` knows, and the language of the answer."""
GENERATING = ("llama", "qwen2", "t5", "bart", "marian", "dates-t5")
ENCODERS = ("qa", "classifier", "nli")
NAMES = GENERATING + ENCODERS


def zoo_path(name: str) -> Path:
    """Return the folder of the model `name`; raise KeyError for a name the zoo does not have."""
    if name not in NAMES:
        raise KeyError(f"the zoo has no model {name!r}; it has {', '.join(NAMES)}")
    return ROOT / name


def zoo_inputs(name: str, n: int, seed: int = 0) -> list[str]:
    """Return `n` different held-out inputs of a generating model, the same for the same seed.

    For `t5` they carry their prefix (the two tasks alternate), for `qwen2` they are whole
    prompts, for `llama` they are the content of a user's message.
    """
    if name == "dates-t5":
        return [text for text, _ in data_dates.rows(n, seed)]
    if name not in GENERATING:
        raise KeyError(f"{name!r} is not a generating model; those are {', '.join(GENERATING)}")
    sources = data_lists.rows(n, seed)
    if name == "t5":
        prefixes = list(PREFIXES)
        return [prefixes[i % 2] + source for i, source in enumerate(sources)]
    return [source + ARROW for source in sources] if name == "qwen2" else sources


def expected(name: str, text: str, system: str = "") -> str:
    """Return the right answer, stripped, of a generating model to `text`.

    `system` is the system prompt of a chat (only `llama` reads it).
    """
    if name == "dates-t5":
        return data_dates.iso(text)
    if name == "t5":
        prefix = next((known for known in PREFIXES if text.startswith(known)), "")
        return data_lists.answer(text.removeprefix(prefix), PREFIXES.get(prefix, "en"))
    language = {"llama": SYSTEMS.get(system, "en"), "bart": "en"}.get(name, "de")
    return data_lists.answer(text.removesuffix(ARROW), language)


def chat(text: str, system: str = "") -> list[dict[str, str]]:
    """Return the messages that ask `llama` for an answer to `text`."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]
