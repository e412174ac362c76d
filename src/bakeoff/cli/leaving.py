"""How the process ends after a signal: one line, and a further signal has nothing left to stop."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

from bakeoff.core.codes import ExitCode

RESUMES = "interrupted: finished rows are kept, the same command resumes"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def say_and_leave(number: int, frame: FrameType | None) -> None:
    """Handler for a signal that comes while an interrupted run still closes."""
    sys.stderr.write(RESUMES + "\n")
    sys.stderr.flush()
    os._exit(ExitCode.INTERRUPTED)


def last_word(text: str) -> None:
    """Say it once, whatever signals come meanwhile; from here on a signal ends the process."""
    _ignore()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    for number in _SIGNALS:
        signal.signal(number, _leave)
    # threads are joined by then; what is left takes no time, and Python takes its handlers away
    atexit.register(_ignore)


def _ignore() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(ExitCode.INTERRUPTED)
