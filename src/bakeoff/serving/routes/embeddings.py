"""`/v1/embeddings`: vectors of texts, from encoder models."""

from __future__ import annotations

import base64
import struct
from typing import Any, ClassVar, Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff.serving.body import NEVER, Body
from bakeoff.serving.events import whole
from bakeoff.serving.routes.state import DeskOf, model_of, request_id, said_of
from bakeoff.serving.wording import Json

router = APIRouter()


class EmbeddingsBody(Body):
    """`POST /v1/embeddings`."""

    refused: ClassVar[dict[str, Any]] = {"dimensions": NEVER}

    model: str | None = None
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"


@router.post("/v1/embeddings", operation_id="create_embedding")
async def embeddings(body: EmbeddingsBody, request: Request, desk: DeskOf) -> Response:
    """A vector for each text: numbers, or little-endian 32-bit floats in base64."""
    body.refuse()
    served = await model_of(body.model, request, desk)
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors, tokens = await whole(request, desk.embed(served, request_id(request), texts))
    data = [
        {"object": "embedding", "index": at, "embedding": _encoded(one, body.encoding_format)}
        for at, one in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    name = served.name if body.model is None else body.model
    reply = {"object": "list", "data": data, "model": name, "usage": usage}
    return Json(reply, 200, said_of(body, desk))


def _encoded(vector: tuple[float, ...], form: Literal["float", "base64"]) -> list[float] | str:
    if form == "float":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
