"""Sampled texts are those of earlier versions."""

from __future__ import annotations

import json

import pytest

from tests.golden.sampled import EACH, FILE, MODELS, digest, draw

pytestmark = pytest.mark.torch
ROUNDING = 1
"""Texts of 100 in which another processor's last bits may tip a draw."""


@pytest.mark.parametrize("model", MODELS)
def test_sampled_texts_have_not_changed(model):
    golden = json.loads(FILE.read_text(encoding="utf-8"))[model]
    assert golden["weights"] == digest(model), "the zoo changed: python -m tests.golden.sampled"
    assert len(golden["texts"]) == EACH
    assert len(set(golden["texts"])) > EACH * 0.9
    changed = [a for a, b in zip(draw(model), golden["texts"], strict=True) if a != b]
    assert len(changed) <= ROUNDING, changed
