"""Plain `transformers.generate`, one request alone: what the engine's texts are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    LogitsProcessorList,
)

from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, Messages, Prompt, Source
from tests.contract.targets import CAUSAL, Target
from tests.zoo import zoo_path
from tests.zoo.translators import starting

TIE = 1e-4
"""The reference's two best logits lie closer than this: either token is right."""
_OWN = {"stop", "stop_ids", "seed", "n", "frequency_penalty", "presence_penalty", "logit_bias"}


class _Logits:
    """Remembers the two best scores of each step, after every processor."""

    def __init__(self) -> None:
        self.gaps: list[float] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        best = torch.topk(scores[0], 2).values
        self.gaps.append(float(best[0] - best[1]))
        return scores


@dataclass
class Ties:
    """Counts what was compared; ties are recorded, never silent."""

    tokens: int = 0
    ties: list[str] = field(default_factory=list)

    def compare(self, reference: Reference, request: GenerateRequest, made: Completion) -> None:
        expected, gaps = reference.generate(request)
        self.tokens += len(expected)
        found = list(made.token_ids)
        if found == expected:
            return
        at = next(
            (i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
            min(len(found), len(expected)),
        )
        assert at < len(gaps) and gaps[at] < TIE, (request, at, found, expected)
        self.ties.append(request.id)

    @property
    def allowed(self) -> bool:
        """At most one tie in 10,000 tokens, or a single one in fewer."""
        return len(self.ties) <= max(1, self.tokens // 10_000)


class Reference:
    """A model of the zoo as the library alone loads and runs it."""

    def __init__(self, target: Target) -> None:
        path = zoo_path(target.name)
        self.causal = target in CAUSAL
        loader = AutoModelForCausalLM if self.causal else AutoModelForSeq2SeqLM
        self.model = loader.from_pretrained(path, dtype="float32").eval()
        self.tokenizer = AutoTokenizer.from_pretrained(path)

    def inputs(self, request: GenerateRequest) -> Any:
        prompt = request.prompt
        if isinstance(prompt, Messages):
            turns = [{"role": m.role, "content": m.content} for m in prompt.messages]
            return self.tokenizer.apply_chat_template(
                turns, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        if isinstance(prompt, Source) and prompt.source_language:
            self.tokenizer.src_lang = prompt.source_language
        return self.tokenizer(prompt.text, return_tensors="pt")

    def beginning(self, prompt: Prompt) -> dict[str, int]:
        """What `generate` is told about the target language."""
        told = isinstance(prompt, Source) and prompt.target_language
        return starting(self.tokenizer, str(told)) if told else {}

    def generate(self, request: GenerateRequest) -> tuple[list[int], list[float]]:
        """New tokens, and the gap between the two best scores at each step."""
        said = {k: v for k, v in request.params.said().items() if k not in _OWN}
        # The checkpoint's own defaults are resolved by `describe`; here only what is asked counts.
        inputs = self.inputs(request)
        logits = _Logits()
        with torch.inference_mode():
            out = self.model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                do_sample=False,
                logits_processor=LogitsProcessorList([logits]),
                **self.beginning(request.prompt),
                **said,
            )
        begin = inputs["input_ids"].shape[1] if self.causal else 1
        return out[0, begin:].tolist(), logits.gaps

    def written(self, text: str) -> list[int]:
        """Ids of a text as an encoder-decoder writes it; Marian splits its target otherwise."""
        marian = type(self.tokenizer).__name__ == "MarianTokenizer"
        said = {"text_target": text} if marian else {"text": text}
        return list(self.tokenizer(**said, add_special_tokens=False)["input_ids"])

    def forced(self, prompt: Prompt) -> int | None:
        """The token that a decoder is made to write first, or None."""
        own = self.model.generation_config.forced_bos_token_id
        return self.beginning(prompt).get("forced_bos_token_id", own)

    @property
    def opening(self) -> int:
        """What stands before a text without a context, as lm-evaluation-harness has it."""
        ids = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        return next(int(one) for one in ids if one is not None)

    def likelihood(self, prompt: Prompt, context: list[int], target: list[int]) -> list[float]:
        """Log-probabilities of target tokens, one forward pass for one row.

        `context` are the tokens of the prompt, which tells no more than the language.
        """
        with torch.inference_mode():
            if self.causal:
                logits = self.model(torch.tensor([context + target])).logits[0]
                rows = logits[len(context) - 1 : -1]
            else:
                start = self.model.generation_config.decoder_start_token_id
                begin = [self.beginning(prompt).get("decoder_start_token_id", start)]
                forced = self.forced(prompt)
                begin += [] if forced is None else [forced]
                logits = self.model(
                    torch.tensor([context]), decoder_input_ids=torch.tensor([begin + target])
                ).logits[0]
                rows = logits[len(begin) - 1 : -1]
        logs = torch.log_softmax(rows, dim=-1)
        return logs.gather(1, torch.tensor(target)[:, None])[:, 0].tolist()


def reference(target: Target) -> Reference:
    """Each is loaded once, whatever engines are compared with it."""
    return _reference(target.name)


@cache
def _reference(name: str) -> Reference:
    return Reference(Target(name))
