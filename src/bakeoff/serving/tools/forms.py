"""The forms in which models write calls; which one, the chat template says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolForm:
    """How calls stand in a text: JSON objects with a name and arguments, one after the other.

    Attributes:
        opens: what begins a call, or a list of calls, anywhere in the text. It may be a special
            token, which does not show: then `bare` tells a call.
        closes: what stands behind a call; empty for nothing.
        bare: what begins calls at the head of a text without `opens`; empty where nothing does.
            Only calls of tools that the request has count there.
        between: characters that may stand between calls, blanks aside.
        key: under which the arguments are written; other forms' keys are read as well.
        writes: what is put before the first call, between two, and behind the last, where a
            grammar makes the model call.
        several: whether a model that is made to call may call more than once.
        id_size: letters and digits of a call's id, or None where any id will do.
    """

    opens: str
    closes: str = ""
    bare: str = ""
    between: str = ""
    key: str = "arguments"
    writes: tuple[str, str, str] = ("", "", "")
    several: bool = True
    id_size: int | None = None


FORMS: dict[str, ToolForm] = {
    "hermes": ToolForm(
        opens="<tool_call>",
        closes="</tool_call>",
        writes=("<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"),
    ),
    "llama3": ToolForm(
        opens="<|python_tag|>", bare="{", between=";", key="parameters", several=False
    ),
    "mistral": ToolForm(
        opens="[TOOL_CALLS]", bare="[", between="[,]", writes=("[", ", ", "]"), id_size=9
    ),
}
"""By the names that `ChatFacts.tools` has."""
KEYS = ("arguments", "parameters")
