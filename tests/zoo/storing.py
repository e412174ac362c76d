"""Save a trained model of the zoo, grade what was saved, and record it in zoo.json."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from tests.zoo.training import Recipe, held_out

ROOT = Path(__file__).resolve().parent
RECORD = ROOT / "zoo.json"
LEAST = 0.97
"""Accuracy below which a model is not kept: its texts would prove little."""


def store(recipe: Recipe, model: Any, tokenizer: Any, spent: float) -> float:
    """Save a model in its folder and record it, if it is good enough; return its accuracy."""
    accuracy = recipe.grade(_rounded(recipe, model), tokenizer, held_out(recipe, recipe.graded))
    if accuracy >= LEAST:
        folder = ROOT / recipe.name
        if folder.exists():
            shutil.rmtree(folder)
        tokenizer.save_pretrained(folder)
        _save(recipe, model, folder)
        _record(recipe.name, _entry(recipe, model, folder, accuracy, spent))
    return accuracy


def restore(recipe: Recipe) -> float:
    """Save a trained model again, as its recipe now says; return its accuracy.

    The tokenizer's files stay: saved a second time they would hold how they were loaded.
    """
    folder = ROOT / recipe.name
    spent = json.loads(RECORD.read_text(encoding="utf-8"))[recipe.name]["training_seconds"]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = getattr(transformers, config["architectures"][0])
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    accuracy = recipe.grade(_rounded(recipe, model), tokenizer, held_out(recipe, recipe.graded))
    _save(recipe, model, folder)
    _record(recipe.name, _entry(recipe, model, folder, accuracy, spent))
    return accuracy


def _rounded(recipe: Recipe, model: Any) -> Any:
    """The model with the weights that will be stored, to compute in full precision."""
    if hasattr(model, "hint_head"):
        del model.hint_head  # only training needs it
    return model.half().float() if recipe.half else model


def _save(recipe: Recipe, model: Any, folder: Path) -> None:
    (model.half() if recipe.half else model).save_pretrained(folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # the library writes weights readable by their owner only
        if recipe.half and path.suffix == ".json":
            _pack(path)


def _pack(path: Path) -> None:
    """Write JSON without line breaks: half a tokenizer's file is indentation."""
    found = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8")


def _entry(recipe: Recipe, model: Any, folder: Path, accuracy: float, spent: float) -> Any:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {
        "task": recipe.task,
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "stored": "float16" if recipe.half else "float32",
        "seed": recipe.seed,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "accuracy": round(accuracy, 4),
        "graded": recipe.graded,
        "training_seconds": round(spent),
        "bytes": sum(path.stat().st_size for path in files),
        "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        },
    }


def _record(name: str, entry: Any) -> None:
    zoo = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    zoo[name] = entry
    text = json.dumps(dict(sorted(zoo.items())), indent=2, ensure_ascii=False)
    RECORD.write_text(text + "\n", encoding="utf-8")
