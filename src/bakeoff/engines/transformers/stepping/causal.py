"""`CausalSteps`: a decoder-only model, step by step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from bakeoff.engines.steps.port import Step
from bakeoff.engines.steps.prefixes import Prefixes
from bakeoff.engines.steps.sequence import Seq
from bakeoff.engines.transformers.stepping.columns import Columns, Part, give_up
from bakeoff.engines.transformers.stepping.told import room, tell

ALIKE = 0.8
"""Prompts are read in one pass where at most a fifth of it is padding."""


@dataclass(frozen=True)
class Calls:
    """How a model's `forward` wants to be called; the names differ between models and versions.

    Attributes:
        cache: the parameter that takes the cache.
        positions: whether it takes `position_ids`.
        last: whether it can be told to give the last logits alone.
    """

    cache: str
    positions: bool
    last: bool

    @classmethod
    def of(cls, model: Any) -> Calls:
        """Read them from the signature."""
        named = inspect.signature(model.forward).parameters
        return cls(
            cache="cache" if "cache" in named else "past_key_values",
            positions="position_ids" in named,
            last="logits_to_keep" in named,
        )


@dataclass(eq=False)
class CausalSteps:
    """Drives one model; a `StepModel`.

    Attributes:
        model: decoder-only, in evaluation mode.
        device: where its input goes.
        pad: a token that stands where nothing is.
        prefixes: what is kept of texts that were read before.
        name: the text of one token, special or not.
        forwarded: tokens that went through the model so far.
    """

    model: Any
    device: str
    pad: int
    prefixes: Prefixes[Part]
    name: Callable[[int], str] = str
    forwarded: int = 0
    _calls: Calls = field(init=False)
    _batch: Columns = field(init=False)
    _lines: list[Seq] = field(default_factory=list)
    _staged: dict[Seq, Columns] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._calls = Calls.of(self.model)
        self._batch = Columns(self.device)

    def prefill(self, seqs: Sequence[Seq], budget: int) -> Step:
        """See `StepModel.prefill`."""
        waiting, done, logits, whole = list(seqs), list[Seq](), list[Any](), budget
        while waiting and (not logits or waiting[0].unread <= budget or 2 * budget >= whole):
            self._recall(waiting[0])
            most = self._most(waiting[0], budget)
            group = self._alike(waiting, most)
            counts = [min(seq.unread, most) for seq in group]
            with torch.inference_mode():
                out = self._read(group, counts)
            budget -= len(group) * max(counts)
            if group[0].unread:
                break
            done += group
            logits.append(out)
            waiting = waiting[len(group) :]
        return Step(done, torch.cat(logits) if logits else None)

    def _most(self, first: Seq, budget: int) -> int:
        """Tokens of one pass; fewer where the logits of each are kept."""
        if not first.tells:
            return budget
        return min(budget, room(int(self.model.get_input_embeddings().weight.shape[0])))

    def _recall(self, seq: Seq) -> None:
        """Let it begin with what an earlier text left, but for one token, whose logits count.

        What the model says of a prompt is said while it reads: then all of it is read.
        """
        if seq.read or seq.tells:
            return
        parts = self.prefixes.find(seq.row.scope, seq.reading[:-1])
        if parts:
            columns = self._staged[seq] = Columns(self.device, (1, seq.unread))
            columns.open(1)
            with torch.inference_mode():
                columns.put(parts)
            seq.read = columns.width
            if not seq.ids:
                seq.cached = seq.read

    def _keep(self, seq: Seq, columns: Columns, line: int) -> None:
        """Leave what it has read for others; nothing where a pass failed."""
        if not columns.sound:
            return
        known = seq.reading[: columns.lengths[line]]
        with torch.inference_mode():
            self.prefixes.keep(
                seq.row.scope, known, lambda begin, end: columns.part(line, begin, end)
            )

    def _alike(self, waiting: Sequence[Seq], budget: int) -> list[Seq]:
        """The first, and those behind it that can be read whole in one pass with it."""
        group = [waiting[0]]
        if waiting[0].read or waiting[0].unread > budget:
            return group
        for seq in waiting[1:]:
            lengths = [one.unread for one in (*group, seq)]
            padded = len(lengths) * max(lengths)
            if seq.read or seq.alone or padded > budget or sum(lengths) < ALIKE * padded:
                break
            if seq.tells != group[0].tells:
                break
            if not seq.tells and self.prefixes.find(seq.row.scope, seq.reading[:-1]):
                break
            group.append(seq)
        return group

    def _read(self, group: Sequence[Seq], counts: Sequence[int]) -> Any:
        """One pass over the next tokens of a group; those who are through join the batch."""
        columns = self._staged.get(group[0])
        if columns is None:
            columns = Columns(self.device, (len(group), max(s.unread for s in group)))
            columns.open(len(group))
            self._staged.update(dict.fromkeys(group, columns))
        most = max(counts)
        ids = [
            [self.pad] * (most - count) + list(seq.reading[seq.read : seq.read + count])
            for seq, count in zip(group, counts, strict=True)
        ]
        logits = self._pass(columns, ids, counts, most if group[0].tells else 1)
        for line, (seq, count) in enumerate(zip(group, counts, strict=True)):
            if seq.tells:
                tell(seq, logits[line, -count:], self.name)
            seq.read += count
            if not seq.unread:
                del self._staged[seq]
                self._batch.join(columns, line)
                self._lines.append(seq)
                self._keep(seq, columns, line)
        return _last(logits)

    def decode(self, seqs: Sequence[Seq]) -> Step:
        """See `StepModel.decode`."""
        ids = [[seq.ids[-1]] for seq in self._lines]
        with torch.inference_mode():
            logits = self.forward(self._batch, ids, [1] * len(ids))
        return Step(tuple(self._lines), logits)

    def forward(self, columns: Columns, ids: list[list[int]], counts: Sequence[int]) -> Any:
        """One pass over tokens that are padded on the left; `counts` are real in each row.

        Returns:
            The logits behind the last token of each row.
        """
        return _last(self._pass(columns, ids, counts, 1))

    def _pass(
        self, columns: Columns, ids: list[list[int]], counts: Sequence[int], keep: int
    ) -> Any:
        """The same; the logits behind at least the last `keep` tokens of each row."""
        mask = columns.ready(counts)
        most = max(counts)
        arguments: dict[str, Any] = {self._calls.cache: columns.cache, "use_cache": True}
        if self._calls.positions:
            first = torch.tensor([length + count - most for length, count in
                                  zip(columns.lengths, counts, strict=True)])  # fmt: skip
            positions = (first[:, None] + torch.arange(most)).clamp(min=0)
            arguments["position_ids"] = positions.to(self.device)
        if self._calls.last:
            arguments["logits_to_keep"] = keep
        out = self.model(
            input_ids=torch.tensor(ids, device=self.device),
            attention_mask=mask,
            return_dict=True,
            **arguments,
        )
        columns.passed(counts)
        self.forwarded += sum(counts)
        return out.logits

    def release(self, seq: Seq) -> None:
        """See `StepModel.release`."""
        staged = self._staged.pop(seq, None)
        if staged is not None and staged.lines == 1:
            self._keep(seq, staged, 0)
        if seq in self._lines:
            line = self._lines.index(seq)
            self._keep(seq, self._batch, line)
            with torch.inference_mode():
                self._batch.leave(line)
            give_up(self._lines, line)


def _last(logits: Any) -> Any:
    """The logits behind the last token of each row, for rules to change."""
    return logits[:, -1].to(copy=True, dtype=torch.float32)
