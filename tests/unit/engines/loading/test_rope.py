"""Rotary positions: tables in float32, settings by their older and newer names, none lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.configkeys import unknown_keys
from bakeoff.engines.transformers.loading import Loaded, load_model
from tests.unit.engines.loading.checkpoints import rewrite
from tests.zoo import NAMES, zoo_path

pytestmark = pytest.mark.torch
TURNING = [
    name for name in NAMES if "rope" in (zoo_path(name) / "config.json").read_text(encoding="utf-8")
]
"""Models of the zoo with rotary positions."""
IDS = torch.arange(8, 40)[None]


def load(folder: Path, **options: Any) -> Loaded:
    return load_model(describe(ModelRef.parse(str(folder), **options)), EngineOptions(threads=1))


def tables(loaded: Loaded) -> dict[str, torch.Tensor]:
    return {n: b for n, b in loaded.model.named_buffers() if n.endswith("inv_freq")}


def logits(folder: Path) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = load(folder).model(IDS).logits
    return found


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", TURNING)
def test_the_tables_stay_in_float32_whatever_the_weights_are(name: str, dtype: str) -> None:
    whole, half = load(zoo_path(name)), load(zoo_path(name), torch_dtype=dtype)
    assert str(next(half.model.parameters()).dtype) == f"torch.{dtype}"
    found = tables(half)
    assert found
    for buffer, table in tables(whole).items():
        assert found[buffer].dtype == torch.float32
        assert torch.equal(found[buffer], table)


def test_the_zoo_has_models_with_rotary_positions() -> None:
    assert {"llama", "qwen2"} <= set(TURNING)


SMALL = {
    "vocab_size": 1024, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 32,
    "max_position_embeddings": 64, "initializer_range": 0.4, "pad_token_id": 0,
}  # fmt: skip
LINEAR = {"factor": 4.0}
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}  # fmt: skip
CASES = {
    "base": ("Llama", {"rope_theta": 5e5}, {"rope_type": "default", "rope_theta": 5e5}),
    "no scaling": ("Llama", {"rope_theta": 5e5, "rope_scaling": None},
                   {"rope_type": "default", "rope_theta": 5e5}),
    "linear": ("Llama", {"rope_theta": 5e4, "rope_scaling": {"type": "linear", **LINEAR}},
               {"rope_type": "linear", "rope_theta": 5e4, **LINEAR}),
    "llama3": ("Llama", {"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", **LLAMA3}},
               {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3}),
    "qwen2": ("Qwen2", {"rope_theta": 1e6}, {"rope_type": "default", "rope_theta": 1e6}),
    "qwen3": ("Qwen3", {"rope_theta": 1e6}, {"rope_type": "default", "rope_theta": 1e6}),
    "mistral": ("Mistral", {"rope_theta": 1e6}, {"rope_type": "default", "rope_theta": 1e6}),
    "phi3": ("Phi3", {"rope_theta": 2e4, "partial_rotary_factor": 0.5},
             {"rope_type": "default", "rope_theta": 2e4, "partial_rotary_factor": 0.5}),
    "gemma3": ("Gemma3", {"rope_theta": 1e6, "rope_local_base_freq": 3e4},
               {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 3e4}}),
    "neox": ("GPTNeoX", {"rotary_emb_base": 3e4, "rotary_pct": 0.5},
             {"rope_type": "default", "rope_theta": 3e4, "partial_rotary_factor": 0.5}),
}  # fmt: skip
"""Family, settings as transformers 4 wrote them, the same as transformers 5 does."""


def save(folder: Path, family: str) -> Path:
    """A small model with random weights and a tokenizer of the zoo; no setting of positions."""
    kind = getattr(transformers, f"{family}{'Text' if family == 'Gemma3' else ''}Config")
    sizes = {key: value for key, value in SMALL.items() if key in kind().to_dict()}
    if family == "Gemma3":
        sizes["layer_types"] = ["sliding_attention", "full_attention"]
    config = kind(**sizes)
    torch.manual_seed(5)
    getattr(transformers, f"{family}ForCausalLM")(config).eval().save_pretrained(folder)
    for path in zoo_path("llama").glob("*token*"):
        shutil.copy(path, folder)
    for key in ("rope_parameters", "rope_scaling", "rope_theta"):
        rewrite(folder / "config.json", **{key: None})
    return folder


@pytest.mark.parametrize("case", CASES)
def test_older_and_newer_names_give_the_same_logits(case: str, tmp_path: Path) -> None:
    family, older, newer = CASES[case]
    folder = save(tmp_path / "m", family)
    plain = logits(folder)
    path = folder / "config.json"
    bare = path.read_text(encoding="utf-8")
    path.write_text(json.dumps({**json.loads(bare), **older}), encoding="utf-8")
    by_old, notices = logits(folder), load(folder).notices
    path.write_text(json.dumps({**json.loads(bare), "rope_parameters": newer}), encoding="utf-8")
    assert torch.equal(logits(folder), by_old)
    assert not torch.allclose(by_old, plain, atol=1e-3)
    assert notices == load(folder).notices == ()


@pytest.mark.parametrize(
    ("family", "keys", "named"),
    [
        ("GPT2", {"rope_theta": 5e5}, "gpt2: rope_theta"),
        ("GPT2", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "gpt2: rope_scaling"),
        ("GPT2", {"rope_parameters": {"rope_type": "default"}}, "gpt2: rope_parameters"),
        ("Llama", {"rope_thetta": 5e5, "rope_base": 5e5}, "llama: rope_base, rope_thetta"),
        ("Llama", {"rotary_emb_base": 5e5}, "llama: rotary_emb_base"),
    ],
)
def test_settings_that_a_family_does_not_know_are_named(
    family: str, keys: dict[str, Any], named: str, tmp_path: Path
) -> None:
    if family == "GPT2":
        sizes = {"vocab_size": 1024, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64}
        config = transformers.GPT2Config(**sizes)
        transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
        for path in zoo_path("llama").glob("*token*"):
            shutil.copy(path, tmp_path)
    else:
        save(tmp_path, family)
    rewrite(tmp_path / "config.json", **keys)
    notices = [n for n in load(tmp_path).notices if n.code == "unknown-config-key"]
    assert [n.text.rpartition("for ")[2] for n in notices] == [named]


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_scaling": {"type": "martian", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "martian", "rope_theta": 1e4}},
    ],
)
def test_a_kind_that_the_library_does_not_know_is_refused_by_name(
    keys: dict[str, Any], tmp_path: Path
) -> None:
    folder = save(tmp_path, "Llama")
    rewrite(folder / "config.json", **keys)
    with pytest.raises(ModelLoadFailed, match=r"rope_type 'martian'.*llama3, longrope.*yarn"):
        load(folder)


@pytest.mark.parametrize(
    ("older", "says"),
    [
        ({"rope_theta": 1e4}, "rope_theta 10000.0, and 500000.0 in rope_parameters"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "the former is taken"),
        ({"rope_theta": 5e5}, None),
    ],
)
def test_settings_that_are_told_twice(
    older: dict[str, Any], says: str | None, tmp_path: Path
) -> None:
    folder = save(tmp_path, "Llama")
    newer = {"rope_type": "default", "rope_theta": 5e5}
    rewrite(folder / "config.json", rope_parameters=newer, **older)
    found = [n for n in load(folder).notices if n.code == "rope-settings-contradict"]
    assert len(found) == (says is not None)
    assert says is None or says in found[0].text


def test_keys_of_the_part_for_text_are_named_as_well(tmp_path: Path) -> None:
    config = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "window": 3}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (notice,) = unknown_keys(transformers.AutoConfig.from_pretrained(tmp_path), tmp_path)
    assert notice.text.endswith("for gemma3: text_config.window")
