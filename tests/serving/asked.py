"""The smallest body that each route takes, for tests that go over all of them."""

from __future__ import annotations

from typing import Any

CHAT = [{"role": "user", "content": "hello"}]
POSTED: dict[str, dict[str, Any]] = {
    "/v1/completions": {"model": "echo", "prompt": "hello"},
    "/v1/chat/completions": {"model": "echo", "messages": CHAT},
    "/v1/embeddings": {"model": "encoder", "input": "hello"},
    "/v1/tasks/summarize": {"model": "seq", "input": "hello"},
    "/v1/tasks/translate": {"model": "seq", "input": "hello"},
    "/tokenize": {"model": "echo", "prompt": "hello"},
    "/detokenize": {"model": "echo", "tokens": [72]},
    "/apply-template": {"model": "echo", "messages": CHAT},
    "/completion": {"model": "echo", "prompt": "hello"},
    "/infill": {"model": "fim", "input_prefix": "a", "input_suffix": "b"},
    "/embedding": {"model": "encoder", "content": "hello"},
    "/generate": {"model": "echo", "inputs": "hello"},
    "/generate_stream": {"model": "echo", "inputs": "hello"},
    "/api/generate": {"model": "echo", "prompt": "hello"},
    "/api/chat": {"model": "echo", "messages": CHAT},
    "/api/show": {"model": "echo"},
    "/api/embed": {"model": "encoder", "input": "hello"},
    "/api/embeddings": {"model": "encoder", "prompt": "hello"},
}
"""Path -> body; a test holds it against the server's own list of routes."""
