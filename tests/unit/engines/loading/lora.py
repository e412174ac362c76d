"""LoRA weights for models of the zoo: random, and large enough to change the text."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from tests.unit.engines.loading.running import bare

TASKS = {"llama": "CAUSAL_LM", "qwen2": "CAUSAL_LM", "t5": "SEQ_2_SEQ_LM", "bart": "SEQ_2_SEQ_LM"}
TARGETS = {"t5": ["q", "v"]}


def save_lora(folder: Path, name: str, seed: int = 0, **config: Any) -> Path:
    """LoRA weights made for a model of the zoo; fields of `LoraConfig` may be given."""
    import peft

    torch.manual_seed(seed)
    settings = {
        "r": 4,
        "lora_alpha": 8,
        "target_modules": TARGETS.get(name, ["q_proj", "v_proj"]),
        "task_type": TASKS[name],
        **config,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peft.get_peft_model(bare(name), peft.LoraConfig(**settings))
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "lora_B" in key:
                weight.normal_(0, 0.6)
    model.save_pretrained(folder, save_embedding_layers=False)
    return folder


def bare_lora(name: str, *folders: Path) -> Any:
    """As PEFT alone lays them over the model."""
    import peft

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peft.PeftModel.from_pretrained(bare(name), folders[0], adapter_name="one")
    names = ["one"]
    for number, folder in enumerate(folders[1:]):
        names.append(f"more{number}")
        model.load_adapter(folder, adapter_name=names[-1])
    if len(folders) > 1:
        model.base_model.set_adapter(names)
    return model.eval()
