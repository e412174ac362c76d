"""Rules for every test: no network, a clean environment, one size, no part missing in CI."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

import pytest

KEPT = {"BAKEOFF_TEST_DATA", "BAKEOFF_TEST_TOOLS", "BAKEOFF_FULL", "BAKEOFF_REQUIRE_PARTS"}
"""Variables that speak to the tests themselves."""


def _speaks_to_us(name: str) -> bool:
    """Whether a variable changes what bakeoff or the Hub's client do."""
    ours = name.startswith(("BAKEOFF_", "HF_")) and name not in KEPT
    return ours or name.lower().endswith("_proxy") or name == "HUGGING_FACE_HUB_TOKEN"


def _clean_environment(home: str) -> dict[str, str | None]:
    """Variable -> its value during the tests, or None for none."""
    changes: dict[str, str | None] = {name: None for name in os.environ if _speaks_to_us(name)}
    changes["HF_HUB_OFFLINE"] = "1"
    changes["HF_HUB_DISABLE_TELEMETRY"] = "1"
    changes["HF_HOME"] = os.path.join(home, "huggingface")
    changes["BAKEOFF_HOME"] = os.path.join(home, "bakeoff")
    changes["TOKENIZERS_PARALLELISM"] = "false"  # no warning when a test forks
    return changes


# Before any test module is imported: libraries read their settings while they are imported.
_HOME = tempfile.mkdtemp(prefix="bakeoff-tests-")
_ENVIRONMENT = pytest.MonkeyPatch()
for _name, _value in _clean_environment(_HOME).items():
    if _value is None:
        _ENVIRONMENT.delenv(_name, raising=False)
    else:
        _ENVIRONMENT.setenv(_name, _value)

from tests.guard import Guard  # noqa: E402
from tests.hub.fixtures import hub, hub_in_process  # noqa: E402, F401
from tests.support import PART_MISSING, is_full, lend_tools  # noqa: E402
from tests.support import scale as _scale  # noqa: E402

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

lend_tools(os.environ["BAKEOFF_HOME"])
_GUARD = Guard()
_FULL_TIMEOUT = 3600.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the long tests at full size")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--full"):
        os.environ["BAKEOFF_FULL"] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what runs in its background so, and children inherit it: Ctrl-C in a
        # test would reach nobody.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _GUARD.install()


def pytest_unconfigure() -> None:
    _GUARD.remove()
    _ENVIRONMENT.undo()
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if is_full():
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.timeout(_FULL_TIMEOUT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With BAKEOFF_REQUIRE_PARTS=1, a test skipped for want of a part has failed."""
    report = yield
    return _require_parts(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report = yield
    return _require_parts(report)


def _require_parts(report: Report) -> Report:
    if report.skipped and isinstance(report.longrepr, tuple) and _parts_are_required():
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if reason.startswith(PART_MISSING):
            report.outcome = "failed"
            report.longrepr = f"{reason} (BAKEOFF_REQUIRE_PARTS is set)"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the documentation's commands that were left out (test_docs_commands.py)."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "not run":
                terminalreporter.write_line(f"not run: {value}")


def _parts_are_required() -> bool:
    return os.environ.get("BAKEOFF_REQUIRE_PARTS", "") not in ("", "0")


@pytest.fixture(autouse=True)
def network_attempts() -> Iterator[Callable[[], list[str]]]:
    """Fails the test if it tried to reach another machine; the fixture's value forgets it."""
    _GUARD.take()
    yield _GUARD.take
    attempts = _GUARD.take()
    if attempts:
        pytest.fail("the test tried to reach another machine: " + ", ".join(attempts))


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """Fails the test that leaves variables behind, not the one that stumbles over them later."""
    before = {name: value for name, value in os.environ.items() if _speaks_to_us(name)}
    yield
    after = {name: value for name, value in os.environ.items() if _speaks_to_us(name)}
    changed = {name for name, _ in before.items() ^ after.items()}
    for name in changed:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    if changed:
        pytest.fail(f"the test left these variables changed: {', '.join(sorted(changed))}")


@pytest.fixture(scope="session")
def scale() -> Callable[[int], int]:
    """`scale(full)`: how many to do of what is done `full` times at full size."""
    return _scale
