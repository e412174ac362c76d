"""What a tokenizer does, for clients that count tokens themselves; vLLM's and llama.cpp's forms."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from bakeoff.core.errors import InvalidRequest
from bakeoff.core.requests import Messages, Prompt, Text
from bakeoff.serving.body import Body
from bakeoff.serving.models import Served
from bakeoff.serving.openai.asking import messages_of
from bakeoff.serving.openai.bodies import ChatMessage, TokenId
from bakeoff.serving.routes.state import DeskOf, model_of, said_of
from bakeoff.serving.wording import Json

router = APIRouter()
_ENCODED_AT_MOST = 2**20
"""Token ids of one body."""


class TokenizeBody(Body):
    """`POST /tokenize`: one of prompt, messages (vLLM) and content (llama.cpp)."""

    refused: ClassVar[dict[str, Any]] = {
        "parse_special": (None, True),
        "add_generation_prompt": (None, True),
        "continue_final_message": (None, False),
        "chat_template": (None,),
        "tools": (None, []),
    }

    model: str | None = None
    prompt: str | None = None
    messages: list[ChatMessage] | None = Field(default=None, min_length=1)
    content: str | None = None
    add_special_tokens: bool | None = None
    add_special: bool | None = None
    return_token_strs: bool | None = None
    with_pieces: bool | None = None


class DetokenizeBody(Body):
    """`POST /detokenize`."""

    model: str | None = None
    tokens: list[TokenId] = Field(max_length=_ENCODED_AT_MOST)


class TemplateBody(Body):
    """`POST /apply-template`."""

    refused: ClassVar[dict[str, Any]] = {"tools": (None, []), "chat_template": (None,)}

    model: str | None = None
    messages: list[ChatMessage] = Field(min_length=1)


@router.post("/tokenize", operation_id="tokenize")
async def tokenize(body: TokenizeBody, request: Request, desk: DeskOf) -> Response:
    """Token ids of a text or a conversation.

    A text gets the model's special tokens in vLLM's form, and none in llama.cpp's, unless said
    otherwise.
    """
    body.refuse()
    served = await model_of(body.model, request, desk)
    prompt, special = _to_read(body)
    ids = await served.engine.read(prompt, special=special)
    headers = said_of(body, desk)
    if body.content is not None:
        if not body.with_pieces:
            return Json({"tokens": ids}, 200, headers)
        pieces = await served.pieces(set(ids))
        told = [{"id": token, "piece": pieces[token]} for token in ids]
        return Json({"tokens": told}, 200, headers)
    reply: dict[str, Any] = {"count": len(ids), "max_model_len": served.window, "tokens": ids}
    if body.return_token_strs:
        pieces = await served.pieces(set(ids))
        reply["token_strs"] = [pieces[token] for token in ids]
    return Json(reply, 200, headers)


@router.post("/detokenize", operation_id="detokenize")
async def detokenize(body: DetokenizeBody, request: Request, desk: DeskOf) -> Response:
    """The text of token ids, special tokens left out, under the names of both forms."""
    served = await model_of(body.model, request, desk)
    check_ids(body.tokens, served, "tokens")
    text = await served.engine.decode(body.tokens)
    return Json({"prompt": text, "content": text}, 200, said_of(body, desk))


@router.get("/tokenizer_info", operation_id="tokenizer_info")
async def tokenizer_info(
    desk: DeskOf, request: Request, model: Annotated[str | None, Query()] = None
) -> Response:
    """Special tokens, chat template and size of the vocabulary."""
    served = await model_of(model, request, desk)
    facts = served.tokenizer
    return Json(
        {
            "bos_token": facts.bos,
            "eos_token": facts.eos,
            "pad_token": facts.pad,
            "chat_template": facts.chat_template,
            "vocab_size": facts.vocabulary,
            "model_max_length": served.window,
        }
    )


@router.post("/apply-template", operation_id="apply_template")
async def apply_template(body: TemplateBody, request: Request, desk: DeskOf) -> Response:
    """A conversation as the checkpoint's chat template writes it."""
    body.refuse()
    served = await model_of(body.model, request, desk)
    desk.options.limits.count("messages", body.messages, desk.options.limits.messages)
    text = await served.engine.render(Messages(messages_of(body.messages)))
    return Json({"prompt": text}, 200, said_of(body, desk))


def check_ids(ids: list[int], served: Served, field: str) -> None:
    """Refuse token ids that the model does not have.

    Raises:
        InvalidRequest: one is too large.
    """
    most = served.tokenizer.vocabulary
    wrong = next((one for one in ids if one >= most), None)
    if wrong is not None:
        raise InvalidRequest(f"{field} holds {wrong}: ids go from 0 to {most - 1}", field=field)


def _to_read(body: TokenizeBody) -> tuple[Prompt, bool]:
    """What is to be read, and whether special tokens are added to it."""
    said = [name for name in ("prompt", "messages", "content") if getattr(body, name) is not None]
    if len(said) != 1:
        named = " and ".join(said) or "nothing"
        raise InvalidRequest(
            f"{named} is given: send one of prompt, messages and content",
            field=said[1] if said else "prompt",
        )
    if body.messages is not None:
        return Messages(messages_of(body.messages)), True
    if body.content is not None:
        return Text(body.content), bool(body.add_special)
    return Text(body.prompt or ""), body.add_special_tokens is not False
