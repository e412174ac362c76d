"""Run the benchmarks, print a table, write JSON, and fail where a promise is not kept."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.results import Result

NAMES = ("metrics", "planning", "resume", "overhead", "generation", "offline", "serving", "host")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    flags = parser.parse_args()
    for name in flags.names:
        if name not in NAMES:
            parser.error(f"unknown benchmark {name!r}: known: {', '.join(NAMES)}")
    results: list[Result] = []
    for name in flags.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        for result in module.measure(flags.threads, flags.scale):
            results.append(result)
            show(result)
    if flags.json:
        flags.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    return 0 if all(result.kept for result in results) else 1


def show(result: Result) -> None:
    promise = f"{result.kind} {result.limit:g}" if result.limit is not None else ""
    mark = "" if result.kept else "  NOT KEPT"
    print(f"{result.name:62} {result.value:10.2f} {result.unit:3} {promise:14}{mark}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
