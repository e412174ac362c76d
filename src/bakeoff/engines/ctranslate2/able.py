"""What the engine can honour, known before anything is loaded. Imports no heavy library.

What the library (4.8) does, by its source:

- Greedy search takes repetition penalty and n-gram block over the tokens that *it* wrote: neither
  a decoder's start token nor, for decoder-only models, the prompt counts. transformers counts
  both.
- Beam search ends a row as soon as `num_beams` texts are finished, which is `early_stopping: true`
  alone, and knows no stop strings. It applies penalties before the softmax, transformers behind it.
- Sampling takes its settings for a whole batch and no seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.core.modelfacts import ModelFacts, ModelKind
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines.ctranslate2.architectures import converts
from bakeoff.engines.decoding import START_IS_END
from bakeoff.engines.identity import part_of
from bakeoff.engines.needs import Needs
from bakeoff.engines.precision import bound_to_cpu

HINTS = {
    "temperature": "it draws a batch as a whole and without seeds; set temperature: 0, or leave "
    "`engine: auto`",
    "early_stopping": "its beams end as soon as num_beams texts are finished; set "
    "early_stopping: true, or leave `engine: auto`",
    "repetition_penalty": "it does not count all tokens that transformers counts; leave "
    "`engine: auto`",
    "no_repeat_ngram_size": "it does not look at the prompt as transformers does; leave "
    "`engine: auto`",
    "stop": "its beams know no stop strings; set num_beams: 1, or leave `engine: auto`",
    "stop_ids": "its beams know no further end tokens; set num_beams: 1, or leave `engine: auto`",
    "n": "beams give at most num_beams texts",
    "likelihood": "it scores continuations with decoder-only models alone; leave `engine: auto`",
}
"""Field -> what to do where it is refused."""
_OTHERWISE = "leave `engine: auto`, which takes transformers"
_AS_WELL = "; leave out compute_type as well: it asks for ctranslate2"
_HONOURED = frozenset({"bad_words_ids", "suppress_tokens", START_IS_END})
"""Of `ModelFacts.settings`: what the engine does as transformers does."""
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "logit_bias": (None, ()),
}


def unable(needs: Needs, params: GenerationParams, facts: ModelFacts) -> list[str]:
    """Names of the fields that cannot be honoured for a request.

    Args:
        needs: what is asked.
        params: the settings resolved.
        facts: of the model.
    """
    kind = facts.capabilities.kind
    flags = ("adapter", "grammar", "logprobs", "prompt_logprobs")
    found = [name for name in flags if getattr(needs, name)]
    if needs.likelihood and kind != "causal":
        found.append("likelihood")
    if params.sampled:
        found.append("temperature")
    found += [name for name, off in _NEUTRAL.items() if getattr(params, name) not in off]
    found += _penalties(params, kind, facts.settings)
    return [*found, *(_beams(params) if (params.num_beams or 1) > 1 else ())]


def _penalties(params: GenerationParams, kind: ModelKind, settings: tuple[str, ...]) -> list[str]:
    found = []
    beams = (params.num_beams or 1) > 1
    counts_less = kind == "causal" or beams or START_IS_END in settings
    if (params.repetition_penalty or 1.0) != 1.0 and counts_less:
        found.append("repetition_penalty")
    if params.no_repeat_ngram_size and kind == "causal":
        found.append("no_repeat_ngram_size")
    return found


def _beams(params: GenerationParams) -> Iterator[str]:
    if params.early_stopping is not True:
        yield "early_stopping"
    if params.stop:
        yield "stop"
    if params.stop_ids:
        yield "stop_ids"
    if (params.n or 1) > (params.num_beams or 1):
        yield "n"


def why_not(facts: ModelFacts, needs: Needs) -> str | None:
    """Why the engine does not run this model for these needs, or None: it does.

    The sentence names what to write instead.
    """
    also = _AS_WELL if facts.ref.compute_type else ""
    reason = _model(facts) or _loading(facts.ref, facts)
    if reason is not None:
        return f"{reason}; {_OTHERWISE}{also}"
    names = unable(needs, needs.resolved(facts), facts)
    if names:
        hint = HINTS.get(names[0], _OTHERWISE)
        also = also if "engine: auto" in hint else ""
        return f"it cannot honour {', '.join(names)} for {facts.ref.uri}: {hint}{also}"
    return None


def _model(facts: ModelFacts) -> str | None:
    name = f"{facts.ref.uri} ({facts.architecture})"
    if facts.capabilities.kind == "encoder":
        return f"{name} is an encoder, and it runs models that write text"
    if not converts(facts.architecture):
        return f"its converter does not know {facts.architecture!r}"
    others = [setting for setting in facts.settings if setting not in _HONOURED]
    if others:
        return f"{name} asks for {', '.join(others)}, which it does not have"
    return None


def _loading(ref: ModelRef, facts: ModelFacts) -> str | None:
    if ref.adapters:
        return "it takes no adapter"
    if ref.load_in_4bit or ref.load_in_8bit:
        return "it quantises by `compute_type: int8`, not by load_in_4bit and load_in_8bit"
    if facts.numerics != "exact":
        return f"{ref.uri} holds quantised weights ({facts.numerics}), which are not converted"
    if part_of(facts.identity, "trust_remote_code") or part_of(facts.identity, "code"):
        return f"{ref.uri} brings its own code, which is not converted"
    if ref.device_map != "none" or not bound_to_cpu(ref):
        return "it runs on a CPU here: set accelerator: cpu"
    if ref.torch_dtype not in ("auto", "float32"):
        return f"torch_dtype is {ref.torch_dtype!r}, and its precision is set by `compute_type`"
    return None
