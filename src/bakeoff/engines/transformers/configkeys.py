"""Keys of a `config.json` that the library does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bakeoff.core.rows import Notice
from bakeoff.engines.decoding import KEPT, SAMPLING
from bakeoff.engines.transformers.ropekeys import rope_notices

_BENIGN = frozenset(
    {
        "architectures", "auto_map", "_name_or_path", "transformers_version", "torch_dtype",
        "dtype", "task_specific_params", "quantization_config", "finetuning_task", "id2label",
        "label2id", "num_labels", "problem_type", "model_type", "gradient_checkpointing",
        "use_cache", "tokenizer_class", "prefix", "pruned_heads", "torchscript", "use_bfloat16",
        "output_past", "_num_labels", "is_encoder_decoder", "is_decoder", "tie_word_embeddings",
        "add_cross_attention", "pretraining_tp", "cache_implementation",
        "unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
    }
)  # fmt: skip
"""Keys that every family may carry."""
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
    "force_bos_token_to_be_generated": False, "classif_dropout": 0.0, "use_mrope": False,
    "rotary": True,
}  # fmt: skip
"""Keys of the first BART, Qwen2 and GPT-J checkpoints, and the value that the library's classes are
built to: nothing is lost where a checkpoint says just that."""


def unknown_keys(config: Any, folder: Path) -> list[Notice]:
    """A notice naming the keys for which the configuration's class has no field.

    The library keeps such keys as attributes that nothing reads: a setting of a newer version,
    or a misspelt one, would be lost in silence. Older spellings that a class translates
    (`rope_theta`, `rotary_pct`) are no attributes any more. Settings of rotary positions that
    contradict each other are told too.
    """
    path = folder / "config.json"
    if not path.is_file() or "transformers_modules" in type(config).__module__:
        return []
    said = json.loads(path.read_text(encoding="utf-8"))
    unknown, notices = sorted(_unknown(config, said)), rope_notices(config, said)
    text, inner = getattr(config, "text_config", None), said.get("text_config")
    if isinstance(inner, dict) and text is not None:
        unknown += [f"text_config.{key}" for key in sorted(_unknown(text, inner))]
        notices += rope_notices(text, inner)
    if unknown:
        what = f"keys in config.json that transformers does not know for {config.model_type}: "
        notices.insert(0, Notice("unknown-config-key", what + ", ".join(unknown)))
    return notices


def _unknown(config: Any, said: Mapping[str, Any]) -> Iterator[str]:
    known = {*type(config)().to_dict(), *getattr(config, "attribute_map", {})}
    expected = known | _BENIGN | _DECODING
    for key, value in said.items():
        as_built = key in _AS_BUILT and _AS_BUILT[key] == value
        if key in expected or key.startswith("_") or as_built:
            continue
        if not _translated(config, key, value, "rope_parameters" in known):
            yield key


def _translated(config: Any, key: str, value: Any, turns: bool) -> bool:
    """Whether the class made something of a key that is no field of its own."""
    kept = vars(config)
    if key == "rope_scaling":  # becomes `rope_parameters`, whether the class has them or not
        return turns or value is None
    rope = kept.get("rope_parameters")
    in_rope = turns and isinstance(rope, dict) and key in rope and rope[key] == value
    return in_rope or f"_{key}" in kept or key not in kept
