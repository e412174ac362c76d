"""Custom: a template over any columns."""

from __future__ import annotations

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Roles
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import TaskSpec
from bakeoff.tasks.prompting import TextTask, required
from bakeoff.tasks.summarization import REFERENCE_NAMES


class Custom(TextTask):
    """Needs `template`; no role is required, but a source that is mapped must not be blank."""

    kind = "custom"
    roles = Roles(
        required=(),
        optional=("id", "source", "question", "context", "choices", "reference", "group"),
        guesses={"reference": REFERENCE_NAMES, "id": ("id",)},
    )
    default_metrics = ("exact_match", "length")

    def __init__(self, spec: TaskSpec) -> None:
        if spec.template is None:
            raise InvalidSpec("task custom needs `template:`, a Jinja template over the columns")
        super().__init__(spec)

    def check_row(self, row: TaskRow) -> None:
        """Whether a source that the spec names a column for is there.

        Raises:
            BadRow: it is blank.
        """
        if row.source is not None:
            required(row, "source")

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """What a baseline reads: its column, else the source, else the rendered template."""
        if facts.reads_column is not None or row.source is not None or self.template is None:
            return super().payload(row, facts)
        return self.template.render(row)
