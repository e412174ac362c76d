"""`Plain`: the model as transformers alone runs it, one text at a time; the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import transformers

from bakeoff.core.requests import Message, Messages, Prompt, Text
from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.probes import CONTINUED, HELD, NEW_TOKENS, compared, cut_to
from bakeoff.engines.doctor.rendering import render
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text.reading import Reading
from bakeoff.engines.text.special import Special
from bakeoff.engines.transformers.loading import Loaded, load_model
from bakeoff.engines.transformers.quiet import quiet


@dataclass(frozen=True)
class PlainText:
    """A text of plain transformers.

    Attributes:
        prompt: what was asked, as an engine takes it.
        ids: new tokens, end marker included where one was written.
        gaps: at each token, how far apart the two best logits were.
        chat: whether the prompt is a conversation.
        least: new tokens before which it was not allowed to end; 0: it ended where it would.
        usual: whether the prompt's tokens are those that the library makes of it; not where
            bakeoff works around a fault of the chat template.
    """

    prompt: Prompt
    ids: tuple[int, ...]
    gaps: tuple[float, ...]
    chat: bool
    usual: bool
    least: int = 0


@dataclass(frozen=True)
class PlainScore:
    """Log-probabilities of a continuation's tokens."""

    context: str
    continuation: str
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True)
class Reference:
    """What plain transformers answered; holds no model.

    Attributes:
        texts: greedy texts.
        scores: log-probabilities.
        ends: tokens that bakeoff ends a text with.
        spelled: whether it also ends at an end marker for which the tokenizer has no token.
        dtype: precision in which they were computed.
    """

    texts: tuple[PlainText, ...]
    scores: tuple[PlainScore, ...]
    ends: frozenset[int]
    dtype: str
    spelled: bool = False

    @property
    def exact(self) -> bool:
        """Whether numbers have float32 precision; else rounding alone parts texts."""
        return self.dtype == "float32"


@dataclass(frozen=True)
class Plain:
    """A model in memory, driven by the library alone.

    Attributes:
        chart: what is known from its files.
        loaded: model and tokenizer.
    """

    chart: Chart
    loaded: Loaded

    @classmethod
    def load(cls, chart: Chart, options: EngineOptions) -> Plain:
        """Load it, with the generation config that the checkpoint itself has.

        Raises:
            ModelError: it cannot be loaded.
        """
        loaded = load_model(chart.facts, options)
        if chart.generates:
            loaded.model.generation_config = _own(chart, loaded.model)
        return cls(chart, loaded)

    @property
    def model(self) -> Any:
        """The library's model."""
        return self.loaded.model

    @property
    def tokenizer(self) -> Any:
        """The library's tokenizer."""
        return self.loaded.tokenizer

    @property
    def dtype(self) -> str:
        """Precision as loaded."""
        return self.loaded.dtype

    @property
    def special(self) -> Special:
        """Special tokens, as bakeoff's engines find them."""
        return self.reading.special

    @cached_property
    def reading(self) -> Reading:
        """How bakeoff's engines read prompts."""
        model, facts = self.model, self.chart.facts
        return Reading.of(
            facts, model.config, model.generation_config, self.tokenizer, self.chart.rows
        )

    @cached_property
    def texts(self) -> tuple[PlainText, ...]:
        """Greedy texts of the prompts that are compared; empty for an encoder."""
        if not self.chart.generates:
            return ()
        ended = tuple(self._text(text) for text in compared())
        held = tuple(self._text(text, NEW_TOKENS) for text in compared()[:HELD])
        return ended + held

    @cached_property
    def scores(self) -> tuple[PlainScore, ...]:
        """Log-probabilities of the continuations that are compared; empty for an encoder."""
        if not self.chart.generates:
            return ()
        return tuple(self._score(*pair) for pair in CONTINUED)

    @property
    def reference(self) -> Reference:
        """What engines are compared with."""
        if not self.chart.generates:
            return Reference((), (), frozenset(), self.dtype)
        ends = self.special.end | self.special.turn_end
        spelled = bool(self.special.turn_stops)
        return Reference(self.texts, self.scores, ends, self.dtype, spelled)

    def prompt(self, text: str, room: int = NEW_TOKENS) -> Prompt:
        """A text as this model is asked it, cut so that it fits with the answer."""
        chats = self.chart.chats
        window = self.chart.facts.capabilities.context_length
        if window is not None:
            frame = 2 * NEW_TOKENS if chats else 4
            text = cut_to(text, len(self.ids(text)), max(8, window - room - frame))
        return Messages((Message("user", text),)) if chats else Text(text)

    def ids(self, text: str) -> list[int]:
        """Tokens of a plain text, special ones as the tokenizer puts them."""
        found: list[int] = self.tokenizer(text, verbose=False)["input_ids"]
        return found

    def generate(
        self, ids: Sequence[int], tokens: int = NEW_TOKENS, **settings: Any
    ) -> tuple[list[int], list[float]]:
        """Greedy new tokens, at most so many, and at each the gap between the two best logits."""
        gaps = _Gaps()
        inputs = torch.tensor([list(ids)], device=self.loaded.device)
        with torch.inference_mode(), quiet([]):
            out = self.model.generate(
                input_ids=inputs,
                attention_mask=torch.ones_like(inputs),
                do_sample=False,
                num_beams=1,
                max_new_tokens=tokens,
                logits_processor=transformers.LogitsProcessorList([gaps]),
                **settings,
            )
        begin = 1 if self.model.config.is_encoder_decoder else len(ids)
        return out[0, begin:].tolist(), gaps.seen

    def logits(self, ids: Sequence[int]) -> Any:
        """The output for a text read at once; an encoder-decoder writes its first token."""
        inputs = torch.tensor([list(ids)], device=self.loaded.device)
        more: dict[str, Any] = {}
        if self.chart.generates and self.model.config.is_encoder_decoder:
            start = [token for token in self.special.beginning(None) if token is not None]
            more["decoder_input_ids"] = torch.tensor([start or [0]], device=self.loaded.device)
        with torch.inference_mode():
            out = self.model(input_ids=inputs, attention_mask=torch.ones_like(inputs), **more)
        return out[0]

    def loss(self, ids: Sequence[int]) -> float:
        """Mean negative log-probability of a text's tokens, for a decoder-only model."""
        logs = torch.log_softmax(self.logits(ids)[0, :-1].float(), dim=-1)
        target = torch.tensor(ids[1:], device=logs.device)[:, None]
        return -float(logs.gather(1, target).mean())

    def doubt(self, texts: Sequence[str], start: int) -> float:
        """How unsure an encoder-decoder is of its own greedy text, when it starts so."""
        total, count = 0.0, 0
        for text in texts:
            context = self.ids(text)
            made, _ = self.generate(context, decoder_start_token_id=start)
            total -= sum(self._logprobs(context, [start], made))
            count += len(made)
        return total / max(1, count)

    def _text(self, text: str, least: int = 0) -> PlainText:
        prompt = self.prompt(text)
        ids = self.reading.reader.read(prompt).ids
        held: dict[str, Any] = {}
        if least:  # no end that bakeoff knows is to come early, or the two would not be asked alike
            ends = self.special.end | self.special.turn_end
            held = {"min_new_tokens": least, "eos_token_id": sorted(ends) or None}
        made, gaps = self.generate(ids, **held)
        return PlainText(
            prompt=prompt,
            ids=tuple(made),
            gaps=tuple(gaps),
            chat=isinstance(prompt, Messages),
            usual=ids == self._usual(prompt),
            least=least,
        )

    def _usual(self, prompt: Prompt) -> list[int]:
        """Tokens of a prompt by the library alone."""
        if not isinstance(prompt, Messages):
            return self.ids(prompt.text)  # type: ignore[union-attr]  # `prompt` made it a Text
        turns = [(message.role, message.content) for message in prompt.messages]
        text = render(self.tokenizer, *turns, answer=True).text
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def _score(self, context: str, continuation: str) -> PlainScore:
        room = self.chart.facts.capabilities.context_length
        if room is not None:
            context = cut_to(context, len(self.ids(context)), room // 2)
        before = self._open(context)
        if self.model.config.is_encoder_decoder:
            begin = [token for token in self.special.beginning(None) if token is not None]
            target = self.reading.reader.answer(continuation)
            found = self._logprobs(self.ids(context), begin, target)
        else:
            target = self._open(context + continuation)[len(before) :]
            found = self._logprobs(before, [], target)
        return PlainScore(context, continuation, tuple(target), tuple(found))

    def _open(self, text: str) -> list[int]:
        """Tokens of a text that goes on: without what the tokenizer ends every text with."""
        ids = self.ids(text)
        while len(ids) > 1 and ids[-1] in self.special.end:
            ids = ids[:-1]
        return ids

    def _logprobs(
        self, context: Sequence[int], begin: Sequence[int], target: Sequence[int]
    ) -> list[float]:
        """Log-probabilities of target tokens behind a context (and a decoder's beginning)."""
        device = self.loaded.device
        read = context if begin else [*context, *target]
        inputs = {"input_ids": torch.tensor([list(read)], device=device)}
        if begin:
            inputs["decoder_input_ids"] = torch.tensor([[*begin, *target]], device=device)
        with torch.inference_mode():
            logits = self.model(**inputs).logits[0]
        first = len(begin or context) - 1
        logs = torch.log_softmax(logits[first:-1].float(), dim=-1)
        wanted = torch.tensor(list(target), device=device)[:, None]
        found: list[float] = logs.gather(1, wanted)[:, 0].tolist()
        return found


class _Gaps:
    """Remembers the two best scores of each step, after every processor."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        best = torch.topk(scores[0].float(), 2).values
        self.seen.append(float(best[0] - best[1]))
        return scores


def _own(chart: Chart, model: Any) -> Any:
    """The checkpoint's generation config as the library makes it; `load_model` keeps a part."""
    said = chart.checkpoint.generation
    with quiet([]):
        if said is None:
            return transformers.GenerationConfig.from_model_config(model.config)
        return transformers.GenerationConfig.from_dict(dict(said))
