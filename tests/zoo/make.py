"""Train the zoo: `python tests/zoo/make.py [NAME ...]`, all models where none is named.

Same seed, library versions, and kind of processor give the same files; elsewhere the
last bits differ, the accuracy does not. `--restore` saves what is trained already once more, in
the precision that its recipe says now.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT.parent.parent))  # makes `tests` importable when run as a script

import torch  # noqa: E402

from tests.zoo.recipes import RECIPES  # noqa: E402
from tests.zoo.storing import LEAST, restore, store  # noqa: E402
from tests.zoo.training import train  # noqa: E402

THREADS = 1  # the sums, and so the files, depend on the number of threads
RESTORE = "--restore"


def say(line: str) -> None:
    """Report progress on standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Make the named models, or all; return the exit code."""
    names = [one for one in arguments if one != RESTORE]
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        say(f"unknown model {unknown[0]!r}; the zoo has {', '.join(RECIPES)}")
        return 2
    torch.set_num_threads(THREADS)
    for recipe in (RECIPES[name] for name in names or RECIPES):
        if RESTORE in arguments:
            accuracy = restore(recipe)
        else:
            model, tokenizer, spent = train(recipe, say)
            say(f"{recipe.name}: trained in {spent:.0f} s")
            accuracy = store(recipe, model, tokenizer, spent)
        kept = "" if accuracy >= LEAST else f": below {LEAST}, not kept"
        say(f"{recipe.name}: accuracy {accuracy:.4f} on {recipe.graded}{kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
