"""How much one rendering may do: steps, bytes and seconds, counted while it runs."""

from __future__ import annotations

import time
from contextvars import ContextVar

from bakeoff.core.errors import TemplateFailed

MAX_STEPS = 1_000_000
MAX_BYTES = 64 * 1024 * 1024
MAX_SECONDS = 5.0


class Budget:
    """Counts one rendering.

    Jinja gives no way to stop a template from outside, so everything that can repeat or grow
    (loops, calls, filters, comparisons, output) asks here.
    """

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        self._steps = 0
        self._bytes = 0
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    @property
    def left(self) -> int:
        """Bytes that may still be made."""
        return MAX_BYTES - self._bytes

    def step(self) -> None:
        """One turn of a loop, one call, one filter, one comparison.

        Raises:
            TemplateFailed: too many steps, or too much time.
        """
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TemplateFailed(f"the template took more than {MAX_STEPS} steps")
        if time.monotonic() > self._deadline:
            raise TemplateFailed(f"the template took more than {self._seconds:g} s")

    def allocate(self, size: int) -> None:
        """So many bytes are about to be made, or were.

        Raises:
            TemplateFailed: more than allowed, over the whole rendering.
        """
        self._bytes += size
        if self._bytes > MAX_BYTES:
            raise TemplateFailed(f"the template made more than {MAX_BYTES // 2**20} MiB of text")


CURRENT: ContextVar[Budget | None] = ContextVar("CURRENT", default=None)


def current() -> Budget:
    """The budget of the rendering that runs.

    Raises:
        RuntimeError: none runs; nothing of a template is evaluated while it is compiled.
    """
    budget = CURRENT.get()
    if budget is None:
        raise RuntimeError("no template is being rendered")
    return budget
