"""The `bakeoff` command and `python -m bakeoff`: quiet from the first moment on.

Ctrl-C while the modules are still being imported ends the process with one line, as it does later.
"""

import os
import signal
import sys
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    sys.stderr.write("interrupted: nothing was begun\n")
    sys.stderr.flush()
    os._exit(130)  # ExitCode.INTERRUPTED, which is not imported yet


_before = signal.getsignal(signal.SIGINT)
if _before is not signal.SIG_IGN:  # `nohup` and the like mean it
    signal.signal(signal.SIGINT, _leave)

from bakeoff.cli.main import run  # noqa: E402

signal.signal(signal.SIGINT, _before)

if __name__ == "__main__":
    run()
