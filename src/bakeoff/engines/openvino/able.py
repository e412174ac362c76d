"""What the engine can honour, known before anything is loaded. Imports no heavy library.

The library samples with a generator of its own and gives no log-probabilities beside the token that
it took; its n-gram block belongs to its beams, and its beams are not those of transformers.
"""

from __future__ import annotations

import importlib.util
import sys

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines.identity import part_of
from bakeoff.engines.needs import Needs
from bakeoff.engines.openvino.converted import is_converted
from bakeoff.engines.openvino.tools import COMMAND, exporter, exports
from bakeoff.engines.precision import bound_to_cpu

_OTHERWISE = "leave `engine: auto`, which takes transformers"
_ELSEWHERE = "leave it out, or take `engine: transformers`"
HINTS = {
    "temperature": f"its draws are not those of bakeoff; set temperature: 0, or {_OTHERWISE}",
    "num_beams": f"its beams are not those of transformers; set num_beams: 1, or {_OTHERWISE}",
    "no_repeat_ngram_size": f"only its beams know it; {_OTHERWISE}",
    "likelihood": f"it scores no continuations; {_OTHERWISE}",
    "logprobs": f"it gives no alternatives; {_ELSEWHERE}",
    "prompt_logprobs": f"it tells nothing of a prompt; {_ELSEWHERE}",
    "grammar": f"it follows none here; {_ELSEWHERE}",
    "logit_bias": f"it has none; {_ELSEWHERE}",
    "frequency_penalty": f"it was not compared; {_ELSEWHERE}",
    "presence_penalty": f"it was not compared; {_ELSEWHERE}",
}
"""Field -> what to do where it is refused."""
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "num_beams": (None, 1),
    "no_repeat_ngram_size": (None, 0),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "logit_bias": (None, ()),
}
_FLAGS = ("adapter", "grammar", "logprobs", "prompt_logprobs", "likelihood")


def unable(needs: Needs, params: GenerationParams) -> list[str]:
    """Names of the fields that cannot be honoured for a request.

    Args:
        needs: what is asked.
        params: the settings resolved.
    """
    found = [name for name in _FLAGS if getattr(needs, name)]
    if params.sampled:
        found.append("temperature")
    return found + [name for name, off in _NEUTRAL.items() if getattr(params, name) not in off]


def why_not(facts: ModelFacts, needs: Needs) -> str | None:
    """Why the engine does not run this model for these needs, or None: it does.

    The sentence names what to write instead, or what to install.
    """
    reason = _model(facts) or _loading(facts.ref, facts)
    if reason is not None:
        return f"{reason}; {_OTHERWISE}"
    names = unable(needs, needs.resolved(facts))
    if names:
        hint = HINTS.get(names[0], _OTHERWISE)
        return f"it cannot honour {', '.join(names)} for {facts.ref.uri}: {hint}"
    return _missing(facts)


def installed() -> bool:
    """Whether the packages that run a model are there."""
    return all(importlib.util.find_spec(name) for name in ("openvino", "openvino_genai"))


def _missing(facts: ModelFacts) -> str | None:
    """What has to be installed first."""
    if not installed():
        return "it needs an optional part: pip install 'bakeoff[openvino]'"
    if is_converted(facts):
        return None
    if exporter() is None:
        return f"it needs the tools that export a model, once: {COMMAND}"
    if not exports(facts.family):
        return f"its exporter does not know {facts.family!r}; {_OTHERWISE}"
    return None


def _model(facts: ModelFacts) -> str | None:
    name = f"{facts.ref.uri} ({facts.architecture})"
    if facts.capabilities.kind != "causal":
        return f"{name} is no decoder-only model, and it runs those alone"
    if facts.settings:
        return f"{name} asks for {', '.join(facts.settings)}, which it does not have"
    return None


def _loading(ref: ModelRef, facts: ModelFacts) -> str | None:
    if sys.platform == "win32":
        return "it does not run on Windows here"
    if ref.adapters:
        return "it takes no adapter"
    if ref.load_in_4bit or ref.load_in_8bit:
        return "it does not quantise: drop load_in_4bit and load_in_8bit"
    if facts.numerics != "exact":
        return f"{ref.uri} holds quantised weights ({facts.numerics}), which are not exported"
    if part_of(facts.identity, "trust_remote_code") or part_of(facts.identity, "code"):
        return f"{ref.uri} brings its own code, which is not exported"
    if ref.device_map != "none" or not bound_to_cpu(ref):
        return "it runs on a CPU here: set accelerator: cpu"
    if ref.torch_dtype not in ("auto", "float32"):
        return f"torch_dtype is {ref.torch_dtype!r}, and it computes in float32"
    return None
