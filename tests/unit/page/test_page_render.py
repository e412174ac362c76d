"""The page as text: escaping, policy, size, numbers and sentences."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bakeoff.core.report import ComparedAnswer, ComparedRow, Pair, Verdict, Warning
from bakeoff.jobs.page import PageChoice, choose_rows, render_page, write_page
from bakeoff.jobs.page.embed import safe_json
from bakeoff.jobs.page.summary import headline, notices
from tests.unit.page.sample import SPEC, sample_report, sample_rows


class _Reader(HTMLParser):
    """Collects what a browser would run, load or show."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open, []).append(data)


def _page(**changes: object) -> str:
    report = sample_report().model_copy(update=changes)
    rows, choice = choose_rows(sample_rows(), metric=report.ranked_by)
    return render_page(report, rows, SPEC, choice)


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


def test_policy_allows_exactly_the_pages_own_script_and_style() -> None:
    page = _page()
    reader = _read(page)
    policy = next(
        a["content"] or "" for t, a in reader.tags if a.get("http-equiv", "") and t == "meta"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for directive, tag in (("script-src", "script"), ("style-src", "style")):
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy


def test_page_has_no_address_no_handler_and_no_inline_style() -> None:
    reader = _read(_page())
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert "style" not in attributes, tag
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, value)
    code = "".join(reader.texts["style"]) + "".join(reader.texts["script"])
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", code)
    assert "url(" not in code
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert sink not in code


def test_data_survives_the_way_into_the_page() -> None:
    odd = "</script><!--<script>&amp;\u2028\u2029\ud800 'x' \"y\" \\ \0 \U0001f600"
    row = ComparedRow(row="r1", inputs={odd: odd}, references=(odd,), answers=())
    page = render_page(sample_report(), [row], odd, PageChoice(total=1, shown=1))
    raw = re.search(r'id="row-data">(.*?)</script>', page, re.DOTALL)
    assert raw is not None
    assert not set("<>&\u2028\u2029") & set(raw[1])
    assert json.loads(raw[1])[0]["inputs"] == [[odd, odd]]
    page.encode("utf-8")
    assert "&lt;/script&gt;" in page.split('id="spec"')[1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_know_become_null(value: float) -> None:
    assert safe_json({"a": [value, 1.5]}) == '{"a":[null,1.5]}'


def test_leaderboard_is_complete_without_scripts() -> None:
    page = _page()
    table = page.split('<table id="board">')[1].split("</table>")[0]
    for model, scores in sample_report().scores.items():
        assert model in table
        value = scores["rougeL"].value
        assert value is not None and f"{value:.3f}" in table
    for label in ("failed", "cut", "to limit", "looped", "empty", "tokens/s", "p50", "p95"):
        assert f">{label}</span>" in table
    assert table.count('class="bar"') == 5 * 8
    assert "<noscript>" in page


def test_latencies_of_different_conditions_are_not_ranked() -> None:
    report = sample_report()
    smol = report.models["smol"].model_copy(update={"device": "cuda:0"})
    page = _page(models={**report.models, "smol": smol})
    header = page.split('data-key="p50"')[1].split("</th>")[0]
    assert "not comparable" in header
    assert 'data-better=""' in header
    alike = _page().split('data-key="p50"')[1].split("</th>")[0]
    assert "not comparable" not in alike and 'data-better="lower"' in alike


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ("has the highest rougeL: 0.441", "intervals overlap")),
        (
            {
                "verdict": Verdict(
                    kind="cannot-tell", sentence="A and B are alike.", metric="rougeL", margin=1
                )
            },
            ("A and B are alike.",),
        ),
        ({"ranked_by": None}, ("No metric ranks the models",)),
        ({"ranked_by": "ter"}, ("has the lowest ter", "Their intervals")),
        ({"ranking": ("smol",)}, ("smol reaches rougeL 0.302",)),
        (
            {
                "pairs": (
                    Pair(
                        a="bart-large-cnn",
                        b="t5-small-int8",
                        metric="rougeL",
                        difference=0.023,
                        low=-0.004,
                        high=0.05,
                        n=84,
                    ),
                )
            },
            ("minus t5-small-int8 is 0.023 (95 % interval −0.004 to 0.050)",),
        ),
    ],
)
def test_headline_says_no_more_than_is_known(
    changes: dict[str, object], words: tuple[str, ...]
) -> None:
    found = headline(sample_report().model_copy(update=changes))
    text = " ".join((found.sentence, *found.caveats))
    for word in words:
        assert word in text


def test_tied_models_share_a_place_and_pairs_name_their_test() -> None:
    pair = Pair(
        a="smol", b="lead-3", metric="rougeL", difference=0.066, p=0.0001, method="sign flip", n=84
    )
    tiers = (("bart-large-cnn", "t5-small-int8"), ("smol",))
    page = _page(tiers=tiers, pairs=(pair,))
    places = re.findall(r'<td class="place".*?title="(.*?)">(.*?)</td>', page)
    assert places[:3] == [
        ("tier 1, not told apart from 1 other model", "1="),
        ("tier 1, not told apart from 1 other model", "1="),
        ("tier 2, on its own", "2"),
    ]
    assert "&lt; 0.001" in page and "Test: sign flip." in page


@pytest.mark.parametrize(("rows", "said"), [(7, "7"), (611, "620"), (123_456, "130,000")])
def test_rows_to_settle_are_rounded_as_in_the_verdict(rows: int, said: str) -> None:
    pair = Pair(a="smol", b="lead-3", metric="rougeL", difference=0.1, n=84, rows_to_settle=rows)
    assert f"<small>about {said} more would settle it</small>" in _page(pairs=(pair,))


def test_every_count_becomes_one_notice_with_its_models() -> None:
    found = {n.code: n for n in notices(sample_report())}
    assert set(found) == {
        "failures",
        "truncated",
        "ran_to_limit",
        "looped",
        "empty",
        "quantised",
        "role-guessed",
    }
    assert dict(found["failures"].items)["smol-short-prompt"].startswith("2 of 84")
    assert [model for model, _ in found["quantised"].items] == [
        "t5-small-int8",
        "smol",
        "smol-short-prompt",
    ]


def test_a_clean_run_has_no_notices() -> None:
    report = sample_report()
    clean = report.models["lead-3"]
    update = {"models": {"lead-3": clean}, "warnings": (), "status": "finished"}
    assert notices(report.model_copy(update=update)) == []


def _long_row(number: int, length: int) -> ComparedRow:
    answers = tuple(
        ComparedAnswer(model=m, ok=True, text=f"{number} {m} " + "ж" * length)
        for m in ("bart-large-cnn", "smol")
    )
    return ComparedRow(row=str(number), inputs={"source": "я" * length}, answers=answers)


def test_long_texts_are_cut_before_rows_are_left_out() -> None:
    rows, choice = choose_rows(_long_row(i, 7_000) for i in range(60))
    page = render_page(sample_report(), rows, SPEC, choice, limit_bytes=1_500_000)
    assert len(page.encode()) <= 1_500_000
    assert "Texts are cut to 2,000 characters" in page
    assert "All 60 rows of the run are on this page" in page


def test_rows_are_left_out_when_cutting_is_not_enough() -> None:
    rows, choice = choose_rows(_long_row(i, 7_000) for i in range(60))
    page = render_page(sample_report(), rows, SPEC, choice, limit_bytes=300_000)
    assert len(page.encode()) <= 300_000
    raw = re.search(r'id="row-data">(.*?)</script>', page, re.DOTALL)
    assert raw is not None
    shown = json.loads(raw[1])
    assert 0 < len(shown) < 60
    assert f"{len(shown)} of 60 rows are on this page" in page
    assert f"{60 - len(shown)} chosen rows were left out" in page
    assert shown[0]["inputs"][0][2] == 6_000


def test_page_that_cannot_fit_is_refused_with_the_number() -> None:
    with pytest.raises(ValueError, match="larger than the limit of 10,000"):
        render_page(sample_report(), [], SPEC, PageChoice(), limit_bytes=10_000)


def test_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    choice = write_page(target, sample_report(), sample_rows(), SPEC, limit=20)
    assert choice.shown == 20 and choice.total == 84
    before = target.read_bytes()

    def broken() -> object:
        yield from sample_rows(3)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_page(target, sample_report(), broken(), SPEC)  # type: ignore[arg-type]
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("models", [0, 1])
def test_runs_without_models_or_scores_still_make_a_page(models: int) -> None:
    report = sample_report()
    kept = dict(list(report.models.items())[:models])
    bare = {"models": kept, "scores": {}, "metrics": {}, "ranking": (), "ranked_by": None}
    page = render_page(report.model_copy(update=bare), [], "", PageChoice())
    assert page.count("<tr>") >= models


def test_text_of_warnings_and_names_is_escaped() -> None:
    payload = "<img src=x onerror=alert(1)>"
    data = sample_report().data.model_copy(update={"name": payload, "columns": (payload,)})
    page = _page(name=payload, task=payload, data=data, warnings=(Warning(code="x", text=payload),))
    assert payload not in page
    assert [a for t, a in _read(page).tags if t == "img"] == []


def test_importing_the_page_loads_no_model_library() -> None:
    code = (
        "import sys, bakeoff.jobs.page; "
        "print([m for m in ('torch', 'transformers', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
