"""The rows side by side: filters, search, order, keys, address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.jobs.page import write_page
from tests.unit.page.sample import SPEC, sample_report, sample_rows

pytestmark = pytest.mark.browser


def _count(page: Any) -> str:
    return page.locator("#row-count").text_content()


@pytest.mark.parametrize(
    ("kind", "count"),
    [("failed", 2), ("cut", 1), ("looped", 1), ("empty", 1), ("limit", 2)],
)
def test_filters_show_the_rows_of_their_kind(
    visit: Any, sample: Path, kind: str, count: int
) -> None:
    page = visit(sample).open()
    chip = page.locator(f'[data-kind="{kind}"]')
    assert chip.locator("b").text_content() == str(count)
    chip.click()
    assert page.locator(f'[data-kind="{kind}"]').get_attribute("aria-pressed") == "true"
    assert page.locator("#row-list li").count() == count
    assert _count(page).startswith(f"{count} of 84")
    page.locator("#row-list button").first.click()
    page.locator('[data-kind="apart"]').click()
    page.locator(f'[data-kind="{kind}"]').click()
    page.locator(f'[data-kind="{kind}"]').click()
    page.locator('[data-kind="apart"]').click()
    assert page.locator(".detail-head small").text_content().endswith(f"of {count}")
    page.locator("#clear").click()
    assert _count(page) == "84 rows"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("platform", 21),
        ("PLATFORM coach", 21),
        ("المورد", 5),
        ("会议", 4),
        ("शनिवार", 4),
        ("zzz", 0),
    ],
)
def test_search_finds_words_of_any_script(visit: Any, sample: Path, words: str, count: int) -> None:
    page = visit(sample).open()
    page.locator("#search").fill(words)
    assert _count(page) == f"{count} of 84 rows"
    if count == 0:
        assert page.get_by_text("No row fits").is_visible()


def test_sorting_rows_by_disagreement_and_by_a_models_score(visit: Any, sample: Path) -> None:
    page = visit(sample).open()

    def spreads() -> list[float]:
        texts = page.locator(".row-spread").all_text_contents()
        return [float(text.split("Δ ")[1][:5]) for text in texts]

    assert spreads() == sorted(spreads(), reverse=True)
    page.get_by_label("Sort").select_option("low")
    page.get_by_role("combobox", name="of", exact=True).select_option("smol")
    page.locator("#row-list button").first.click()
    card = page.get_by_role("article", name="smol", exact=True)
    assert card.locator(".score").text_content().endswith("0.000")
    page.get_by_label("Best here").select_option("lead-3")
    assert 0 < int(_count(page).split(" ")[0]) < 84
    page.locator("#row-list button").first.click()
    assert page.locator(".answer.best h4").all_text_contents() == ["lead-3"]


def test_everything_can_be_done_by_keyboard(visit: Any, sample: Path) -> None:
    found = visit(sample)
    page = found.open("sort=row")
    page.keyboard.press("Tab")
    assert page.locator(".skip").is_visible()
    title = page.locator(".detail h3")
    assert title.text_content() == "dialogue-001"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert title.text_content() == "dialogue-002"
    page.locator('#row-list [aria-current="true"]').focus()
    page.keyboard.press("ArrowDown")
    assert title.text_content() == "dialogue-003"
    assert page.locator('#row-list [aria-current="true"]').evaluate(
        "e => e === document.activeElement && getComputedStyle(e).outlineStyle !== 'none'"
    )
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("jk")
    assert page.locator("#search").input_value() == "jk"
    page.locator("#search").fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("]")
    assert page.locator("#row-list li").first.get_attribute("data-row") == "dialogue-051"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    assert page.locator("#keys").is_hidden()
    page.keyboard.press("d")
    assert "marks=changes" in page.url
    found.check()


def test_the_whole_state_stands_in_the_address(visit: Any, sample: Path) -> None:
    found = visit(sample)
    page = found.open()
    page.locator('[data-kind="apart"]').click()
    page.locator("#search").fill("thursday")
    page.get_by_label("Group").select_option("work")
    page.get_by_label("Sort").select_option("row")
    page.locator("#row-list button").nth(1).click()
    page.get_by_label("Compare with").select_option("model:smol")
    page.locator("nav").get_by_text("Details").click()
    before = (page.url, _count(page), page.locator(".detail").inner_text())
    other = visit(sample)
    again = other.open(before[0].split("#")[1])
    assert (again.url, _count(again), again.locator(".detail").inner_text()) == before
    assert again.locator("#search").input_value() == "thursday"
    found.check()
    other.check()


def test_two_thousand_rows_draw_one_page_of_fifty(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(path, sample_report(2_500), sample_rows(2_500), SPEC)
    page = visit(path).open()
    assert "2,000 of 2,500 rows are on this page" in page.locator(".lead").text_content()
    assert page.locator("#row-list li").count() == 50
    assert page.locator("#list-head").inner_text().split("\n")[0] == "2,000 rows"
    page.get_by_label("Next page").click()
    assert page.locator("#row-list li").count() == 50


def test_on_a_phone_a_row_opens_over_the_list_and_back_returns(visit: Any, sample: Path) -> None:
    page = visit(sample, width=360).open("sort=row")
    assert page.locator(".detail").is_hidden()
    page.locator("#row-list button").nth(2).click()
    assert page.locator(".detail h3").text_content() == "dialogue-003"
    assert page.locator(".list-pane").is_hidden()
    page.go_back()
    assert page.locator(".list-pane").is_visible()
    assert page.locator(".detail").is_hidden()
