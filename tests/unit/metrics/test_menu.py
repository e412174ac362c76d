"""The menu of metrics: names, options, near matches, and nothing heavy before scoring."""

import subprocess
import sys

import pytest

from bakeoff.core.errors import BakeoffError, InvalidSpec, UnknownName, UnsupportedOption
from bakeoff.core.specs import MetricSpec
from bakeoff.metrics import METRICS, OUTPUTS, build_metrics, family_of


def spec(name: str, **options: object) -> MetricSpec:
    return MetricSpec(name=name, options=options)


def test_outputs_known_without_an_import_are_those_of_the_classes() -> None:
    built = build_metrics([spec(name) for name in METRICS])
    assert {m.name: tuple(o.name for o in m.outputs()) for m in built} == dict(OUTPUTS)


def test_no_output_belongs_to_two_metrics() -> None:
    names = [name for family in OUTPUTS.values() for name in family]
    assert len(names) == len(set(names))


def test_wrong_name_is_answered_with_near_matches() -> None:
    with pytest.raises(UnknownName, match="did you mean 'rouge'") as caught:
        build_metrics([spec("ruoge")])
    assert "rouge" in caught.value.near


@pytest.mark.parametrize("output", ["rougeL", "squad_em", "bertscore_f1", "length_words"])
def test_name_of_a_number_is_answered_with_its_metric(output: str) -> None:
    family = family_of(output)
    with pytest.raises(UnknownName, match=f"write '{family}'"):
        build_metrics([spec(output)])


def test_family_of() -> None:
    assert family_of("rougeLsum") == "rouge"
    assert family_of("bleu") == "bleu"
    assert family_of("nothing") is None


def test_same_metric_twice_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="named twice"):
        build_metrics([spec("rouge"), spec("rouge", use_stemmer=True)])


@pytest.mark.parametrize("name", list(METRICS))
def test_unknown_option_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedOption, match=f"{name!r} has no option 'colour'") as caught:
        build_metrics([spec(name, colour="red")])
    assert caught.value.option == "colour"


def test_unknown_option_is_answered_with_a_near_match() -> None:
    with pytest.raises(UnsupportedOption, match="did you mean 'use_stemmer'"):
        build_metrics([spec("rouge", use_stemer=True)])


@pytest.mark.parametrize(
    ("name", "option", "value", "wanted"),
    [
        ("rouge", "use_stemmer", "yes", "true or false"),
        ("bleu", "tokenize", "mecab", "one of auto, 13a"),
        ("chrf", "word_order", 9, "a whole number from 0 to 4"),
        ("chrf", "word_order", True, "a whole number"),
        ("meteor", "alpha", 2, "a number from 0 to 1"),
        ("meteor", "alpha", "much", "a number from 0 to 1"),
        ("bertscore", "model", "  ", "a text"),
        ("macro_f1", "labels", "yes", "a list of texts"),
        ("compression", "unit", "tokens", "one of characters, words"),
    ],
)
def test_wrong_value_is_refused(name: str, option: str, value: object, wanted: str) -> None:
    with pytest.raises(BakeoffError, match=wanted) as caught:
        build_metrics([spec(name, **{option: value})])
    assert repr(option) in caught.value.message
    assert repr(value) in caught.value.message


def test_nothing_heavy_is_imported_before_scoring() -> None:
    code = (
        "import sys\n"
        "from bakeoff.core.specs import MetricSpec\n"
        "from bakeoff.metrics import METRICS, build_metrics\n"
        "build_metrics([MetricSpec(name=n) for n in METRICS])\n"
        "heavy = {'torch', 'transformers', 'scipy', 'sacrebleu', 'nltk', 'bert_score',\n"
        "         'rouge_score', 'rouge_score_rs', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
