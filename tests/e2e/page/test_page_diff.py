"""The page's word and character differences, run in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bakeoff.jobs.page.embed import asset

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    page.add_script_tag(content=asset("diff.js"))
    yield page
    page.close()


def _difference(page: Any, a: str, b: str) -> list[list[str]]:
    return page.evaluate("([a, b]) => difference(a, b)", [a, b])


@pytest.mark.parametrize(
    ("a", "b", "runs"),
    [
        ("", "", []),
        ("a b", "a b", [["same", "a b"]]),
        ("a b c", "a x c", [["same", "a "], ["drop", "b"], ["add", "x"], ["same", " c"]]),
        ("one", "", [["drop", "one"]]),
        ("", "one", [["add", "one"]]),
        ("1997-03-03", "1997-03-13", [["same", "1997-03-"], ["drop", "03"], ["add", "13"]]),
        ("don't go", "don't stay", [["same", "don't "], ["drop", "go"], ["add", "stay"]]),
        (
            "会议改到三点",
            "会议改到两点",
            [["same", "会议改到"], ["drop", "三"], ["add", "两"], ["same", "点"]],
        ),
        ("明日の鍵", "明日の傘", [["same", "明日の"], ["drop", "鍵"], ["add", "傘"]]),
        ("ฝนตกวันนี้", "ฝนตกพรุ่งนี้", None),
        (
            "शनिवार की सुबह",
            "रविवार की सुबह",
            [["drop", "शनिवार"], ["add", "रविवार"], ["same", " की सुबह"]],
        ),
        (
            "وصلت الطلبية",
            "وصلت الرسالة",
            [["same", "وصلت "], ["drop", "الطلبية"], ["add", "الرسالة"]],
        ),
        ("ok 👩‍👧", "ok 👩‍👦", [["same", "ok "], ["drop", "👩‍👧"], ["add", "👩‍👦"]]),
        ("cafe\u0301 x", "café x", [["same", "café x"]]),
    ],
)
def test_differences(page: Any, a: str, b: str, runs: list[list[str]] | None) -> None:
    found = _difference(page, a, b)
    if runs is not None:
        assert found == runs
    assert "".join(text for kind, text in found if kind != "drop") == b


def test_no_letter_is_lost_or_made_up(page: Any) -> None:
    lost = page.evaluate(
        """() => {
      let seed = 7;
      const next = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
      const parts = ["a", "bb", " ", ", ", "会", "ก็", "ى", "\\n", "é", "👩‍👧", "_", "9", "-"];
      const text = () => Array.from({ length: next(40) }, () => parts[next(parts.length)]).join("");
      const wrong = [];
      for (let i = 0; i < 3000; i += 1) {
        const [a, b] = [text(), text()];
        const runs = difference(a, b);
        const side = (k) => runs.filter(([kind]) => kind !== k).map(([, t]) => t).join("");
        // Spaces count as equal whatever they are, and the text shown is always b's.
        const plain = (t) => t.replace(/\\s+/g, " ");
        if (side("drop") !== b || plain(side("add")) !== plain(a)) wrong.push([a, b]);
        if (sharedRuns(a, b).map(([, t]) => t).join("") !== b) wrong.push([a, b]);
        if (pieces(b).join("") !== b) wrong.push(b);
      }
      return wrong.slice(0, 3);
    }"""
    )
    assert lost == []


def test_words_are_counted_and_unspaced_text_by_character(page: Any) -> None:
    count = "([a, b]) => overlap(a, b)"
    assert page.evaluate(count, ["the cat sat", "The cat ran"]) == {
        "shared": 2,
        "total": 3,
        "unit": "word",
    }
    assert page.evaluate(count, ["会议三点", "会议两点"])["unit"] == "character"


def test_very_long_texts_are_compared_up_to_a_limit(page: Any) -> None:
    text = "word " * 4_000
    kinds = {kind for kind, _ in _difference(page, text, text + "end")}
    assert kinds == {"same", "rest"}
