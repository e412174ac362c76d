"""Broken checkpoints, made from healthy models of the zoo: one fault each, nothing stored.

`python -m tests.zoo.broken FOLDER [NAME ...]` writes them to look at by hand.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.zoo import zoo_path

_BOS = "{{ bos_token }}"
_TURNS = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>\\n' }}{% endfor %}"
)
_ANSWER = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
_NONE = (
    "{% set system = none %}{% for message in messages if message['role'] == 'system' %}"
    "{% set system = message['content'] %}{% endfor %}"
    "{{ '<|im_start|>system\\n' }}{{ messages[0]['content'] if messages[0]['role'] == 'system' "
    "else system }}{{ '<|im_end|>\\n' }}"
    "{% for message in messages if message['role'] != 'system' %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
)


@dataclass(frozen=True)
class Fault:
    """A way to break a checkpoint.

    Attributes:
        model: of the zoo, that is broken.
        code: under which `bakeoff doctor` names it.
        level: how bad it is.
        harm: changes the files of a copy.
    """

    model: str
    code: str
    level: str
    harm: Callable[[Path], None]


def broken(name: str, folder: Path) -> Path:
    """Write the broken checkpoint `name` under `folder` and return its own folder."""
    fault = FAULTS[name]
    path = folder / name
    shutil.copytree(zoo_path(fault.model), path)
    fault.harm(path)
    return path


def _edit(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file; Ellipsis removes a key."""
    value = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps({k: v for k, v in value.items() if v is not ...}), "utf-8")


def _weights(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(path / "model.safetensors")
    change(weights)
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})


def _template(path: Path, text: str) -> None:
    (path / "chat_template.jinja").write_text(text, encoding="utf-8")


def _rope_base(path: Path) -> None:
    """The same weights under a family whose default is another base than theirs."""
    said = json.loads((path / "config.json").read_text(encoding="utf-8"))
    names = (
        *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "rms_norm_eps"),
        *("num_attention_heads", "num_key_value_heads", "max_position_embeddings"),
        *("bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings"),
    )
    config = transformers.SmolLM3Config(**{name: said[name] for name in names})
    config.architectures = ["SmolLM3ForCausalLM"]
    config.save_pretrained(path)
    _edit(path / "config.json", rope_parameters=..., rope_theta=..., rope_scaling=...)


def _rope_half(path: Path) -> None:
    """Tables as checkpoints of 2023 held them, cast with the weights."""
    config = transformers.AutoConfig.from_pretrained(path)
    table = 1.0 / 10_000.0 ** (torch.arange(0, config.head_dim, 2) / config.head_dim)

    def add(weights: dict[str, torch.Tensor]) -> None:
        for layer in range(config.num_hidden_layers):
            name = f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"
            weights[name] = table.half().clone()

    _weights(path, add)


def _end_marker(path: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    _edit(path / "generation_config.json", eos_token_id=tokenizer.eos_token_id)


def _pad_is_end(path: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    _edit(path / "tokenizer_config.json", pad_token="<|im_end|>")
    for file in ("config.json", "generation_config.json"):
        _edit(path / file, pad_token_id=end)


def _more_tokens(path: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    tokenizer.add_tokens([f"<|tool_{at}|>" for at in range(4)])
    tokenizer.save_pretrained(path)


def _no_head(path: Path) -> None:
    _weights(path, lambda weights: weights.__delitem__("lm_head.weight"))


def _wrong_start(path: Path) -> None:
    end = json.loads((path / "config.json").read_text(encoding="utf-8"))["eos_token_id"]
    for file in ("config.json", "generation_config.json"):
        _edit(path / file, decoder_start_token_id=end)


def _overflow(path: Path) -> None:
    """Weights that were cast to float16 after some of them had grown too large for it."""

    def cast(weights: dict[str, torch.Tensor]) -> None:
        grown = weights["model.layers.1.mlp.down_proj.weight"].float()
        grown[0, :4] = 1e5
        weights["model.layers.1.mlp.down_proj.weight"] = grown
        weights.update({name: value.half() for name, value in weights.items()})

    _weights(path, cast)
    _edit(path / "config.json", dtype="float16")


FAULTS = {
    "rope-base-dropped": Fault("llama", "rope-base-missing", "problem", _rope_base),
    "rope-in-half-precision": Fault("llama", "rope-half-precision", "warning", _rope_half),
    "unknown-key": Fault(
        "qwen2",
        "unknown-config-key",
        "warning",
        lambda path: _edit(path / "config.json", rope_thetta=1e6),
    ),
    "end-marker-missing": Fault("llama", "end-marker-missing", "problem", _end_marker),
    "bos-twice": Fault(
        "llama",
        "bos-twice",
        "problem",
        lambda path: _template(path, _BOS + _BOS + _TURNS + _ANSWER),
    ),
    "no-generation-prompt": Fault(
        "llama",
        "generation-prompt-missing",
        "problem",
        lambda path: _template(path, _BOS + _TURNS),
    ),
    "pad-is-end": Fault("llama", "pad-is-end", "warning", _pad_is_end),
    "tokenizer-too-large": Fault("llama", "tokenizer-beyond-embeddings", "problem", _more_tokens),
    "head-missing": Fault("llama", "head-missing", "problem", _no_head),
    "wrong-decoder-start": Fault("t5", "decoder-start-wrong", "problem", _wrong_start),
    "overflow": Fault("llama", "weights-not-finite", "problem", _overflow),
    "template-prints-none": Fault(
        "llama",
        "template-prints-none",
        "problem",
        lambda path: _template(path, _BOS + _NONE + _ANSWER),
    ),
}
"""Name of a broken checkpoint -> what was done to it."""


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for chosen in sys.argv[2:] or FAULTS:
        print(broken(chosen, place))  # noqa: T201
