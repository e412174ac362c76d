"""200 sampled texts of zoo models. Refresh with `python -m tests.golden.sampled`.

Refresh only when a model of the zoo was trained again, or when the definition of a draw changes
on purpose: users' stored texts change with it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.contract.targets import Target, texts
from tests.zoo import zoo_path

FILE = Path(__file__).with_name("sampled.json")
MODELS = ("llama", "t5")
EACH = 100
SETTINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 2.5},
    {"temperature": 3.5, "top_p": 0.9},
    {"temperature": 4.0, "top_k": 20},
    {"temperature": 4.0, "min_p": 0.05},
    {"temperature": 3.0},
    {"temperature": 3.5, "top_k": 50, "top_p": 0.95, "repetition_penalty": 1.1},
    {"temperature": 3.0, "frequency_penalty": 0.3, "presence_penalty": 0.2},
    {"temperature": 2.5, "no_repeat_ngram_size": 3, "min_new_tokens": 20},
    {"temperature": 3.0, "logit_bias": ((30, 2.0), (31, -5.0))},
    {"temperature": 5.0, "top_p": 0.7},
)
"""Hot enough that models which are sure of themselves still choose."""


def digest(model: str) -> str:
    """SHA-256 of a model's weights."""
    return hashlib.sha256((zoo_path(model) / "model.safetensors").read_bytes()).hexdigest()


def draw(model: str) -> list[str]:
    """The texts of one model, all in one call."""
    target = Target(model)
    engine = target.open()
    prompts = target.inputs(EACH // len(SETTINGS))
    requests = [
        target.ask(prompts[at // len(SETTINGS)], f"{at}", max_new_tokens=32, seed=at % 7,
                   **SETTINGS[at % len(SETTINGS)])
        for at in range(EACH)
    ]  # fmt: skip
    return texts(engine, requests)


def main() -> None:
    golden = {model: {"weights": digest(model), "texts": draw(model)} for model in MODELS}
    FILE.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.stderr.write(f"wrote {FILE}\n")


if __name__ == "__main__":
    main()
