"""Drawing: the numbers are what they are said to be, and so is what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from bakeoff.engines.batch.decoding import Decoding
from bakeoff.engines.transformers import sampling
from bakeoff.engines.transformers.sampling import Filters, Uniforms, draw

pytestmark = pytest.mark.torch


def test_a_number_depends_on_seed_choice_and_position_alone():
    numbers = Uniforms(7, 1)
    forward = [numbers(i) for i in range(600)]
    again = Uniforms(7, 1)
    assert [again(i) for i in (599, 3, 300)] == [forward[i] for i in (599, 3, 300)]
    for position in (0, 1, 255, 256, 511):
        generator = np.random.Philox(
            counter=np.array([position, 0, 0, 0], dtype=np.uint64),
            key=np.array([7, 1], dtype=np.uint64),
        )
        assert forward[position] == (int(generator.random_raw()) >> 11) * 2.0**-53
    assert (
        len({tuple(Uniforms(s, c)(i) for i in range(3)) for s in range(5) for c in range(5)}) == 25
    )
    assert Uniforms(2**63 - 1, 1023)(10**9) < 1.0


def test_the_numbers_of_the_first_positions_never_change():
    assert [round(Uniforms(0, 0)(i), 12) for i in range(3)] == EXPECTED_0
    assert [round(Uniforms(42, 3)(i), 12) for i in range(3)] == EXPECTED_42


EXPECTED_0 = [0.011546754286, 0.502379604274, 0.253822740392]
EXPECTED_42 = [0.712214296032, 0.212186739362, 0.631983853208]

SETTINGS = [
    {"temperature": 1.0},
    {"temperature": 0.5},
    {"temperature": 1.3, "top_k": 5},
    {"temperature": 1.0, "top_p": 0.8},
    {"temperature": 2.0, "top_p": 0.999},
    {"temperature": 1.0, "min_p": 0.05},
    {"temperature": 1.5, "top_k": 300, "top_p": 0.9, "min_p": 0.01},
    {"temperature": 3.0, "top_k": 700},
    {"temperature": 0.9, "top_k": 20, "top_p": 0.5},
    {"temperature": 0.01},
]


def _library(scores, one: Decoding):
    """Probabilities as the library's own filters leave them."""
    warpers = LogitsProcessorList([TemperatureLogitsWarper(one.temperature)])
    if one.top_k:
        warpers.append(TopKLogitsWarper(one.top_k))
    if one.top_p < 1.0:
        warpers.append(TopPLogitsWarper(one.top_p))
    if one.min_p:
        warpers.append(MinPLogitsWarper(one.min_p))
    return torch.softmax(warpers(None, scores.clone()).double(), dim=-1)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("vocabulary", [50, 2000])
def test_draws_follow_the_library_s_filters(settings, vocabulary):
    torch.manual_seed(1)
    one = Decoding(**settings)
    scores = torch.randn(1, vocabulary) * 2.0
    probs = _library(scores, one)[0]
    count = 4000
    numbers = (np.arange(count) + 0.5) / count
    tokens = draw(scores.expand(count, -1), Filters.of([one] * count), numbers)
    found = np.bincount(tokens, minlength=vocabulary) / count
    # Evenly spread numbers through the inverse of a cumulative sum: each share to 1 / count.
    assert np.abs(found - probs.numpy()).max() < 2.5 / count
    assert (np.diff(tokens) >= 0).all()  # by token id


def test_rows_with_different_settings_do_not_touch_each_other():
    torch.manual_seed(2)
    settings = [Decoding(**one) for one in SETTINGS]
    scores = torch.randn(len(settings), 1000)
    numbers = np.linspace(0.05, 0.99, len(settings))
    together = draw(scores, Filters.of(settings), numbers)
    for at, one in enumerate(settings):
        alone = draw(scores[at : at + 1], Filters.of([one]), numbers[at : at + 1])
        assert alone[0] == together[at]


def test_the_head_gives_what_the_whole_vocabulary_gives(monkeypatch):
    torch.manual_seed(3)
    scores = (torch.randn(64, 3000) * 3).round(decimals=1)  # many equal values
    one = [Decoding(temperature=1.0, top_p=0.95)] * 64
    numbers = np.random.default_rng(0).random(64)
    quick = draw(scores, Filters.of(one), numbers)
    monkeypatch.setattr(sampling, "_HEAD", 3000)
    assert (draw(scores, Filters.of(one), numbers) == quick).all()


@pytest.mark.parametrize(
    ("settings", "most"),
    [({}, 0), ({"top_p": 0.9}, 2), ({"top_k": 200}, 1), ({"min_p": 0.02}, 1)],
    ids=str,
)
def test_rounding_changes_hardly_a_draw(settings, most):
    """Where the last token kept changes, so may the draw."""
    torch.manual_seed(4)
    count = 2000
    scores = torch.randn(count, 1000)
    noise = (torch.rand_like(scores) - 0.5) * 4e-6
    one = Filters.of([Decoding(temperature=4.0, **settings)] * count)
    numbers = np.random.default_rng(1).random(count)
    changed = draw(scores, one, numbers) != draw(scores + noise, one, numbers)
    assert changed.sum() <= most


def test_forbidden_tokens_are_never_drawn():
    scores = torch.full((1, 300), float("-inf"))
    scores[0, [3, 200]] = torch.tensor([0.0, 0.0])
    one = Filters.of([Decoding(temperature=1.0)])
    for number in (0.0, 0.3, 0.7, 1.0 - 2**-53):
        token = draw(scores, one, np.array([number]))[0]
        assert token == (3 if number < 0.5 else 200)
