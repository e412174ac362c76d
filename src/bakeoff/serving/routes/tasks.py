"""`/v1/tasks/summarize` and `/v1/tasks/translate`: texts in, texts out, for models that write."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from bakeoff.core.errors import BadRow, InvalidRequest, InvalidSpec, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Task
from bakeoff.core.requests import DEFAULT_MAX_NEW_TOKENS, Messages, Prompt, Source, Text, Tokens
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import TaskSpec
from bakeoff.serving.desk import Ask, Desk, total
from bakeoff.serving.events import whole
from bakeoff.serving.openai.asking import Asked, params_of
from bakeoff.serving.openai.bodies import Sampling
from bakeoff.serving.openai.replies import finish_name, usage_object
from bakeoff.serving.routes.state import DeskOf, asked_of, model_of, said_of
from bakeoff.serving.wording import Json
from bakeoff.tasks import build_task

router = APIRouter()


class SummarizeBody(Sampling):
    """`POST /v1/tasks/summarize`."""

    input: str | list[str] = Field(description="A text, or a list of texts.")


class TranslateBody(SummarizeBody):
    """`POST /v1/tasks/translate`."""

    source_language: str | None = None
    target_language: str | None = None


@router.post("/v1/tasks/summarize", operation_id="summarize")
async def summarize(body: SummarizeBody, request: Request, desk: DeskOf) -> Response:
    """Summaries, asked for in the way the model was trained on."""
    return await _carried_out(TaskSpec(kind="summarization"), body, request, desk)


@router.post("/v1/tasks/translate", operation_id="translate")
async def translate(body: TranslateBody, request: Request, desk: DeskOf) -> Response:
    """Translations; a model made for one pair of languages needs to be told none."""
    spec = TaskSpec(
        kind="translation",
        source_language=body.source_language,
        target_language=body.target_language,
    )
    return await _carried_out(spec, body, request, desk)


async def _carried_out(
    spec: TaskSpec, body: SummarizeBody, request: Request, desk: Desk
) -> Response:
    served = await model_of(body.model, request, desk)
    if body.stream or (body.n or 1) > 1:
        field = "stream" if body.stream else "n"
        raise InvalidRequest(f"{field} is not for tasks: each text gets one answer", field=field)
    asked = asked_of(request, served, desk, "batch")
    ask = await _asked(spec, body, asked)
    made = await whole(request, desk.complete(ask))
    data = [
        {
            "index": at,
            "text": choices[0].text,
            "finish_reason": finish_name(choices[0].finish),
            "usage": usage_object(choices[0].usage),
        }
        for at, choices in enumerate(made)
    ]
    usage = usage_object(total([[one.usage for one in choices] for choices in made]))
    reply: dict[str, Any] = {"object": "list", "model": served.name, "data": data, "usage": usage}
    return Json(reply, 200, said_of(body, desk))


async def _asked(spec: TaskSpec, body: SummarizeBody, asked: Asked) -> Ask:
    """The texts as this model is asked them, with the settings its checkpoint has for the task.

    Raises:
        InvalidRequest: a language is not known, or a text is blank.
        UnsupportedOption: the model cannot be asked this.
    """
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not texts:
        raise InvalidRequest("input is an empty list: send a text", field="input")
    try:
        task = build_task(spec)
        facts = await asyncio.to_thread(asked.served.described, task.hints())
        task.check(facts)
        prompts = [_prompt(task, facts, text, at) for at, text in enumerate(texts)]
    except InvalidSpec as problem:
        field = "target_language" if spec.kind == "translation" else "model"
        raise InvalidRequest(problem.message, field=field) from problem
    except UnsupportedOption as problem:
        option = problem.option.removeprefix("task.")
        message = problem.message.replace("task.", "")  # here they are fields of the body
        raise UnsupportedOption(message, option=option) from problem
    except BadRow as problem:
        raise InvalidRequest(f"input: {problem.message}", field="input") from problem
    default = facts.defaults.max_new_tokens or DEFAULT_MAX_NEW_TOKENS
    params = params_of(body, asked, body.max_tokens, default).over(facts.defaults)
    return Ask(asked.served, asked.requests(prompts, params, None), "input")


def _prompt(task: Task, facts: ModelFacts, text: str, at: int) -> Prompt:
    (prompt,) = task.ask(TaskRow(index=at, id=str(at), source=text), facts, None)
    if not isinstance(prompt, (Text, Tokens, Messages, Source)):
        raise InvalidRequest(f"the task {task.kind} does not ask for texts", field="model")
    return prompt
