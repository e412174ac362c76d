"""Families that transformers 5 configures otherwise than the converter expects: they convert, and
what comes out computes what the model computes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.ctranslate2.converted import converted
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
SIZE = 760
T5: dict[str, Any] = {
    "vocab_size": SIZE, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
    "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
GATED = {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
BART: dict[str, Any] = {
    "vocab_size": SIZE, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48, "max_position_embeddings": 64, "pad_token_id": 1, "bos_token_id": 0,
    "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "vocab_size": SIZE, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
THETA = {"rope_type": "default", "rope_theta": 500_000.0}


def saved(folder: Path, family: str, head: str, **config: Any) -> ModelRef:
    torch.manual_seed(0)
    made = getattr(transformers, f"{family}Config")(**config)
    model = getattr(transformers, family.removesuffix("Text") + head)(made).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * 0.1)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(zoo_path("llama") / name, folder)
    return ModelRef.parse(str(folder), engine="ctranslate2")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    yield
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("family", "head", "config"),
    [
        ("T5", "ForConditionalGeneration", T5),
        ("T5", "ForConditionalGeneration", GATED),
        ("MT5", "ForConditionalGeneration", GATED),
        ("UMT5", "ForConditionalGeneration", GATED),
        ("Bart", "ForConditionalGeneration", BART),
        ("Bart", "ForConditionalGeneration",
         {**BART, "scale_embedding": True, "activation_function": "relu"}),
        ("MBart", "ForConditionalGeneration", BART),
        ("Pegasus", "ForConditionalGeneration", BART),
        ("M2M100", "ForConditionalGeneration", BART),
        ("Llama", "ForCausalLM", {**LLAMA, "rope_parameters": THETA}),
        ("Gemma", "ForCausalLM",
         {**LLAMA, "num_key_value_heads": 2, "head_dim": 8, "rope_parameters": THETA}),
        ("Phi3", "ForCausalLM", LLAMA),
        ("GPTNeoX", "ForCausalLM", LLAMA),
        ("GPTNeoX", "ForCausalLM", {**LLAMA, "use_parallel_residual": False}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_it_converts_to_the_same_numbers(
    home: None, tmp_path: Path, family: str, head: str, config: dict[str, Any]
) -> None:
    ref = saved(tmp_path / "model", family, head, **config)
    converted(describe(ref)).release()


def test_what_the_library_does_not_compute_is_found_out(home: None, tmp_path: Path) -> None:
    """Gemma 2 caps its logits, which no parameter of the converted model says."""
    ref = saved(
        tmp_path / "model",
        "Gemma2",
        "ForCausalLM",
        **LLAMA,
        head_dim=8,
        final_logit_softcapping=1.0,
    )
    with pytest.raises(ModelLoadFailed, match="other log-probabilities"):
        converted(describe(ref))
