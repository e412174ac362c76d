"""End of sequence is a set: each of its tokens ends a text, and none shows in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, GenerationParams, Message, Messages
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from tests.contract.targets import run
from tests.unit.engines.loading.checkpoints import rewrite
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch


def written(folder: Path) -> Completion:
    """The text for the first conversation of the zoo's chat model."""
    prompt = Messages((Message("user", zoo_inputs("llama", 1)[0]),))
    request = GenerateRequest("1", prompt, GenerationParams(max_new_tokens=200))

    async def work() -> Any:
        facts = describe(ModelRef.parse(str(folder)))
        engine = await open_engine("transformers", facts, EngineOptions(threads=1))
        try:
            return (await engine.generate([request]))[0]
        finally:
            await engine.close()

    made = run(work())
    assert isinstance(made, Completion), made
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(zoo_path("llama"), tmp_path / "model")


@pytest.mark.parametrize("place", ["generation_config.json", "config.json"])
def test_each_token_of_a_list_ends_a_text(folder: Path, place: str) -> None:
    whole = written(folder)
    assert whole.finish is FinishReason.STOP
    said = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    ends = [*(said if isinstance(said, list) else [said]), whole.token_ids[4]]
    at = whole.token_ids.index(ends[-1])
    rewrite(folder / place, eos_token_id=ends)
    cut = written(folder)
    assert cut.finish is FinishReason.STOP
    assert cut.token_ids[:at] == whole.token_ids[:at] and len(cut.token_ids) <= at + 1
    assert whole.text.startswith(cut.text) and cut.text != whole.text


def test_what_the_template_ends_a_turn_with_ends_a_text_that_no_file_names(folder: Path) -> None:
    whole = written(folder)
    marker = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    turn_end = next(token["id"] for token in marker if token["content"] == "<|im_end|>")
    for place in ("config.json", "generation_config.json"):
        rewrite(folder / place, eos_token_id=2)
    rewrite(folder / "tokenizer_config.json", eos_token="</s>")
    assert turn_end not in (2, None)
    assert written(folder).text == whole.text
    assert "<|im_end|>" not in whole.text
