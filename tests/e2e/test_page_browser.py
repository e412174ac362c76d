"""report.html in a real browser: no text runs as code; sort, filter, keys, widths, scripts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.report import (
    ComparedAnswer,
    ComparedRow,
    DataSummary,
    MetricSummary,
    Pair,
    RaceEvent,
    Report,
    Score,
    Verdict,
    Warning,
)
from bakeoff.jobs.page import write_page
from tests.e2e.page_payloads import PAYLOADS
from tests.unit.page.sample import SPEC, sample_report, sample_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
VIOLATIONS = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => window.__violations.push(
  e.violatedDirective + " " + e.blockedURI + " " + e.sample));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield started
        started.close()


@dataclass
class Visit:
    """A page and everything that it did which it should not."""

    page: Any
    address: str
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def open(self, state: str = "") -> Any:
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{state}" if state else self.address)
        self.page.locator("html[data-ready=true]").wait_for()
        return self.page

    def check(self) -> None:
        outside = [r for r in self.requests if not r.startswith((self.address, "about:", "data:,"))]
        assert outside == []
        assert self.problems == []


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


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, sample_report(), sample_rows(), SPEC)
    return path


def _attacked_row(index: int, payload: str) -> ComparedRow:
    good = ComparedAnswer(
        model="one",
        ok=True,
        text=f"{payload} said",
        finish=payload,
        scores={payload: 0.1 + index / 1000, "f1": 0.5},
        extra={payload: payload},
    )
    answers = (
        good,
        good.model_copy(update={"repeat": 1, "text": payload}),
        ComparedAnswer(model="two", ok=True, text=payload, scores={"f1": index / 100}),
        ComparedAnswer(model="three", ok=False, error=f"engine_failed: {payload}"),
    )
    return ComparedRow(
        row=f"{index} {payload}",
        group=payload,
        inputs={payload: payload, "source": f"before {payload} after"},
        references=(payload, f"the {payload}"),
        answers=answers,
    )


def _attacked_report() -> Report:
    everything = " ".join(PAYLOADS)
    base = sample_report()
    model = base.models["smol"].model_copy(
        update={
            "reference": everything,
            "identity": everything,
            "engine": everything,
            "version": everything,
            "device": everything,
            "dtype": f"int8 {everything}",
            "why": everything,
            "prefix": everything,
            "generation": {p: p for p in PAYLOADS},
            "origins": {p: p for p in PAYLOADS},
            "failure_codes": {p: 1 for p in PAYLOADS},
        }
    )
    names = [*PAYLOADS, "f1"]
    score = Score(value=0.4, low=0.3, high=0.5, method=everything, n=3, reasons={everything: 2})
    return base.model_copy(
        update={
            "name": everything,
            "task": everything,
            "created": everything,
            "data": DataSummary(
                name=everything,
                hash=everything,
                rows=70,
                columns=PAYLOADS,
                roles={p: [p] for p in PAYLOADS},
                groups=4,
            ),
            "models": {"one": model, "two": model, "three": model},
            "metrics": {p: MetricSummary(metric=p, unit=p, signature=p) for p in names},
            "scores": {m: dict.fromkeys(names, score) for m in ("one", "two")},
            "ranking": ("one", "two"),
            "ranked_by": "f1",
            "pairs": tuple(
                Pair(a="one", b="two", metric=p, difference=0.1, low=0.0, high=0.2, method=p)
                for p in PAYLOADS
            ),
            "race": tuple(RaceEvent(at=3, dropped=p, evidence=p) for p in PAYLOADS),
            "verdict": Verdict(kind="better", sentence=everything, metric=everything, margin=1),
            "warnings": tuple(Warning(code=p, text=p, rows=1) for p in PAYLOADS),
            "versions": {p: p for p in PAYLOADS},
        }
    )


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    rows = [_attacked_row(i, p) for i, p in enumerate(PAYLOADS)]
    write_page(path, _attacked_report(), rows, "\n".join(PAYLOADS))
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


@pytest.mark.parametrize(
    "name", ["q", "row", "sort", "metric", "against", "theme", "board", "cols"]
)
def test_no_text_in_the_address_runs(visit: Any, attacked: Path, name: str) -> None:
    found = visit(attacked)
    page = found.open()
    for payload in (PAYLOADS[0], PAYLOADS[19], "__proto__", "%", "-metric:__proto__"):
        page.evaluate(
            "([n, p]) => { location.hash = new URLSearchParams({[n]: p}) }", [name, payload]
        )
        page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    _nothing_ran(found)


def test_without_scripts_the_leaderboard_is_there_and_says_so(visit: Any, sample: Path) -> None:
    found = visit(sample, java_script_enabled=False)
    found.page.goto(found.address)
    assert found.page.locator("#board tbody tr").count() == 5
    assert found.page.locator("#board").get_by_text("0.441").is_visible()
    assert found.page.get_by_text("JavaScript is off").is_visible()
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
    page.get_by_label("of", exact=True).select_option("smol")
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
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))


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


def test_on_a_phone_a_row_opens_over_the_list_and_back_returns(visit: Any, sample: Path) -> None:
    page = visit(sample, width=360).open("sort=row")
    assert page.locator(".detail").is_hidden()
    page.locator("#row-list button").nth(2).click()
    assert page.locator(".detail h3").text_content() == "dialogue-003"
    assert page.locator(".list-pane").is_hidden()
    page.go_back()
    assert page.locator(".list-pane").is_visible()
    assert page.locator(".detail").is_hidden()


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
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(e.tagName + "." + e.className + " " + e.textContent.slice(0, 30));
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
    page.get_by_label("Quality").select_option("chrf")
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


def test_printing_shows_the_row_and_no_controls(visit: Any, sample: Path) -> None:
    page = visit(sample).open("row=dialogue-009")
    page.emulate_media(media="print")
    assert page.locator(".list-pane").is_hidden()
    assert page.locator(".filters").is_hidden()
    assert page.locator(".answers").is_visible()
    assert page.locator("#board").is_visible()


def test_repeats_are_shown_as_distinct_answers(visit: Any, attacked: Path) -> None:
    page = visit(attacked).open("sort=row")
    card = page.get_by_role("article", name="one", exact=True)
    assert card.locator(".said").count() == 2
    assert card.get_by_text("1 of 2 repeats").count() == 2
    assert page.locator('[data-kind="repeats"] b').text_content() == str(len(PAYLOADS))
