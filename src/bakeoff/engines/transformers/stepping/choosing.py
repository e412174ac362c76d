"""`Chooser`: picks the next token of each row by its own settings.

The arithmetic is that of the library's batches (`rules`, `sampling`, `logprobs`), so that a text
is the same whichever way it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from bakeoff.core.errors import BakeoffError
from bakeoff.core.outputs import TokenLogprob
from bakeoff.engines.batch.careful import failed
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.grammar.port import Guide, Guides
from bakeoff.engines.steps.port import Chosen, Step
from bakeoff.engines.steps.sequence import Seq
from bakeoff.engines.transformers import rules
from bakeoff.engines.transformers.sampling import Filters, Uniforms, draw

_OFF = float("-inf")


@dataclass(frozen=True)
class _Settings:
    """What one row wants done with its logits."""

    rules: Sequence[rules.Rule]
    numbers: Uniforms | None
    guide: Guide | None


@dataclass(eq=False)
class Chooser:
    """Picks tokens; a `Chooses`.

    Attributes:
        last: token that the checkpoint forces at the limit of a text, or None.
        name: the text of one token, special or not.
        guides: follow texts that have a grammar.
    """

    last: int | None
    name: Callable[[int], str]
    guides: Guides
    _known: dict[Seq, _Settings] = field(default_factory=dict)

    def choose(self, step: Step) -> list[Chosen | BakeoffError]:
        """See `Chooses.choose`."""
        with torch.inference_mode():
            seqs, logits = step.seqs, step.logits
            raw = self._raw(seqs, logits)
            errors = {
                line: e for line, seq in enumerate(seqs) if (e := self._apply(seq, logits, line))
            }
            tokens = self._tokens(seqs, logits)
            return [
                errors.get(line) or Chosen(token, self._logprob(seq, token, raw.get(line)))
                for line, (seq, token) in enumerate(zip(seqs, tokens, strict=True))
            ]

    def release(self, seq: Seq) -> None:
        """See `Chooses.release`."""
        self._known.pop(seq, None)

    def _settings(self, seq: Seq, logits: Any) -> _Settings:
        if seq not in self._known:
            row = seq.row
            prompt = torch.tensor([seq.prompt], device=logits.device)
            shape = rules.Shape([row], len(seq.prompt), [0], prompt, str(logits.device))
            sampled = row.decoding.sampled
            self._known[seq] = _Settings(
                rules=rules.shaping(shape, self.last),
                numbers=Uniforms(row.decoding.seed, row.choice) if sampled else None,
                guide=self._guide(row),
            )
        return self._known[seq]

    def _apply(self, seq: Seq, logits: Any, line: int) -> BakeoffError | None:
        """Change a row's logits in place by its own rules, and by its grammar in the end."""
        try:
            settings = self._settings(seq, logits)
            if found := settings.rules:
                ids = torch.tensor([seq.reading], device=logits.device)
                scores = logits[line : line + 1]
                for rule in found:
                    scores = rule(ids, scores)
                logits[line] = scores[0]
            if settings.guide is not None:
                _keep_to(settings.guide, seq, logits[line])
        except BakeoffError as error:
            return error
        except Exception as error:  # whatever a rule raises is the failure of this row alone
            return failed(error)
        return None

    def _guide(self, row: Row) -> Guide | None:
        if row.grammar is None:
            return None
        ends = row.end_ids - frozenset(row.decoding.stop_ids)
        return self.guides.open(row.grammar, ends)

    def _tokens(self, seqs: Sequence[Seq], logits: Any) -> list[int]:
        tokens: list[int] = logits.argmax(dim=-1).tolist()
        drawn = [(line, seq, numbers) for line, seq in enumerate(seqs)
                 if (numbers := self._numbers(seq)) is not None]  # fmt: skip
        if drawn:
            lines = [line for line, _, _ in drawn]
            filters = Filters.of([seq.row.decoding for _, seq, _ in drawn])
            uniforms = np.array([numbers(len(seq.ids)) for _, seq, numbers in drawn])
            scores = logits if len(lines) == len(seqs) else logits[lines]
            for line, token in zip(lines, draw(scores, filters, uniforms), strict=True):
                tokens[line] = int(token)
        return tokens

    def _numbers(self, seq: Seq) -> Uniforms | None:
        known = self._known.get(seq)
        return None if known is None else known.numbers

    @staticmethod
    def _raw(seqs: Sequence[Seq], logits: Any) -> dict[int, Any]:
        """Log-probabilities before any rule, of the rows that want them."""
        lines = [line for line, seq in enumerate(seqs) if seq.row.logprobs is not None]
        if not lines:
            return {}
        return dict(zip(lines, torch.log_softmax(logits[lines].float(), dim=-1), strict=True))

    def _logprob(self, seq: Seq, token: int, raw: Any) -> TokenLogprob | None:
        if raw is None:
            return None
        values, ids = torch.topk(raw, min(seq.row.logprobs or 0, raw.shape[-1]))
        top = tuple(zip(ids.tolist(), values.tolist(), strict=True))
        return TokenLogprob(token, self.name(token), float(raw[token]), top)


def _keep_to(guide: Guide, seq: Seq, logits: Any) -> None:
    """Forbid the tokens of a row that its grammar does not allow, in place.

    What else forbids all that the grammar allows (`min_new_tokens`, `no_repeat_ngram`) gives way.
    """
    forced = 0 if seq.row.first is None else 1  # a language's token is no part of the text
    if len(seq.ids) < forced:
        return
    mask = torch.from_numpy(guide.allowed(seq.ids[forced:]))[: logits.shape[0]]
    allowed = torch.zeros(logits.shape[0], dtype=torch.bool)
    allowed[: len(mask)] = mask
    allowed = allowed.to(logits.device)
    logits[~allowed] = _OFF
    if not bool(torch.isfinite(logits).any()):
        logits[allowed] = 0.0
