"""A CSV of 1,000,000 rows is planned in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Result

SCRIPT = """
import resource, sys
from pathlib import Path
from bakeoff.core.specs import RunSpec
from bakeoff.jobs.asking import asked_with
from bakeoff.jobs.outlook import outlook
from bakeoff.jobs.plan import planned_rows
from bakeoff.jobs.planning import RunOptions, make_plan
from bakeoff.store.files.journal import JournalIndex

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

before = peak()
folder = Path(sys.argv[1])
spec = RunSpec.model_validate({"name": "big", "dataset": str(folder / "big.csv"),
    "columns": {"id": "id", "source": "text"}, "task": "text-generation", "metrics": [],
    "models": ["fake://echo"]})
plan = make_plan(spec, RunOptions(folder=folder / "runs"))
contender = next(iter(plan.contenders.values()))
rows = planned_rows(contender, plan.dataset, plan.roles, 1)
asked = asked_with(plan.spec, plan.spec.models[0], plan.roles)
view = outlook(contender, rows, JournalIndex(folder / "none"), asked)
print(view.todo, peak() - before)
"""


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Peak memory over the interpreter with bakeoff imported."""
    rows = int(1_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.csv"
        with path.open("w") as file:
            file.write("id,text\n")
            for number in range(rows):
                file.write(f'{number},"row {number}, with some text in it that goes on a little"\n')
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder], capture_output=True, text=True, check=True
        )
    todo, megabytes = done.stdout.split()
    assert int(todo) == rows, done.stdout
    yield Result(
        "1,000,000 rows planned: memory over the interpreter",
        float(megabytes),
        "MB",
        300.0,
        "at most",
    )
