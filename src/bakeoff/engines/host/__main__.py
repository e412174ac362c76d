"""`python -m bakeoff.engines.host`: started by `open_hosted`, never by hand.

The first line of its standard input is the token that clients must know; the end of that input
is the end of the process. It says where it listens in the first line of its standard output;
whatever is printed later goes to standard error, where its log goes.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from bakeoff.engines.host.server import Place, leave, serve

_WORTH = "500"
"""Where memory runs out, the system ends this process rather than the one that speaks HTTP."""


def main() -> None:
    """Run until the parent is gone."""
    parser = argparse.ArgumentParser(prog="bakeoff.engines.host", description=__doc__)
    parser.add_argument("--socket", type=Path, help="path of a Unix socket; default: loopback TCP")
    parser.add_argument("--parent", type=int, required=True, help="process that it belongs to")
    flags = parser.parse_args()
    # It lives as long as its parent, which gets the same signals and may still want answers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s", force=True
    )
    logging.getLogger("bakeoff").setLevel(logging.INFO)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_WORTH, encoding="ascii")
    token = sys.stdin.buffer.readline().decode().strip()
    place = Place(flags.socket, token, flags.parent)
    try:
        asyncio.run(serve(place, _ready, sys.stdin.buffer))
    except BaseException:
        logging.exception("the engine's process failed")
        leave(1)
    leave(0)


def _ready(address: str) -> None:
    sys.stdout.write(address + "\n")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    main()
