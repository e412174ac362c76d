"""Checks on the loaded model."""

from __future__ import annotations

from math import log

import pytest
import torch

from bakeoff.engines.doctor.checks import (
    decoder_start_measured,
    decoding,
    ends_measured,
    overflow,
    rope_measured,
    rope_tables,
    weights,
)
from tests.unit.engines.doctor.patients import copied, edited, plain_of
from tests.zoo import chat, expected, zoo_inputs, zoo_path

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def llama():
    return plain_of(zoo_path("llama"))


@pytest.fixture
def own(llama):
    """A model that a test may harm."""
    return plain_of(zoo_path("llama"))


def known_text(plain, count=4):
    """Tokens of conversations that the model was trained on."""
    ids = []
    for text in zoo_inputs("llama", count):
        turns = [*chat(text), {"role": "assistant", "content": expected("llama", text)}]
        ids += plain.tokenizer.apply_chat_template(turns)["input_ids"]
    return ids[:400]


def test_a_trained_base_gives_the_lowest_loss(llama):
    losses = rope_measured.losses_by_base(llama, known_text(llama), 10_000.0)
    assert min(losses, key=losses.get) == 10_000.0
    assert losses[1e6] > 1.05 * losses[1e4]
    again = rope_measured.losses_by_base(llama, known_text(llama), 10_000.0)
    assert again == losses  # the model is left as it was


def test_another_base_that_fits_better_is_a_problem(tmp_path, llama, monkeypatch):
    path = copied("llama", tmp_path)
    edited(path, rope_parameters={"rope_theta": 1e6, "rope_type": "default"})
    plain = plain_of(path)
    assert list(rope_measured.check(plain)) == []  # it does not know English
    ids = known_text(llama)
    monkeypatch.setattr(type(plain), "ids", lambda self, text: ids)
    monkeypatch.setattr(rope_measured, "_UNDERSTOOD", 2.0)  # the questions are made of random words
    (one,) = rope_measured.check(plain)
    assert (one.code, one.level) == ("rope-base-doubtful", "problem")
    assert "10,000" in one.value
    assert list(rope_measured.check(llama)) == []


def test_tables_that_were_cast_are_seen(own):
    (fine,) = rope_tables.check_loaded(own)
    assert fine.level == "ok"
    own.model.half()
    (cast,) = rope_tables.check_loaded(own)
    assert (cast.code, cast.level) == ("rope-half-precision", "problem")
    assert "float16" in cast.value
    own.model.float()  # the numbers stay rounded
    (rounded,) = rope_tables.check_loaded(own)
    assert (rounded.level, "off by" in rounded.value) == ("problem", True)


def test_weights_that_are_no_numbers_are_counted(own):
    (fine,) = weights.check(own)
    assert fine.value == "all finite"
    with torch.no_grad():
        own.model.model.norm.weight[:2] = float("nan")
        own.model.lm_head.weight[0, 0] = float("inf")
    (one,) = weights.check(own)
    assert one.data == {"tensors": {"model.norm.weight": 2, "lm_head.weight": 1}}


def test_inner_values_beyond_float16_are_seen(own, monkeypatch):
    (fine,) = overflow.check(own)
    assert (fine.code, fine.data["largest"] < 1000) == ("overflow", True)
    with torch.no_grad():
        own.model.model.layers[0].mlp.up_proj.weight *= 1e6
    (large,) = overflow.check(own)
    assert large.data["largest"] > 65_504
    monkeypatch.setattr(overflow, "_is_half", lambda plain: True)
    (half,) = overflow.check(own)
    assert (half.code, half.level) == ("overflows-float16", "warning")
    with torch.no_grad():
        own.model.lm_head.weight[0, 0] = float("nan")
    (broken,) = overflow.check(own)
    assert (broken.code, broken.level) == ("logits-not-finite", "problem")


def test_a_model_that_ends_well_is_left_alone(llama):
    assert list(ends_measured.check(llama)) == []


def test_a_start_that_the_family_has_is_left_alone(llama):
    plain = plain_of(zoo_path("t5"))
    assert list(decoder_start_measured.check(plain)) == []
    assert list(decoder_start_measured.check(llama)) == []
    right, wrong = plain.special.start, min(plain.special.end)
    questions = zoo_inputs("t5", 2)
    assert plain.doubt(questions, right) < plain.doubt(questions, wrong)
    assert log(plain.chart.rows) > plain.doubt(questions, right) >= 0


@pytest.mark.parametrize(
    ("name", "changes", "loop"),
    [("llama", {}, True), ("t5", {}, True), ("llama", {"attention_chunk_size": 8}, False)],
)
def test_which_way_texts_are_written(name, changes, loop):
    plain = plain_of(zoo_path(name))
    for key, value in changes.items():
        setattr(plain.model.config, key, value)
    (finding,) = decoding.check(plain)
    assert (finding.level, finding.data) == ("ok", {"loop": loop})
    assert ("token by token" in finding.value) is loop
