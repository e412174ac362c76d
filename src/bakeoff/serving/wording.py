"""How each wire format words a problem."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from bakeoff.serving.problems import Problem

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_OLLAMA = "/api/"
_TGI = ("/generate", "/generate_stream", "/info")
_TGI_KINDS = {400: "validation", 422: "validation", 429: "overloaded", 503: "overloaded"}
_LLAMA = ("/completion", "/infill", "/props", "/slots", "/embedding", "/apply-template")
_IN_VAIN = ("internal", "deadline_exceeded", "dependency_missing")
"""Codes of 5xx problems that the same request would meet again; clients repeat 5xx by default."""


class Json(Response):
    """JSON in UTF-8; what cannot be encoded (half of a surrogate pair) becomes a question mark."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Compact; refuses NaN."""
        return json_bytes(content)


def json_bytes(content: Any) -> bytes:
    """As `Json` writes it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def error_object(problem: Problem) -> dict[str, Any]:
    """As OpenAI's clients read it."""
    kind = _KINDS.get(problem.status)
    if kind is None:
        kind = "invalid_request_error" if problem.status < 500 else "server_error"
    return {
        "error": {
            "message": problem.message,
            "type": kind,
            "param": problem.field,
            "code": problem.code,
        }
    }


def worded(path: str, problem: Problem) -> Response:
    """The response for a problem on that path."""
    return Json(_body(path, problem), _status(path, problem), headers=headers_of(problem))


def _body(path: str, problem: Problem) -> dict[str, Any]:
    if path.startswith(_OLLAMA):
        return {"error": problem.message}
    if path in _TGI:
        return {
            "error": problem.message,
            "error_type": _TGI_KINDS.get(problem.status, "generation"),
        }
    found = error_object(problem)
    if path in _LLAMA:
        found["error"]["code"] = problem.status
    return found


def _status(path: str, problem: Problem) -> int:
    """TGI's clients know a wrong value by 422."""
    return 422 if path in _TGI and problem.status == 400 else problem.status


def headers_of(problem: Problem) -> dict[str, str]:
    """What clients read besides the body."""
    headers = {}
    if problem.retry_after is not None:
        headers["retry-after"] = str(problem.retry_after)
    elif problem.code in _IN_VAIN:
        headers["x-should-retry"] = "false"
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    return headers
