"""`Needs`: what is asked of an engine, known before one is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import GenerateRequest, GenerationParams


@dataclass(frozen=True, slots=True)
class Needs:
    """What a task or a request asks of an engine.

    Attributes:
        likelihood: whether continuations are scored.
        params: decoding settings as far as they are said; the rest is the checkpoint's, or greedy.
            None: nothing is generated, or nothing is known of it.
        logprobs: whether log-probabilities of the new tokens are wanted.
        prompt_logprobs: the same for the prompt.
        grammar: whether the text must follow a grammar.
        adapter: whether adapters are chosen by request.
    """

    likelihood: bool = False
    params: GenerationParams | None = None
    logprobs: bool = False
    prompt_logprobs: bool = False
    grammar: bool = False
    adapter: bool = False

    @classmethod
    def of(cls, request: GenerateRequest) -> Needs:
        """What one request asks."""
        return cls(
            params=request.params,
            logprobs=request.logprobs is not None,
            prompt_logprobs=request.prompt_logprobs is not None,
            grammar=request.grammar is not None,
            adapter=request.adapter is not None,
        )

    def resolved(self, facts: ModelFacts) -> GenerationParams:
        """The settings that a text would be made with."""
        return (self.params or GenerationParams()).over(facts.defaults)
