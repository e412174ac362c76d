"""Train the zoo: `python tests/zoo/make.py [NAME ...]`, all models where none is named.

Same seed, library versions, and kind of processor give the same files; elsewhere the
last bits differ, the accuracy does not.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT.parent.parent))  # makes `tests` importable when run as a script

import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

from tests.zoo.recipes import RECIPES  # noqa: E402
from tests.zoo.training import Recipe, held_out, train  # noqa: E402

THREADS = 1  # the sums, and so the files, depend on the number of threads


def say(line: str) -> None:
    """Report progress on standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _entry(recipe: Recipe, model: Any, folder: Path, accuracy: float, spent: float) -> Any:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {
        "task": recipe.task,
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
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
    path = ROOT / "zoo.json"
    zoo = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    zoo[name] = entry
    text = json.dumps(dict(sorted(zoo.items())), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def make(recipe: Recipe) -> None:
    """Train one model, save its folder and record it in zoo.json."""
    model, tokenizer, spent = train(recipe, say)
    folder = ROOT / recipe.name
    if folder.exists():
        shutil.rmtree(folder)
    if hasattr(model, "hint_head"):
        del model.hint_head  # only training needs it
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # the library writes weights readable by their owner only
    accuracy = recipe.grade(model, tokenizer, held_out(recipe, recipe.graded))
    _record(recipe.name, _entry(recipe, model, folder, accuracy, spent))
    say(f"{recipe.name}: accuracy {accuracy:.4f} on {recipe.graded}, {spent:.0f} s")


def main(names: list[str]) -> int:
    """Make the named models, or all; return the exit code."""
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        say(f"unknown model {unknown[0]!r}; the zoo has {', '.join(RECIPES)}")
        return 2
    torch.set_num_threads(THREADS)
    for name in names or RECIPES:
        make(RECIPES[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
