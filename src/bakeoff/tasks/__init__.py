"""Layer 1: what is asked of each row.

A task turns a row into requests, and their outcomes into an answer.
"""

from __future__ import annotations

from typing import Protocol

from bakeoff.core.ports import Task
from bakeoff.core.registry import Registry
from bakeoff.core.specs import TaskSpec


class TaskFactory(Protocol):
    """Builds a task from its spec; the class itself."""

    kind: str

    def __call__(self, spec: TaskSpec) -> Task:
        """Check the spec.

        Raises:
            InvalidSpec: a field is missing, or does not belong to this task.
        """


TASKS: Registry[TaskFactory] = Registry(
    "task",
    {
        "summarization": "bakeoff.tasks.summarization:Summarization",
        "translation": "bakeoff.tasks.translation:Translation",
        "text-generation": "bakeoff.tasks.text_generation:TextGeneration",
        "question-answering": "bakeoff.tasks.question_answering:QuestionAnswering",
        "text-classification": "bakeoff.tasks.text_classification:TextClassification",
        "multiple-choice": "bakeoff.tasks.multiple_choice:MultipleChoice",
        "custom": "bakeoff.tasks.custom:Custom",
    },
)


def build_task(spec: TaskSpec) -> Task:
    """The task that a spec names.

    Raises:
        UnknownName: no such kind; near matches are named.
        InvalidSpec: the spec does not fit the kind.
    """
    return TASKS.get(spec.kind)(spec)
