"""What an engine raises against its contract becomes a failure of that model, with its cause."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bakeoff.core.errors import BakeoffError, EngineFailed, ModelLoadFailed, OutOfMemory


@contextmanager
def translated(
    doing: str,
    kind: type[EngineFailed] | type[ModelLoadFailed],
    foreign: Callable[[], BaseException | None] = lambda: None,
) -> Iterator[None]:
    """Whatever the block raises that is no `BakeoffError`, as one.

    `SystemExit` is among it: code that comes with a checkpoint must not end the run, let alone as
    if it had succeeded. Ctrl-C and cancellation pass.

    Args:
        doing: what was going on, for the message.
        kind: what is raised; `OutOfMemory` where memory was lacking.
        foreign: an exception that only passed through the block and is left as it is.
    """
    try:
        yield
    except BakeoffError:
        raise
    except MemoryError as problem:
        raise OutOfMemory(f"out of memory while {doing}") from problem
    except (Exception, SystemExit) as problem:
        if problem is foreign():
            raise
        raise kind(_said(problem, doing)) from problem


def _said(problem: BaseException, doing: str) -> str:
    if isinstance(problem, SystemExit):
        return f"the model's code ended the program (exit {problem.code}) while {doing}"
    said = " ".join(str(problem).split())
    return f"{type(problem).__name__} while {doing}" + (f": {said}" if said else "")


def cause_of(problem: BakeoffError) -> str | None:
    """The traceback behind a translated error, for the log; None where bakeoff raised it itself."""
    cause = problem.__cause__
    if cause is None or isinstance(cause, BakeoffError):
        return None
    return "".join(traceback.format_exception(cause))
