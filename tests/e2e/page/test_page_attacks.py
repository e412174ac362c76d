"""No text from outside runs as code on the page, wherever it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.jobs.page import write_page
from tests.e2e.page.attacks import attacked_report, attacked_row
from tests.e2e.page.payloads import PAYLOADS
from tests.e2e.page.visiting import Visit

pytestmark = pytest.mark.browser


GO_TO = "([name, value]) => { location.hash = new URLSearchParams({ [name]: value }); }"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    rows = [attacked_row(i, p) for i, p in enumerate(PAYLOADS)]
    write_page(path, attacked_report(), rows, "\n".join(PAYLOADS))
    return path


def _nothing_ran(found: Visit) -> None:
    assert found.page.evaluate("window.__hit") is None
    assert found.page.evaluate("window.__violations") == []
    strange = (
        "img, iframe, object, embed, video, audio, form, base, template, marquee, math, body a"
    )
    assert found.page.locator(strange).count() == found.page.locator("nav a, a.skip").count()
    found.check()


def test_no_text_from_outside_runs_wherever_it_stands(visit: Any, attacked: Path) -> None:
    assert len(PAYLOADS) >= 40
    found = visit(attacked)
    page = found.open()
    for summary in page.locator("summary").all():
        summary.click()
    page.keyboard.press("Escape")
    assert page.locator("details.menu[open]").count() == 0
    for header in page.locator("#board thead button:visible").all():
        header.click()
    for mode in ("changes", "shared", "auto"):
        page.locator("#marks-bar select").nth(1).select_option(mode)
    page.locator("#selects select").nth(1).select_option("row")
    for index, payload in enumerate(PAYLOADS):
        assert page.locator(".detail h3").text_content().startswith(f"{index} ")
        shown = payload.replace("\0", "\0")
        texts = page.locator(".detail .text").all_text_contents()
        if "\ud800" not in payload:
            assert sum(shown in text for text in texts) >= 4, payload
        page.keyboard.press("j")
    _nothing_ran(found)


def test_no_text_in_the_address_runs(visit: Any, attacked: Path) -> None:
    found = visit(attacked)
    page = found.open()
    for name in ("q", "row", "sort", "metric", "against", "theme", "board", "cols", "show"):
        for payload in (PAYLOADS[0], PAYLOADS[19], "__proto__", "%", "-metric:__proto__"):
            page.evaluate(GO_TO, [name, payload])
            page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    _nothing_ran(found)


def test_repeats_are_shown_as_distinct_answers(visit: Any, attacked: Path) -> None:
    page = visit(attacked).open("sort=row")
    card = page.get_by_role("article", name="one", exact=True)
    assert card.locator(".said").count() == 2
    assert card.get_by_text("1 of 2 repeats").count() == 2
    assert page.locator('[data-kind="repeats"] b').text_content() == str(len(PAYLOADS))
