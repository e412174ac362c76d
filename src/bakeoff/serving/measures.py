"""What `/metrics` shows: counts and times in Prometheus' text format, never a text."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from bakeoff.core.outputs import Usage
from bakeoff.serving.admission import Gates
from bakeoff.serving.models import ModelTable

_FIRST = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_BETWEEN = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
_WHOLE = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Measures:
    """Counters of one server; label values come from its own routes and models alone."""

    def __init__(self, gates: Gates, models: ModelTable) -> None:
        """`gates` tell how many requests run and wait, `models` what is loaded."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._gauge("bakeoff_requests_running", "Requests at an engine.", lambda: gates.running)
        self._gauge("bakeoff_requests_waiting", "Requests in the queue.", lambda: gates.waiting)
        keeper = models.keeper
        self._gauge("bakeoff_models_loaded", "Models in memory.", lambda: len(models.served))
        self._gauge("bakeoff_models_awaited", "Requests without a model.", lambda: models.waiting)
        self._gauge("bakeoff_model_loads", "Models loaded since the start.", lambda: keeper.loads)
        self._gauge(
            "bakeoff_model_unloads", "Models unloaded since the start.", lambda: keeper.unloads
        )
        self._requests = Counter(
            "bakeoff_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._prompt = Counter(
            "bakeoff_prompt_tokens", "Tokens read.", ("model",), registry=registry
        )
        self._cached = Counter(
            "bakeoff_cached_tokens", "Of those, not computed.", ("model",), registry=registry
        )
        self._completion = Counter(
            "bakeoff_completion_tokens", "Tokens written.", ("model",), registry=registry
        )
        self._looped = Counter(
            "bakeoff_requests_looped", "Texts ended because they repeated themselves.",
            ("model",), registry=registry,
        )  # fmt: skip
        self._cancelled = Counter(
            "bakeoff_requests_cancelled", "Requests whose client left.", registry=registry
        )
        self._first = Histogram(
            "bakeoff_time_to_first_token_seconds", "Until a stream's first text.", ("model",),
            buckets=_FIRST, registry=registry,
        )  # fmt: skip
        self._between = Histogram(
            "bakeoff_inter_token_seconds", "Between two pieces of a stream.", ("model",),
            buckets=_BETWEEN, registry=registry,
        )  # fmt: skip
        self._whole = Histogram(
            "bakeoff_request_seconds", "From arrival to the last byte.", ("route",),
            buckets=_WHOLE, registry=registry,
        )  # fmt: skip

    def _gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        Gauge(name, text, registry=self._registry).set_function(read)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request came to its end."""
        self._requests.labels(route, str(status)).inc()
        self._whole.labels(route).observe(seconds)

    def left(self) -> None:
        """A client went away before its answer."""
        self._cancelled.inc()

    def used(self, model: str, usage: Usage, texts: int = 1) -> None:
        """Tokens of one prompt; `texts` 0 counts what was written alone."""
        if texts:
            self._prompt.labels(model).inc(usage.prompt)
            self._cached.labels(model).inc(usage.cached)
        self._completion.labels(model).inc(usage.completion)

    def looped(self, model: str) -> None:
        """A text was ended because it repeated itself."""
        self._looped.labels(model).inc()

    def first(self, model: str, seconds: float) -> None:
        """A stream's first text."""
        self._first.labels(model).observe(seconds)

    def between(self, model: str, seconds: float) -> None:
        """A further text of a stream."""
        self._between.labels(model).observe(seconds)

    def text(self) -> bytes:
        """The page."""
        return generate_latest(self._registry)
