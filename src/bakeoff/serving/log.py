"""The server's log: one line a request, and faults; never a prompt unless the operator said so."""

from __future__ import annotations

import logging
import traceback

from bakeoff.core.errors import BakeoffError
from bakeoff.serving.problems import Problem, Refusal, problem_of

LOG = logging.getLogger("bakeoff.serving")


def told(error: Exception) -> Problem:
    """The problem behind an error; a fault of the server itself goes to the log.

    The log gets the fault's type and place without its message, which may hold a prompt.
    """
    if not isinstance(error, (Refusal, BakeoffError)):
        frames = "".join(traceback.format_tb(error.__traceback__))
        LOG.error("a fault in bakeoff: %s\n%s", type(error).__name__, frames)
    return problem_of(error)


def printable(text: str, limit: int = 200) -> str:
    """Text from outside as it may stand in a log line or a header: ASCII, one line, bounded."""
    short = text if len(text) <= limit else text[:limit] + "..."
    return short.encode("ascii", "backslashreplace").decode().translate(_CONTROL)


_CONTROL = {code: "?" for code in (*range(32), 127)}
