"""Rules over logits: one row's numbers are its own, with padding and neighbours or without."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
)

from bakeoff.engines.batch.decoding import Decoding
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.transformers.rules import Rules, Shape, build

pytestmark = pytest.mark.torch
VOCABULARY = 30
PAD = 2
END = 1


def make(ids, first=None, **settings):
    return Row("r", tuple(ids), 0, Decoding(**settings), frozenset({END}), first=first)


def apply(rows, written, scores, last=None):
    """What the rules make of a step at which `written` tokens stand behind each prompt."""
    width = max(row.length for row in rows)
    pads = [width - row.length for row in rows]
    prompt = [[row.ids[0]] * pad + list(row.ids) for row, pad in zip(rows, pads, strict=True)]
    ids = [
        [PAD] * pad + list(row.ids) + new for row, pad, new in zip(rows, pads, written, strict=True)
    ]
    shape = Shape(rows, width, pads, torch.tensor(prompt), "cpu")
    return Rules(build(shape, last))(torch.tensor(ids), scores.clone())


@pytest.fixture
def scores():
    torch.manual_seed(0)
    return torch.randn(3, VOCABULARY) * 3


def test_the_library_s_rules_are_followed_to_the_last_bit(scores):
    settings = {"repetition_penalty": 1.7, "no_repeat_ngram_size": 2, "min_new_tokens": 5}
    prompt, new = [5, 6, 7, 5], [9, 7, 5]
    ids = torch.tensor([prompt + new])
    library = LogitsProcessorList(
        [
            RepetitionPenaltyLogitsProcessor(1.7),
            NoRepeatNGramLogitsProcessor(2),
            MinNewTokensLengthLogitsProcessor(4, 5, [END]),
        ]
    )
    expected = library(ids, scores[:1].clone())
    rows = [make(prompt, **settings), make(range(10, 20)), make([3], repetition_penalty=1.1)]
    found = apply(rows, [new, [4, 4, 4], [8, 8, 8]], scores)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], scores[1])
    for row, one, line in zip(rows, [new, [4, 4, 4], [8, 8, 8]], range(3), strict=True):
        alone = apply([row], [one], scores[line : line + 1])
        assert torch.equal(alone[0], found[line])


def test_padding_is_no_part_of_a_prompt(scores):
    rows = [make([4], repetition_penalty=2.0, no_repeat_ngram_size=1), make(range(3, 25))]
    found = apply(rows, [[9], [9]], scores[:2])
    assert found[0, PAD] == scores[0, PAD]
    assert found[0, [4, 9]].tolist() == [float("-inf")] * 2


def test_frequency_and_presence_count_the_generated_text(scores):
    rows = [
        make([5, 5, 5], frequency_penalty=0.5, presence_penalty=0.25),
        make([5], frequency_penalty=-1.0),
        make([5], presence_penalty=1.0),
    ]
    found = apply(rows, [[7, 7, 8]] * 3, scores)
    change = (found - scores).round(decimals=4)
    assert change[0, [5, 7, 8]].tolist() == [0.0, -1.25, -0.75]
    assert change[1, [5, 7, 8]].tolist() == [0.0, 2.0, 1.0]
    assert change[2, [5, 7, 8]].tolist() == [0.0, -1.0, -1.0]
    assert (change != 0).sum() == 6


def test_bias_is_added_for_its_row_alone(scores):
    rows = [make([5], logit_bias=((3, 2.0), (4, -100.0))), make([5])]
    change = (apply(rows, [[], []], scores[:2]) - scores[:2]).round(decimals=3)
    assert change[0, [3, 4]].tolist() == [2.0, -100.0]
    assert (change != 0).sum() == 2


def test_first_and_last_tokens_are_forced_where_they_belong(scores):
    rows = [make([5], first=11, max_new_tokens=3), make([5], max_new_tokens=2)]
    begin = apply(rows, [[], []], scores[:2], last=END)
    assert begin[0].argmax() == 11
    assert torch.equal(begin[1], scores[1])
    second = apply(rows, [[11], [8]], scores[:2], last=END)
    assert torch.equal(second[0], scores[0])
    assert second[1].argmax() == END
    assert torch.isinf(second[1]).sum() == VOCABULARY - 1
    assert apply(rows, [[11, 4], [8, 1]], scores[:2], last=END)[0].argmax() == END


def test_sampled_rows_have_one_token_left_and_greedy_rows_all(scores):
    rows = [make([5], temperature=1.0, seed=3), make([5]), make([5], temperature=2.0)]
    found = apply(rows, [[], [], []], scores)
    assert [int(torch.isfinite(line).sum()) for line in found] == [1, VOCABULARY, 1]
    assert torch.equal(found[1], scores[1])


def test_nothing_asked_costs_nothing():
    row = make([5, 6])
    assert build(Shape([row], 2, [0], torch.tensor([[5, 6]]), "cpu"), None) == []
