"""Log-likelihoods of continuations after a decoder-only model's context, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.core.outputs import Likelihood, Usage
from bakeoff.engines.batch.rows import Control, ScoreRow
from bakeoff.engines.ctranslate2.loading import Loaded


@dataclass(frozen=True)
class Scorer:
    """Computes batches of log-likelihoods; on the compute thread only."""

    loaded: Loaded

    def run(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood]:
        """Score rows of any lengths; rows that read the same are computed once.

        Raises:
            Cancelled, EngineClosed: the caller went away.
            RuntimeError: whatever the library raises.
        """
        if control.reason is not None:
            raise control.error()
        inputs = {row: (*row.ids, *row.target[:-1]) for row in rows}
        places = {ids: at for at, ids in enumerate(dict.fromkeys(inputs.values()))}
        found = self.loaded.runner.forward_batch(
            [list(ids) for ids in places], return_log_probs=True
        )
        logs = np.asarray(found)
        return [_likelihood(row, logs[places[inputs[row]]]) for row in rows]


def _likelihood(row: ScoreRow, logs: Any) -> Likelihood:
    """Read one row's numbers; a position predicts the token behind it."""
    begin = len(row.ids) - 1
    part = logs[begin : begin + len(row.target)]
    return Likelihood(
        id=row.id,
        token_ids=row.target,
        logprobs=tuple(float(part[at, token]) for at, token in enumerate(row.target)),
        best=tuple(int(token) for token in part.argmax(axis=-1)),
        usage=Usage(prompt=len(row.ids), cut=row.cut, completion=len(row.target)),
    )
