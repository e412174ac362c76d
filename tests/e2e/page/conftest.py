"""A browser, and pages to look at."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.jobs.page import write_page
from tests.e2e.page.visiting import Visit
from tests.support import part
from tests.unit.page.sample import SPEC, sample_report, sample_rows

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


VIOLATIONS = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => window.__violations.push(
  e.violatedDirective + " " + e.blockedURI + " " + e.sample));
"""


@pytest.fixture(scope="module")  # while it lives, asyncio.run is refused in this thread
def browser() -> Iterator[Any]:
    part("playwright")
    chromium = part("chromium")
    sync_api = importlib.import_module("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    contexts = []

    def start(path: Path, width: int = 1280, **options: Any) -> Visit:
        viewport = {"width": width, "height": 800}
        context = browser.new_context(viewport=viewport, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.add_init_script(VIOLATIONS)
        found = Visit(page, path.as_uri())
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("dialog", lambda dialog: (found.problems.append("dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: found.problems.append(str(error)))
        page.on("console", lambda m: found.problems.append(m.text) if m.type == "error" else None)
        return found

    yield start
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, sample_report(), sample_rows(), SPEC)
    return path
