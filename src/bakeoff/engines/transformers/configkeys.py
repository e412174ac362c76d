"""Keys of a `config.json` that the library does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bakeoff.core.rows import Notice
from bakeoff.engines.decoding import KEPT, SAMPLING

_BENIGN = frozenset(
    {
        "architectures", "auto_map", "_name_or_path", "transformers_version", "torch_dtype",
        "dtype", "task_specific_params", "quantization_config", "finetuning_task", "id2label",
        "label2id", "num_labels", "problem_type", "model_type", "gradient_checkpointing",
        "use_cache", "tokenizer_class", "prefix", "pruned_heads", "torchscript", "use_bfloat16",
        "output_past", "_num_labels", "is_encoder_decoder", "is_decoder", "tie_word_embeddings",
        "add_cross_attention", "rope_theta", "rope_scaling", "pretraining_tp",
        "unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
    }
)  # fmt: skip
"""Keys that every family may carry, and older spellings that the library translates."""
_DECODING = frozenset(
    {
        *KEPT, *SAMPLING, "do_sample", "max_length", "min_length", "num_beams",
        "early_stopping", "length_penalty", "repetition_penalty", "no_repeat_ngram_size",
        "num_beam_groups", "diversity_penalty", "num_return_sequences", "typical_p",
        "return_dict_in_generate", "output_scores", "chunk_size_feed_forward",
    }
)  # fmt: skip

_AS_BUILT: dict[str, Any] = {
    "normalize_before": False, "normalize_embedding": True, "add_final_layer_norm": False,
    "add_bias_logits": False, "static_position_embeddings": False, "extra_pos_embeddings": 2,
    "force_bos_token_to_be_generated": False, "classif_dropout": 0.0,
}  # fmt: skip
"""Keys of the first BART checkpoints, and the value that the library's BART is built to: nothing is
lost where a checkpoint says just that."""


def unknown_keys(config: Any, folder: Path) -> list[Notice]:
    """A notice naming the keys for which the configuration's class has no field.

    The library keeps such keys as attributes that nothing reads: a setting of a newer version,
    or a misspelt one, would be lost in silence.
    """
    path = folder / "config.json"
    if not path.is_file() or "transformers_modules" in type(config).__module__:
        return []
    said = json.loads(path.read_text(encoding="utf-8"))
    known = {*type(config)().to_dict(), *getattr(config, "attribute_map", {})}
    as_built = {k for k, value in _AS_BUILT.items() if k in said and said[k] == value}
    expected = known | _BENIGN | _DECODING | as_built
    unknown = sorted(k for k in said if k not in expected and k[0] != "_")
    if not unknown:
        return []
    text = f"keys in config.json that transformers does not know for {config.model_type}: "
    return [Notice("unknown-config-key", text + ", ".join(unknown))]
