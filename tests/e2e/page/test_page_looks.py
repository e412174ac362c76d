"""Widths, colours, scripts, names of controls, print."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bakeoff.jobs.page import write_page
from tests.unit.page.sample import sample_report, sample_rows

pytestmark = pytest.mark.browser


def test_every_control_has_a_name_and_every_table_its_headers(visit: Any, sample: Path) -> None:
    page = visit(sample).open()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, [role=region], article")]
        .filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
          || e.textContent.trim() || (e.labels && e.labels.length))).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("table:not(:has(thead th[scope=col]))").count() == 0
    assert page.locator("main, nav, header.top, footer").count() == 4
    assert page.locator("html").get_attribute("lang") == "en"
    levels = [
        int(tag[1])
        for tag in page.evaluate(
            "() => [...document.querySelectorAll('h1,h2,h3,h4')].map((e) => e.tagName)"
        )
    ]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("state", ["", "row=dialogue-009", "row=dialogue-004&marks=changes"])
def test_nothing_is_wider_than_a_small_phone(visit: Any, sample: Path, state: str) -> None:
    page = visit(sample, width=360).open(state)
    for summary in page.locator("details.how > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_hostile_texts_do_not_widen_the_page(visit: Any, tmp_path: Path) -> None:
    word = "W" * 4_000
    rows = [
        row.model_copy(update={"row": word, "group": word, "inputs": {word: word}})
        for row in sample_rows(1)
    ]
    report = sample_report()
    data = report.data.model_copy(update={"name": word, "columns": (word,)})
    path = tmp_path / "report.html"
    write_page(
        path, report.model_copy(update={"name": word, "task": word, "data": data}), rows, word
    )
    page = visit(path, width=360).open()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#row-list button").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def _luminance(page: Any) -> float:
    red, green, blue = page.evaluate(
        "() => getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3)"
    )
    return 0.2126 * float(red) + 0.7152 * float(green) + 0.0722 * float(blue)


def test_colours_follow_the_system_and_the_button(visit: Any, sample: Path) -> None:
    dark = visit(sample, color_scheme="dark").open()
    assert _luminance(dark) < 40
    dark.keyboard.press("t")
    assert _luminance(dark) > 200
    assert "theme=light" in dark.url
    light = visit(sample, color_scheme="light").open()
    assert _luminance(light) > 200
    light.locator("#theme").click()
    light.locator("#theme").click()
    assert _luminance(light) < 40
    light.reload()
    assert _luminance(light) < 40


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const c of colours) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("svg, [disabled], .unseen, option")) continue;
    const behind = [];
    for (let p = e; p; p = p.parentElement) behind.unshift(getComputedStyle(p).backgroundColor);
    const back = rgb(behind);
    const ink = rgb([...behind, getComputedStyle(e).color]);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${e.tagName}.${e.className} ${e.textContent}`);
  }
  return [...new Set(low)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(visit: Any, sample: Path, scheme: str) -> None:
    page = visit(sample, color_scheme=scheme).open("show=failed,cut&marks=changes")
    assert page.evaluate(CONTRAST) == []


def test_right_to_left_text_reads_right_and_touches_nothing_else(visit: Any, sample: Path) -> None:
    page = visit(sample).open("row=dialogue-004")
    source = page.locator(".detail .inputs .text").first
    assert source.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert source.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"
    assert source.get_attribute("lang") == "ar"
    assert page.locator(".detail h3").evaluate("e => getComputedStyle(e).direction") == "ltr"
    page = visit(sample).open("row=dialogue-001")
    first = page.locator(".detail .inputs .text").first
    assert first.evaluate("e => getComputedStyle(e).direction") == "ltr"


@pytest.mark.parametrize(
    ("row", "language"), [("008", "hi"), ("012", "zh"), ("016", "ja"), ("020", "th")]
)
def test_scripts_are_told_apart(visit: Any, sample: Path, row: str, language: str) -> None:
    page = visit(sample).open(f"row=dialogue-{row}")
    assert page.locator(".detail .inputs .text").first.get_attribute("lang") == language


def test_printing_shows_the_row_and_no_controls(visit: Any, sample: Path) -> None:
    page = visit(sample).open("row=dialogue-009")
    page.emulate_media(media="print")
    assert page.locator(".list-pane").is_hidden()
    assert page.locator(".filters").is_hidden()
    assert page.locator(".answers").is_visible()
    assert page.locator("#board").is_visible()
