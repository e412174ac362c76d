"""What a server says of itself: health, version, models, measures."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from bakeoff._version import __version__
from bakeoff.serving.models import Known
from bakeoff.serving.problems import Problem
from bakeoff.serving.routes.state import DeskOf
from bakeoff.serving.wording import Json, worded

router = APIRouter()
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/health", operation_id="health")
async def health(desk: DeskOf) -> Response:
    """Whether requests are taken: 200, or 503 while models load or the server stops."""
    if desk.stopping:
        return worded("/health", Problem(503, "shutting down", "unavailable"))
    if desk.models.loading:
        return worded("/health", Problem(503, "Loading model", "model_loading", retry_after=5))
    notices = {one.name: [n.code for n in one.engine.notices] for one in desk.models.served}
    told = {"models": desk.models.states(), "checks": desk.checkup.said(), "notices": notices}
    return Json({"status": "ok", **told})


@router.get("/version", operation_id="version")
async def version() -> Response:
    """Of bakeoff."""
    return Json({"version": __version__})


@router.get("/v1/models", operation_id="list_models")
async def models(desk: DeskOf) -> Response:
    """Every name under which a model is served, loaded or not."""
    listed = [_described(one) for one in desk.models.known()]
    return Json({"object": "list", "data": listed})


@router.get("/v1/models/{name:path}", operation_id="retrieve_model")
async def model(name: str, desk: DeskOf) -> Response:
    """One of them."""
    return Json(_described(desk.models.about(name)))


@router.get("/metrics", operation_id="metrics")
async def metrics(desk: DeskOf) -> Response:
    """Counts and times for Prometheus."""
    return Response(desk.measures.text(), headers={"content-type": _PROMETHEUS})


def _described(known: Known) -> dict[str, Any]:
    capabilities = known.facts.capabilities
    meta: dict[str, Any] = {
        "kind": capabilities.kind,
        "chat": capabilities.chat_template,
        "fim": capabilities.fim_tokens,
        "loaded": known.served is not None,
        "dtype": known.dtype,
    }
    if known.served is not None:
        info = known.served.engine.info
        meta |= {"engine": info.name, "device": info.device}
    return {
        "id": known.name,
        "object": "model",
        "created": known.created,
        "owned_by": "bakeoff",
        "root": known.entry.name,
        "max_model_len": capabilities.context_length,
        "meta": meta,
    }
