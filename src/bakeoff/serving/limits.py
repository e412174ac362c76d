"""`Limits`: what one request may ask for; each is refused by name when it is passed."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass

from bakeoff.core.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request.

    Attributes:
        body_bytes: size of a body.
        prompts: in a list.
        messages: of a conversation.
        choices: `n`.
        new_tokens: of all texts of a request together, each counted up to the model's window.
        logprobs: alternatives for each token.
        stops: stop strings, and stop token ids.
        stop_chars: of one stop string.
        biases: entries of `logit_bias`.
        tools: that a model may call.
        tool_chars: of all tools together.
    """

    body_bytes: int = 8 * 2**20
    prompts: int = 256
    messages: int = 2048
    choices: int = 16
    new_tokens: int = 2**20
    logprobs: int = 20
    stops: int = 64
    stop_chars: int = 1000
    biases: int = 1024
    tools: int = 128
    tool_chars: int = 256 * 1024

    def most(self, field: str, value: int, limit: int) -> None:
        """Refuse a number above its limit.

        Raises:
            InvalidRequest: it is; both numbers are named.
        """
        if value > limit:
            raise InvalidRequest(f"{field} is {value}: at most {limit} are allowed", field=field)

    def count(self, field: str, values: Sized, limit: int) -> None:
        """Refuse a list that is too long.

        Raises:
            InvalidRequest: it is; both numbers are named.
        """
        if len(values) > limit:
            raise InvalidRequest(
                f"{field} has {len(values)} entries: at most {limit} are allowed", field=field
            )
