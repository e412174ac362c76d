"""A checkpoint's own decoding settings as `GenerationParams`, with where each came from.

transformers 5 applies `generation_config.json`, or decoding keys in an old `config.json`, but no
longer `task_specific_params`: those are read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.core.errors import InvalidRequest
from bakeoff.core.modelfacts import LanguagePair, ModelKind
from bakeoff.core.requests import GenerationParams
from bakeoff.core.rows import Notice
from bakeoff.engines.checkpoint import Checkpoint
from bakeoff.engines.pairs import pair_of_task

SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_ALWAYS = (
    "num_beams",
    "early_stopping",
    "length_penalty",
    "repetition_penalty",
    "no_repeat_ngram_size",
    "max_new_tokens",
    "min_new_tokens",
)
_LENGTHS = ("max_length", "min_length")
KEPT = frozenset(
    {
        "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id",
        "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "eos_token_id",
        "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
        "guidance_scale", "pad_token_id", "remove_invalid_values", "renormalize_logits",
        "sequence_bias", "suppress_tokens",
    }
)  # fmt: skip
"""Settings that stay in the model's own generation config: token ids, and processors for which
`GenerationParams` has no field. `loading` keeps these and clears the rest."""
_PROCESSORS: dict[str, tuple[Any, ...]] = {
    "bad_words_ids": (None, []), "begin_suppress_tokens": (None, []), "suppress_tokens": (None, []),
    "encoder_no_repeat_ngram_size": (None, 0), "encoder_repetition_penalty": (None, 1.0),
    "exponential_decay_length_penalty": (None,), "guidance_scale": (None, 1.0),
    "renormalize_logits": (None, False), "sequence_bias": (None, []),
}  # fmt: skip
"""Of these, what changes texts and is no token id, and the values that do nothing."""
START_IS_END = "start-is-end"
"""Stands among `further_settings` where a decoder reads an end token first, as BART's does: a
repetition penalty then falls on the end of the text."""
SLIDING_WINDOW = "sliding-window"
"""Likewise where some layers look back less far than the model reads."""
_NOT_APPLIED = {
    "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "top_h": None,
    "penalty_alpha": None, "num_beam_groups": 1, "diversity_penalty": 0.0, "dola_layers": None,
    "constraints": None, "force_words_ids": None, "num_return_sequences": 1,
    "watermarking_config": None, "prompt_lookup_num_tokens": None,
}  # fmt: skip
"""Settings of transformers that bakeoff does not apply, and the value that does nothing."""
_NO_EFFECT = frozenset(
    {
        "transformers_version", "use_cache", "cache_implementation", "cache_config",
        "compile_config", "disable_compile", "max_cache_len", "low_memory", "max_time",
        "continuous_batching_config", "output_attentions", "output_hidden_states",
        "output_logits", "output_scores", "return_dict_in_generate", "prefill_chunk_size",
        "assistant_confidence_threshold", "assistant_early_exit", "assistant_lookbehind",
        "assistant_ensemble_weight", "is_assistant", "num_assistant_tokens",
        "num_assistant_tokens_schedule", "max_matching_ngram_size", "target_lookbehind",
        "token_healing", "speculation_type", "use_mtp", "trust_remote_code", "do_sample",
        "chat_format", "_attn_implementation", "return_legacy_cache", "name_or_path",
        "_name_or_path", "language", "task", "lang_to_id", "task_to_id", "torch_dtype", "dtype",
    }
)  # fmt: skip
"""Keys seen in `generation_config.json` that change no text."""
_TOP_K_OF_TRANSFORMERS = 50
"""What transformers samples with where a checkpoint sets `do_sample` and no `top_k`."""


@dataclass
class Defaults:
    """What `read_defaults` found.

    Attributes:
        values: field of `GenerationParams` -> value.
        origins: field -> where it came from.
        prefix: text before the source.
        pair: languages of a task's entry that was taken because its name begins as asked, or None.
        notices: what a person should know about it.
    """

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    pair: LanguagePair | None = None
    notices: list[Notice] = field(default_factory=list)

    @property
    def params(self) -> GenerationParams:
        """The values as the engine takes them."""
        return GenerationParams(**self.values)

    def put(self, name: str, value: Any, origin: str) -> None:
        """Set a value, unless it is none or impossible; the latter is a notice."""
        if value is None:
            return
        if name == "stop":
            value = (value,) if isinstance(value, str) else tuple(value)
        try:
            GenerationParams(**{name: value})
        except InvalidRequest as error:
            text = f"the checkpoint's {origin} is not applied: {error.message}"
            self.notices.append(Notice("bad-generation-setting", text))
            return
        self.values[name] = value
        self.origins[name] = origin


def read_defaults(checkpoint: Checkpoint, kind: ModelKind, hints: Sequence[str]) -> Defaults:
    """The checkpoint's settings, those for the task laid over the general ones.

    - Sampling settings count only where `do_sample` is true; else the model is greedy.
    - `max_length` and `min_length` of an encoder-decoder count the decoder's start token, so they
      are one more than the new tokens. For decoder-only models they count the prompt too and are
      not applied.

    Args:
        checkpoint: the small files.
        kind: of the model.
        hints: keys of `task_specific_params`, best first; the first that is there is applied.
            `translation_*` stands for the first key that begins so.
    """
    found = Defaults()
    if kind == "encoder":
        return found
    settings, origin = _general(checkpoint)
    _apply(found, settings, origin, kind)
    if checkpoint.generation is not None:
        _report_unknown(found, settings, origin)
    tasks = checkpoint.config.get("task_specific_params") or {}
    hint, named = _entry(tasks, hints)
    if hint is not None:
        _apply_task(found, tasks[hint], f"task_specific_params.{hint}", kind)
        found.pair = None if named else pair_of_task(hint)
    return found


def further_settings(checkpoint: Checkpoint) -> tuple[str, ...]:
    """What the checkpoint asks of an engine that is no field of `GenerationParams`, by name."""
    said = checkpoint.generation if checkpoint.generation is not None else checkpoint.config
    found = [name for name, off in _PROCESSORS.items() if said.get(name) not in off]
    places = [place for place in (checkpoint.generation, checkpoint.config) if place]
    starts = [place.get("decoder_start_token_id") for place in places]
    start = next((one for one in starts if one is not None), None)
    ends = [place.get("eos_token_id") for place in places]
    known = {one for end in ends for one in (end if isinstance(end, list) else [end])}
    if start is not None and start in known:
        found.append(START_IS_END)
    if _slides(checkpoint.config):
        found.append(SLIDING_WINDOW)
    return tuple(found)


def _slides(config: Mapping[str, Any]) -> bool:
    """Whether some layer looks back less far than the model reads."""
    text = config.get("text_config") or config
    window, most = text.get("sliding_window"), text.get("max_position_embeddings")
    if not isinstance(window, int) or text.get("use_sliding_window") is False:
        return False
    return not isinstance(most, int) or window < most


def _entry(tasks: Mapping[str, Any], hints: Sequence[str]) -> tuple[str | None, bool]:
    """The key that is meant, and whether it was named in full."""
    for hint in hints:
        for key, settings in tasks.items():
            whole = key == hint
            begins = hint.endswith("*") and key.startswith(hint[:-1])
            if isinstance(settings, dict) and (whole or begins):
                return key, whole
    return None, True


def _general(checkpoint: Checkpoint) -> tuple[Mapping[str, Any], str]:
    if checkpoint.generation is not None:
        return checkpoint.generation, "generation_config"
    names = {*SAMPLING, *_ALWAYS, *_LENGTHS, "do_sample", *_NOT_APPLIED}
    return {k: v for k, v in checkpoint.config.items() if k in names}, "config"


def _apply(found: Defaults, settings: Mapping[str, Any], origin: str, kind: ModelKind) -> None:
    for name in _ALWAYS:
        found.put(name, settings.get(name), origin)
    found.put("stop", settings.get("stop_strings"), origin)
    if settings.get("do_sample"):
        for name in SAMPLING:
            found.put(name, settings.get(name), origin)
        if "temperature" not in found.values:
            found.put("temperature", 1.0, origin)
        if "top_k" not in found.values:
            found.put("top_k", _TOP_K_OF_TRANSFORMERS, "transformers")
    if kind == "seq2seq":
        for old, new in (("max_length", "max_new_tokens"), ("min_length", "min_new_tokens")):
            length = settings.get(old)
            if settings.get(new) is None and isinstance(length, int) and length > 0:
                found.put(new, length - 1, origin)


def _apply_task(found: Defaults, settings: Mapping[str, Any], origin: str, kind: ModelKind) -> None:
    before = dict(found.values)
    _apply(found, settings, origin, kind)
    prefix = settings.get("prefix")
    found.prefix = prefix if isinstance(prefix, str) else ""
    said = {k: v for k, v in found.values.items() if found.origins[k] == origin}
    shown = [f"{name}={value!r}" for name, value in said.items()]
    if found.prefix:
        shown.insert(0, f"prefix={found.prefix!r}")
    changed = [name for name in said if name in before and before[name] != said[name]]
    over = f" (in place of its generation config: {', '.join(changed)})" if changed else ""
    text = f"the checkpoint's own {origin} are applied: {', '.join(shown) or 'nothing'}{over}"
    found.notices.append(Notice("task-specific-params", text))
    _report_unknown(found, {k: v for k, v in settings.items() if k != "prefix"}, origin)


def _report_unknown(found: Defaults, settings: Mapping[str, Any], origin: str) -> None:
    known = {*SAMPLING, *_ALWAYS, *_LENGTHS, *KEPT, *_NOT_APPLIED, *_NO_EFFECT, "stop_strings"}
    unknown = sorted(k for k in settings if k not in known and not k.startswith("_"))
    if unknown:
        text = f"unknown keys in the checkpoint's {origin} are not applied: {', '.join(unknown)}"
        found.notices.append(Notice("unknown-generation-key", text))
    idle = [k for k, neutral in _NOT_APPLIED.items() if settings.get(k) not in (None, neutral)]
    if idle:
        text = f"settings in the checkpoint's {origin} that bakeoff lacks: {', '.join(idle)}"
        found.notices.append(Notice("generation-setting-not-applied", text))
