"""Encoder models: answer spans, labels and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.outputs import Failure, Prediction
from bakeoff.core.requests import PredictRequest
from bakeoff.engines.transformers.loading import Loaded


def unsupported(loaded: Loaded, request: PredictRequest) -> list[str]:
    """Names of the fields that this model cannot honour for this request."""
    return ["ask"]


def predict_batch(loaded: Loaded, requests: Sequence[PredictRequest]) -> list[Prediction | Failure]:
    """Answer all requests, in their order; one failure never fails a neighbour."""
    return [
        Failure.of(request.id, UnsupportedOption("predict is not built yet", option="ask"))
        for request in requests
    ]
