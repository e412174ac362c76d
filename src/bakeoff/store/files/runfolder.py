"""`RunFolder`: the files of one run, and the lock that keeps two processes apart."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from bakeoff.core.errors import RunDamaged, RunLocked, RunNotFound
from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.store.files.atomic import write_text


class RunFolder:
    """`runs/<name>`: spec.yaml, rows/, predictions, scores, report.json, report.html, log."""

    def __init__(self, path: Path) -> None:
        """`path` need not exist yet."""
        self.path = path

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """A folder that holds a run.

        Raises:
            RunNotFound: there is none; runs nearby are listed.
        """
        if (path / "spec.yaml").is_file():
            return cls(path)
        parent = path.parent if path.parent.is_dir() else Path()
        near = sorted(p.parent.name for p in parent.glob("*/spec.yaml"))[:10]
        listed = f"; runs in {parent}: {', '.join(near)}" if near else ""
        raise RunNotFound(f"{path} holds no run{listed}")

    def rows(self, model: str) -> Path:
        """Journal folder of a model."""
        return self.path / "rows" / model

    @property
    def spec_file(self) -> Path:
        """The frozen spec."""
        return self.path / "spec.yaml"

    @property
    def report_file(self) -> Path:
        """The report."""
        return self.path / "report.json"

    @property
    def page_file(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def log_file(self) -> Path:
        """What happened, line by line."""
        return self.path / "log"

    @contextmanager
    def locked(self, wait: float = 0.0) -> Iterator[None]:
        """Hold the folder; the lock goes with the process, however it ends.

        Args:
            wait: seconds to wait for another process.

        Raises:
            RunLocked: another process holds it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        holder = self.path / ".holder"
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=wait if wait > 0 else 0, poll_interval=0.05)
        except Timeout as problem:
            who = holder.read_text(encoding="utf-8").strip() if holder.is_file() else "unknown"
            raise RunLocked(
                f"{self.path} is being worked on by process {who}: wait for it, or pass --wait"
            ) from problem
        try:
            holder.write_text(str(os.getpid()), encoding="utf-8")
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def write_spec(self, spec: RunSpec) -> None:
        """Keep the frozen spec; it can be run again as it stands."""
        values = spec.model_dump(mode="json", exclude_defaults=True)
        head = "# What was run, every default and revision resolved. Written by bakeoff.\n"
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
        write_text(self.spec_file, head + text)

    def read_spec_text(self) -> str:
        """The frozen spec as text."""
        return self.spec_file.read_text(encoding="utf-8")

    def write_report(self, report: Report) -> None:
        """Keep the report as strict JSON."""
        values = report.model_dump(mode="json")
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1)
        write_text(self.report_file, text + "\n")

    def read_report(self) -> Report:
        """The stored report.

        Raises:
            RunNotFound: the run has not come to a report yet.
            RunDamaged: the file is not a report.
        """
        if not self.report_file.is_file():
            raise RunNotFound(f"{self.path} has no report yet: finish it with bakeoff run")
        try:
            return Report.model_validate_json(self.report_file.read_bytes())
        except ValueError as problem:
            raise RunDamaged(f"{self.report_file} is no report: {problem}") from problem

    def log(self, text: str, **values: Any) -> None:
        """Add a line to the log."""
        self.path.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        more = "".join(f" {k}={json.dumps(v, ensure_ascii=False)}" for k, v in values.items())
        with self.log_file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp} {text}{more}\n")


def new_writer() -> str:
    """A name for a journal writer: 12 hexadecimal digits."""
    return secrets.token_hex(6)
