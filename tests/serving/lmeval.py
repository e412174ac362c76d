"""Runs lm-eval in a process of its own: reads what to evaluate from stdin, writes to a file.

Each entry is {"model", "model_args", "tasks", "batch_size", "chat"}; the answer to each is
{"results": {task: metrics}, "samples": {task: {doc_id: [response, ...]}}}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.tasks import TaskManager


def main() -> None:
    asked = json.load(sys.stdin)
    manager = TaskManager(include_path=asked["folder"], include_defaults=False)
    made = [evaluate(one, manager) for one in asked["entries"]]
    Path(asked["folder"], "made.json").write_text(json.dumps(made), encoding="utf-8")


def evaluate(entry: dict[str, Any], manager: TaskManager) -> dict[str, Any]:
    found = lm_eval.simple_evaluate(
        model=entry["model"],
        model_args=entry["model_args"],
        tasks=entry["tasks"],
        batch_size=entry["batch_size"],
        apply_chat_template=entry["chat"],
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
    )
    samples = {
        task: {str(one["doc_id"]): one["resps"] for one in rows}
        for task, rows in found["samples"].items()
    }
    return {"results": found["results"], "samples": samples}


if __name__ == "__main__":
    main()
