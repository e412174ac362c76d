"""A model that nothing tells the pair is named in the report."""

from __future__ import annotations

import pytest

from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Capabilities, ModelFacts
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks import build_task


@pytest.mark.parametrize(
    ("prefix", "codes", "template", "told"),
    [
        ("", (), None, False),
        ("translate English to French: ", (), None, True),
        ("", ("en", "fr"), None, True),
        ("", (), "to French: {{ source }}", True),
    ],
)
def test_a_pair_that_is_not_told(
    prefix: str, codes: tuple[str, ...], template: str | None, told: bool
) -> None:
    spec = TaskSpec(kind="translation", source_language="en", target_language="French")
    capabilities = Capabilities(kind="seq2seq", language_codes=codes)
    facts = ModelFacts(ModelRef.parse("fake://echo"), "x", capabilities, prefix=prefix)
    prompt = PromptSpec(template=template) if template else None
    found = build_task(spec).notices(facts, prompt)
    assert [notice.code for notice in found] == ([] if told else ["languages-not-told"])
