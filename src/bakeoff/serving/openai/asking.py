"""OpenAI bodies become requests of the core. Pure: nothing here waits or computes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.core.errors import InvalidRequest, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import (
    DEFAULT_MAX_NEW_TOKENS,
    GenerateRequest,
    GenerationParams,
    Lane,
    Message,
    Messages,
    Prompt,
    Source,
    Text,
    Tokens,
    Tool,
)
from bakeoff.serving.limits import Limits
from bakeoff.serving.models import Served
from bakeoff.serving.openai.bodies import ChatBody, ChatMessage, CompletionBody, Sampling
from bakeoff.serving.openai.formats import Wanted
from bakeoff.serving.tools.choosing import calls_of, form_of

COMPLETION_TOKENS = 16
"""New tokens of a completion that does not say how many, as OpenAI has it."""
CHAT_TOKENS = 4096
"""The same of a chat, as far as the model's window goes."""
_SEEDS = 2**63


@dataclass(frozen=True, slots=True)
class Asked:
    """What the requests of one HTTP request have in common.

    Attributes:
        id: of the HTTP request.
        served: the model.
        limits: of a request.
        lane: of scheduling.
        scope: who may find what was computed for its prompts.
        wanted: how the texts have to look, or None.
    """

    id: str
    served: Served
    limits: Limits
    lane: Lane = "chat"
    scope: str = ""
    wanted: Wanted | None = None

    def requests(
        self, prompts: Sequence[Prompt], params: GenerationParams, logprobs: int | None
    ) -> tuple[GenerateRequest, ...]:
        """One request for each prompt.

        Raises:
            InvalidRequest: together they might write more tokens than are allowed.
        """
        self.limits.count("prompt", prompts, self.limits.prompts)
        if self.wanted is not None and params.num_beams is None:
            params = replace(params, num_beams=1)  # beams follow no grammar
        most = params.max_new_tokens or 0
        window = self.served.window
        each = most if window is None else min(most, window)
        texts = len(prompts) * (params.n or 1)
        if each * texts > self.limits.new_tokens:
            raise InvalidRequest(
                f"max_tokens is {each} for each of {texts} texts: at most "
                f"{self.limits.new_tokens} tokens are allowed together",
                field="max_tokens",
            )
        return tuple(
            GenerateRequest(
                id=f"{self.id}-{at}",
                prompt=prompt,
                params=params,
                logprobs=logprobs,
                lane=self.lane,
                cache_scope=self.scope,
                grammar=None if self.wanted is None else self.wanted.grammar,
            )
            for at, prompt in enumerate(prompts)
        )


def completion_requests(
    body: CompletionBody, asked: Asked, filled: Sequence[int] | None = None
) -> tuple[GenerateRequest, ...]:
    """The requests of a completion; one for each prompt.

    Args:
        body: what was asked.
        asked: by whom, and of what.
        filled: the token ids that prompt and suffix became together, or None without a suffix.

    Raises:
        CallerError: a field cannot be honoured, or passes a limit; it is named.
    """
    body.refuse()
    generates(asked.served)
    if body.logprobs is not None:
        asked.limits.most("logprobs", body.logprobs, asked.limits.logprobs)
    prompts = [prompt_of(one, asked.served) for one in _prompts(body)]
    if filled is not None:
        prompts = [Tokens(tuple(filled))]
    params = params_of(body, asked, body.max_tokens, _completion_tokens(asked.served.facts))
    made = asked.requests(prompts, params, body.logprobs)
    if not body.echo or body.logprobs is None:
        return made
    if filled is not None:
        raise UnsupportedOption("echo with logprobs and a suffix: leave one out", option="echo")
    if asked.served.facts.capabilities.kind == "seq2seq":
        raise UnsupportedOption(
            "echo with logprobs: an encoder-decoder model gives its prompt no probability; leave "
            "one of them out",
            option="echo",
        )
    return tuple(_with_prompt(one, body.logprobs) for one in made)


def chat_requests(
    body: ChatBody, asked: Asked, tools: tuple[Tool, ...] = ()
) -> tuple[GenerateRequest, ...]:
    """The request of a chat, as a list of one.

    Args:
        body: what was asked.
        asked: by whom, and of what.
        tools: that the model is told of.

    Raises:
        CallerError: a field cannot be honoured, or passes a limit; it is named.
    """
    body.refuse()
    generates(asked.served)
    limits = asked.limits
    limits.count("messages", body.messages, limits.messages)
    if body.top_logprobs is not None:
        if not body.logprobs:
            raise InvalidRequest("top_logprobs needs logprobs: true as well", field="top_logprobs")
        limits.most("top_logprobs", body.top_logprobs, limits.logprobs)
    messages = messages_of(body.messages)
    said = body.max_completion_tokens
    said = body.max_tokens if said is None else said
    if said == 0:
        raise InvalidRequest("max_tokens is 0: a chat needs at least 1", field="max_tokens")
    params = params_of(body, asked, said, _chat_tokens(asked.served))
    logprobs = (body.top_logprobs or 0) if body.logprobs else None
    return asked.requests([conversation(messages, asked.served, tools)], params, logprobs)


def params_of(
    body: Sampling, asked: Asked, max_tokens: int | None, default: int
) -> GenerationParams:
    """How to decode. What is not said is the checkpoint's; a seed is drawn where one is needed.

    Raises:
        InvalidRequest: a field passes a limit.
    """
    limits = asked.limits
    limits.most("n", body.n or 1, limits.choices)
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    limits.count("stop", stops, limits.stops)
    for stop in stops:
        if len(stop) > limits.stop_chars:
            raise InvalidRequest(
                f"a stop string has {len(stop)} characters: at most {limits.stop_chars} are "
                "allowed",
                field="stop",
            )
    limits.count("stop_token_ids", body.stop_token_ids or (), limits.stops)
    bias = body.logit_bias or {}
    limits.count("logit_bias", bias, limits.biases)
    unknown = next((one for one in bias if one >= asked.served.tokenizer.vocabulary), None)
    if unknown is not None:
        raise InvalidRequest(
            f"logit_bias names token {unknown}: the model has tokens 0 to "
            f"{asked.served.tokenizer.vocabulary - 1}",
            field="logit_bias",
        )
    most = default if max_tokens is None else max_tokens
    params = GenerationParams(
        max_new_tokens=min(most, 10**9),
        min_new_tokens=body.min_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=0 if body.top_k == -1 else body.top_k,
        min_p=body.min_p,
        num_beams=body.num_beams,
        repetition_penalty=body.repetition_penalty,
        frequency_penalty=body.frequency_penalty,
        presence_penalty=body.presence_penalty,
        stop=tuple(stops) or None,
        stop_ids=(*(body.stop_token_ids or ()), *_fill_ends(asked)) or None,
        logit_bias=tuple(bias.items()) or None,
        n=body.n,
    )
    return drawing(params, body.seed, asked.served.facts)


def _fill_ends(asked: Asked) -> tuple[int, ...]:
    """What ends a text that is filled in between two others."""
    return asked.served.tokenizer.fill_ends if asked.lane == "edit" else ()


def drawing(params: GenerationParams, seed: int | None, facts: ModelFacts) -> GenerationParams:
    """The same with what sampling needs: one beam, and a seed that no other request has."""
    if (params.temperature or 0) > 0 and params.num_beams is None:
        params = GenerationParams(num_beams=1).over(params)  # who samples wants no beams
    if seed is None and not params.over(facts.defaults).sampled:
        return params
    drawn = random.SystemRandom().randrange(_SEEDS) if seed is None else seed % _SEEDS
    return GenerationParams(seed=drawn).over(params)


def prompt_of(said: str | tuple[int, ...], served: Served) -> Prompt:
    """A raw prompt; an encoder-decoder model's goes into its encoder."""
    if not isinstance(said, str):
        return Tokens(said)
    return Source(said) if served.facts.capabilities.kind == "seq2seq" else Text(said)


def conversation(
    messages: tuple[Message, ...], served: Served, tools: tuple[Tool, ...] = ()
) -> Prompt:
    """A conversation; an encoder-decoder model reads the last user's message.

    Raises:
        InvalidRequest: there is no user's message to read.
        UnsupportedOption: a turn calls a tool, and the model's template has no place for that.
    """
    if served.facts.capabilities.kind != "seq2seq":
        if any(one.tool_calls or one.role == "tool" for one in messages):
            form_of(served.facts, "messages")
        return Messages(messages, tools)
    said = next((one.content for one in reversed(messages) if one.role == "user"), None)
    if said is None:
        raise InvalidRequest(
            "messages hold no user's message, which is what this model reads", field="messages"
        )
    return Source(said)


def _prompts(body: CompletionBody) -> list[str | tuple[int, ...]]:
    said = body.prompt
    if isinstance(said, str):
        return [said]
    ids = tuple(one for one in said if isinstance(one, int))
    return [ids] if ids else [_one(one) for one in said if not isinstance(one, int)]


def _one(said: str | list[int]) -> str | tuple[int, ...]:
    return said if isinstance(said, str) else tuple(said)


def _with_prompt(request: GenerateRequest, logprobs: int) -> GenerateRequest:
    return replace(request, logprobs=logprobs, prompt_logprobs=logprobs)


def messages_of(said: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """A conversation of texts.

    Raises:
        CallerError: a message is not one that this server reads; its place is named.
    """
    return tuple(_message(one, at) for at, one in enumerate(said))


def _message(said: ChatMessage, at: int) -> Message:
    field = f"messages.{at}"
    try:
        said.refuse()
    except UnsupportedOption as problem:
        raise UnsupportedOption(problem.message, option=f"{field}.{problem.option}") from problem
    if said.role == "function":
        raise UnsupportedOption(
            f"{field} has the role 'function': write 'tool', with a tool_call_id",
            option=f"{field}.role",
        )
    role = "system" if said.role == "developer" else said.role
    if role == "tool":
        name, of = said.name or "", said.tool_call_id or ""
        return Message(role, _content(said, field), tool_call_id=of, name=name)
    calls = calls_of(said.tool_calls or ()) if role == "assistant" else ()
    return Message(role, _content(said, field), calls)


def _content(said: ChatMessage, field: str) -> str:
    if said.content is None:
        if said.role != "assistant":
            raise InvalidRequest(f"{field} has no content", field=f"{field}.content")
        return ""
    if isinstance(said.content, str):
        return said.content
    for part in said.content:
        if part.type != "text" or part.text is None:
            raise InvalidRequest(
                f"{field} holds a part of type {part.type[:40]!r}: this server reads text parts",
                field=f"{field}.content",
            )
    return "".join(part.text or "" for part in said.content)


def generates(served: Served) -> None:
    """Refuse a model that writes no text.

    Raises:
        UnsupportedOption: it is an encoder.
    """
    if not served.generates:
        raise UnsupportedOption(
            f"{served.name} is an encoder and writes no text: ask a generative model",
            option="model",
        )


def _completion_tokens(facts: ModelFacts) -> int:
    if facts.capabilities.kind == "seq2seq":
        return facts.defaults.max_new_tokens or DEFAULT_MAX_NEW_TOKENS
    return COMPLETION_TOKENS


def _chat_tokens(served: Served) -> int:
    said = served.facts.defaults.max_new_tokens
    if said is not None:
        return said
    if served.facts.capabilities.kind == "seq2seq":
        return DEFAULT_MAX_NEW_TOKENS
    return CHAT_TOKENS
