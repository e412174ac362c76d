"""The leaderboard and the latency chart in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.jobs.page import write_page
from tests.unit.page.sample import SPEC, sample_report

pytestmark = pytest.mark.browser


def test_without_scripts_the_leaderboard_is_there_and_says_so(visit: Any, sample: Path) -> None:
    found = visit(sample, java_script_enabled=False)
    found.page.goto(found.address)
    assert found.page.locator("#board tbody tr").count() == 5
    assert found.page.locator("#board").get_by_text("0.441").is_visible()
    assert found.page.locator("noscript p").is_visible()
    assert not found.page.locator("#theme").is_visible()


def _models(page: Any) -> list[str]:
    return page.locator("#board tbody .name").all_text_contents()


def test_sorting_is_best_first_then_turned_and_stays_in_the_address(
    visit: Any, sample: Path
) -> None:
    found = visit(sample)
    page = found.open()
    assert _models(page)[0] == "bart-large-cnn"
    p50 = page.locator('th[data-key="p50"]')
    p50.get_by_role("button").click()
    assert p50.get_attribute("aria-sort") == "ascending"
    assert _models(page) == [
        "t5-small-int8",
        "smol-short-prompt",
        "smol",
        "bart-large-cnn",
        "lead-3",
    ]
    p50.get_by_role("button").click()
    assert p50.get_attribute("aria-sort") == "descending"
    assert _models(page)[0] == "bart-large-cnn" and _models(page)[-1] == "lead-3"
    page.reload()
    assert p50.get_attribute("aria-sort") == "descending"
    assert page.locator("th[aria-sort]").count() == 1
    page.locator('th[data-key="failures"] button').click()
    assert _models(page)[:2] == ["smol-short-prompt", "smol"]
    found.check()


def test_metric_columns_open_and_close(visit: Any, sample: Path) -> None:
    page = visit(sample).open()
    assert page.locator('th[data-key="metric:ter"]').is_hidden()
    page.locator("#columns").click()
    page.locator('[data-column="metric:ter"]').check()
    assert page.locator('th[data-key="metric:ter"]').is_visible()
    assert page.locator("#columns").text_content() == "Metrics: 5 of 8"
    page.locator('th[data-key="metric:ter"] button').click()
    assert _models(page)[0] == "bart-large-cnn", "lower is better"


def test_scatter_names_every_model_and_has_a_table(visit: Any, sample: Path) -> None:
    page = visit(sample).open()
    assert page.locator("#scatter .name").all_text_contents() == [
        "bart-large-cnn",
        "t5-small-int8",
        "smol",
        "smol-short-prompt",
    ]
    assert page.locator("#scatter").get_by_text("not at all: lead-3").is_visible()
    page.locator("#scatter summary").click()
    assert page.locator("#scatter tbody tr").count() == 4
    page.locator("#scatter-tools select").select_option("chrf")
    assert "axis=chrf" in page.url
    assert page.locator("#scatter").get_by_text("chrf: higher is better").is_visible()


def test_models_measured_differently_are_not_drawn_together(visit: Any, tmp_path: Path) -> None:
    report = sample_report()
    smol = report.models["smol"].model_copy(update={"device": "cuda:0"})
    path = tmp_path / "report.html"
    models = {**report.models, "smol": smol}
    write_page(path, report.model_copy(update={"models": models}), [], SPEC)
    page = visit(path).open()
    assert "smol" not in page.locator("#scatter .name").all_text_contents()
    assert "measured otherwise or not at all: smol, lead-3" in page.locator("#scatter").inner_text()
