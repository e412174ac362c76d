"""What the converter reads from a model and transformers 5 spells otherwise.

The converter (4.8) was written for transformers 4. What its loaders look for is put back here, from
what the classes of transformers (checked: 5.24) are built to or say under another name. A setting
that this misses does not pass unseen: the conversion is compared with the model, see `agreement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

_AS_BUILT: dict[str, dict[str, bool]] = {
    "BartConfig": {"normalize_before": False, "normalize_embedding": True},
    "MBartConfig": {"normalize_before": True, "normalize_embedding": True},
    "PegasusConfig": {"normalize_before": True, "normalize_embedding": False},
    "MT5Config": {"tie_word_embeddings": False},
}
"""What the library's classes do whatever a configuration says. For T5 and its kin the converter
takes `tie_word_embeddings` to say that the outputs are scaled."""
_SCALED = ("T5Config", "UMT5Config")


def spell(model: Any) -> None:
    """Put the former names back on a model that is about to be converted; it is not used again."""
    config = model.config
    name = type(config).__name__
    for setting, value in _AS_BUILT.get(name, {}).items():
        setattr(config, setting, value)
    if name in _SCALED:
        config.tie_word_embeddings = config.scale_decoder_outputs
    rope = getattr(config, "rope_parameters", None)
    if isinstance(rope, Mapping):
        _spell_rope(name, config, rope)
    if name == "GPTNeoXConfig":
        model.embed_out = model.get_output_embeddings()
    if name == "Phi3Config":
        factors = {key: (rope or {}).get(key) for key in ("long_factor", "short_factor")}
        for layer in model.model.layers:
            layer.self_attn.rotary_emb = SimpleNamespace(**factors)


def _spell_rope(name: str, config: Any, rope: Mapping[str, Any]) -> None:
    if isinstance(rope.get("full_attention"), Mapping):  # one set for each kind of layer
        config.rope_theta = rope["full_attention"]["rope_theta"]
        local = rope.get("sliding_attention") or rope["full_attention"]
        config.rope_local_base_freq = local["rope_theta"]
        return
    if "rope_theta" in rope:
        config.rope_theta = rope["rope_theta"]
    if name == "GPTNeoXConfig":
        config.rotary_pct = rope.get("partial_rotary_factor", 1.0)
    if name == "Phi3Config":
        plain = rope.get("rope_type", "default") == "default"
        config.rope_scaling = None if plain else {**rope, "type": rope["rope_type"]}
