"""`RunFolder`: the files of one run, and the lock that keeps two processes apart."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout
from pydantic import ValidationError

from bakeoff.core.errors import InvalidRequest, RunDamaged, RunLocked, RunNotFound
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
    def epoch_file(self) -> Path:
        """How often all rows were to be made anew; absent for never."""
        return self.path / "epoch"

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
    def locked(
        self, wait: float = 0.0, told: Callable[[str], object] = lambda text: None
    ) -> Iterator[None]:
        """Hold the folder; the lock goes with the process, however it ends.

        A folder that was made for the lock and in which nothing was started is removed again.

        Args:
            wait: seconds to wait for another process.
            told: takes one sentence where there is another process to wait for.

        Raises:
            RunLocked: another process holds it.
            InvalidRequest: the folder cannot be made, or nothing can be written into it.
        """
        holder = self.path / ".holder"
        lock = FileLock(self.path / ".lock")
        made = not os.path.exists(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._acquire(lock, wait, told)
        except OSError as problem:
            raise _no_place(self.path, problem) from problem
        try:
            self._claim(holder)
            yield
        finally:
            holder.unlink(missing_ok=True)
            if made and not self.spec_file.exists():
                shutil.rmtree(self.path, ignore_errors=True)
            lock.release()

    def _acquire(self, lock: FileLock, wait: float, told: Callable[[str], object]) -> None:
        try:
            lock.acquire(timeout=0)
        except Timeout as problem:
            who = f"{self.path} is being worked on by process {self._holder()}"
            if wait <= 0:
                raise RunLocked(f"{who}: wait for it, or pass --wait SECONDS") from problem
            told(f"{who}: waiting up to {wait:g} s")
            try:
                lock.acquire(timeout=wait, poll_interval=0.05)
            except Timeout:
                raise RunLocked(f"{who}, still after {wait:g} s: wait for it") from problem

    def _holder(self) -> str:
        try:
            return (self.path / ".holder").read_text(encoding="utf-8").strip() or "unknown"
        except OSError:  # it is just beginning, or just leaving
            return "unknown"

    def _claim(self, holder: Path) -> None:
        try:
            holder.write_text(str(os.getpid()), encoding="utf-8")
        except OSError as problem:
            raise _no_place(self.path, problem) from problem

    def epoch(self) -> int:
        """The epoch that every model is to reach.

        Raises:
            RunDamaged: the file holds no number.
        """
        try:
            return int(self.epoch_file.read_bytes())
        except FileNotFoundError:
            return 0
        except ValueError as problem:
            raise RunDamaged(
                f"{self.epoch_file} holds no number: delete it, and pass --fresh once more"
            ) from problem

    def raise_epoch(self, epoch: int) -> None:
        """Ask for all rows anew; a run that is cut short goes on with that when it resumes."""
        if epoch > self.epoch():
            write_text(self.epoch_file, f"{epoch}\n")

    def write_spec(self, spec: RunSpec) -> None:
        """Keep the frozen spec; it can be run again as it stands."""
        values = spec.model_dump(mode="json", exclude_none=True)
        head = "# What was run, every default and revision resolved. Written by bakeoff.\n"
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
        write_text(self.spec_file, head + text)

    def read_spec_text(self) -> str:
        """The frozen spec as text.

        Raises:
            RunDamaged: the file is no text.
        """
        try:
            return self.spec_file.read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            raise RunDamaged(f"{self.spec_file} is no text: carry out the run again") from problem

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
            report = Report.model_validate_json(self.report_file.read_bytes())
        except ValidationError as problem:
            wrong = problem.errors(include_url=False)[0]
            place = ".".join(map(str, wrong["loc"]))
            said = f"{place}: {wrong['msg']}" if place else wrong["msg"]
            raise self._no_report(said) from problem
        unknown = _named(report) - set(report.models)
        if unknown:
            raise self._no_report(f"it names {min(unknown)!r}, which is none of its models")
        return report

    def _no_report(self, said: str) -> RunDamaged:
        return RunDamaged(
            f"{self.report_file} is no report ({said}): the same `bakeoff run` writes it again"
        )

    def unfinished(self) -> bool:
        """Whether a run began here that has not come to its report.

        A report that is here all the same tells of an earlier one.
        """
        if not self.log_file.is_file():
            return False
        began = False
        with self.log_file.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                _, _, said = line.partition(" ")
                if said.startswith(("run ", "report ")):
                    began = said.startswith("run ")
        return began

    def log(self, text: str, **values: Any) -> None:
        """Add a line to the log."""
        self.path.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        more = "".join(f" {k}={json.dumps(v, ensure_ascii=False)}" for k, v in values.items())
        with self.log_file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp} {text}{more}\n")


def _no_place(path: Path, problem: OSError) -> InvalidRequest:
    return InvalidRequest(
        f"the run's folder {str(path)!r} cannot be used: {problem.strerror or problem}; choose "
        "another place with --runs, or another `name:`"
    )


def _named(report: Report) -> set[str]:
    """Models that a report speaks of outside `models`."""
    pairs = {name for pair in report.pairs for name in (pair.a, pair.b)}
    tiers = {name for tier in report.tiers for name in tier}
    return {*report.ranking, *report.scores} | pairs | tiers


def new_writer() -> str:
    """A name for a journal writer: 12 hexadecimal digits."""
    return secrets.token_hex(6)
