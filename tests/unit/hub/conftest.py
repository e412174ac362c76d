"""Tiny checkpoints made without torch, for the test hub."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ["<unk>", "</s>", "a", "tiny", "model", "says", "little"]
SIZE = 16


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _llama(tmp_path_factory.mktemp("checkpoint"), seed=1)


@pytest.fixture(scope="session")
def other_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with other weights, and 300 kB in a folder below."""
    folder = _llama(tmp_path_factory.mktemp("other"), seed=2)
    noise = np.random.default_rng(3).integers(0, 256, 300_000, dtype=np.uint8)
    (folder / "extra").mkdir()
    (folder / "extra" / "noise.bin").write_bytes(noise.tobytes())
    return folder


def _llama(folder: Path, seed: int) -> Path:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(WORDS),
        "hidden_size": SIZE,
        "intermediate_size": SIZE,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config))
    square, vector, table = (SIZE, SIZE), (SIZE,), (len(WORDS), SIZE)
    layer: dict[str, tuple[int, ...]] = {f"self_attn.{name}_proj": square for name in "qkvo"}
    layer |= {f"mlp.{name}_proj": square for name in ("gate", "up", "down")}
    layer |= {"input_layernorm": vector, "post_attention_layernorm": vector}
    shapes = {f"model.layers.0.{name}.weight": shape for name, shape in layer.items()}
    shapes |= {"model.norm.weight": vector, "model.embed_tokens.weight": table}
    shapes |= {"lm_head.weight": table}
    random = np.random.default_rng(seed)
    weights = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    single = {name: values.astype(np.float32) for name, values in weights.items()}
    save_file(single, str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
    settings["eos_token"] = "</s>"
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
