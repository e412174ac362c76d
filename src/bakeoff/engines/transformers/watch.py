"""`Watch`: decides after each step which rows are complete, and shows text as it comes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.text.detokenize import Decode, StopSearch
from bakeoff.engines.text.following import Following, OnTokens


class Watch:
    """A stopping criterion over a whole batch: limits, stops, cancellation, deadlines.

    Attributes:
        first_token: when the first step ended, by `time.perf_counter`.
        cancelled: rows that were ended from outside, and after how many tokens.
        late: likewise, by their deadline.
    """

    def __init__(self, rows: Sequence[Row], width: int, control: Control, decode: Decode) -> None:
        self.first_token: float | None = None
        self.cancelled: dict[int, int] = {}
        self.late: dict[int, int] = {}
        self._rows = rows
        self._width = width
        self._control = control
        self._decode = decode
        self._texts: dict[int, Following] = {}
        self._deadline = min(
            (row.deadline for row in rows if row.deadline is not None), default=None
        )
        self._uneven = len({row.max_new for row in rows}) > 1
        self._limits: Any = None
        self._none: Any = None

    def follow(self, extra: frozenset[int], show: OnTokens | None = None) -> None:
        """Look at the tokens of the rows that need it.

        Args:
            extra: end tokens that the library knows itself; a row with others is looked at.
            show: takes all tokens of the only row after each step.
        """
        for line, row in enumerate(self._rows):
            if row.stops or row.stop_loops or row.end_ids - extra or show is not None:
                self._texts[line] = Following(row, self._decode, show)

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        """Which lines are complete, as the library asks it after each step."""
        if self.first_token is None:
            self._begin(input_ids)
        done = self._none
        if self._uneven:
            done = self._limits <= input_ids.shape[1]
        if self._texts:
            done = done | self._look(input_ids)
        late = self._deadline is not None and time.perf_counter() > self._deadline
        if self._control.quiet and not late:
            return done
        return done | self._outside(done, int(input_ids.shape[1]) - self._width)

    def _begin(self, input_ids: Any) -> None:
        lines, device = input_ids.shape[0], input_ids.device
        if device.type != "cpu":
            input_ids[0, -1].item()  # waits for the device: else the time is that of queueing
        self.first_token = time.perf_counter()
        each = lines // len(self._rows)
        limits = [self._width + row.max_new for row in self._rows for _ in range(each)]
        self._limits = torch.tensor(limits, device=device)
        self._none = torch.zeros(lines, dtype=torch.bool, device=device)

    def _look(self, input_ids: Any) -> Any:
        """Beams change places, so their texts are looked at anew; others go token by token."""
        done = [False] * input_ids.shape[0]
        each = len(done) // len(self._rows)
        if any(row.lanes > 1 for row in self._rows):
            for line, text in self._texts.items():
                for at in range(line * each, line * each + each):
                    done[at] = self._complete(text.row, input_ids[at, self._width :].tolist())
        else:
            newest = input_ids[:, -1].tolist()
            for line, text in self._texts.items():
                done[line] = text.push(newest[line])
        return torch.tensor(done, device=input_ids.device)

    def _complete(self, row: Row, ids: list[int]) -> bool:
        if ids[-1] in row.end_ids:
            return True
        return bool(row.stops) and StopSearch(self._decode, row.stops).found(ids)

    def _outside(self, done: Any, written: int) -> Any:
        """Lines that are ended by the caller or by their deadline."""
        now = time.perf_counter()
        each = done.shape[0] // len(self._rows)
        ended = done.tolist()
        for line, row in enumerate(self._rows):
            stopped = self._control.stopped(row.id)
            late = row.late(now)
            if all(ended[line * each : line * each + each]) or not (stopped or late):
                continue
            (self.cancelled if stopped else self.late).setdefault(line, written)
            ended[line * each : line * each + each] = [True] * each
        return torch.tensor(ended, device=done.device)

    def cut(self, line: int, ids: list[int]) -> list[int]:
        """The tokens of a line up to where its text was complete."""
        row = self._rows[line]
        ended = self.cancelled.get(line, self.late.get(line, row.max_new))
        ids = ids[: min(row.max_new, ended)]
        text = self._texts.get(line)
        if text is not None and text.done and row.lanes == 1:
            return text.ids
        if row.lanes > 1:
            ids = self._unfilled(row, ids)
        end = next((at for at, token in enumerate(ids) if token in row.end_ids), None)
        return ids if end is None else ids[: end + 1]

    def _unfilled(self, row: Row, ids: list[int]) -> list[int]:
        """A beam up to its stop string; what the library filled it up with is not its text."""
        if row.stops:
            search = StopSearch(self._decode, row.stops)
            while len(ids) > 1 and search.found(ids[:-1]):
                ids = ids[:-1]
        return ids
