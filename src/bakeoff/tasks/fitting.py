"""Which parts of a prompt reach which kind of model: what would be lost is refused by name."""

from __future__ import annotations

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.specs import PromptSpec, TaskSpec


def is_baseline(facts: ModelFacts) -> bool:
    """Whether the contender is no model: it reads the row, not the prompt."""
    return facts.architecture == "baseline"


def speaks(spec: TaskSpec, facts: ModelFacts, prompt: PromptSpec) -> bool:
    """Whether the model is asked by a conversation."""
    return facts.capabilities.chat_template and (prompt.mode or spec.mode) != "plain"


def check_prompt(spec: TaskSpec, facts: ModelFacts, prompt: PromptSpec) -> None:
    """Whether the model reads all that it would be given.

    Raises:
        UnsupportedOption: it does not.
    """
    if is_baseline(facts):
        _refuse_own(facts, prompt, "a baseline, which reads the row's text alone: drop it")
    elif facts.capabilities.kind == "encoder":
        _refuse_own(facts, prompt, "an encoder, which reads no prompt: drop it")
        move = "move it to `prompt:` of the models that write text"
        _refuse_tasks(spec, facts, ("template", "system"), f"an encoder, which reads none: {move}")
    elif facts.capabilities.kind == "seq2seq":
        into = "an encoder-decoder model, which reads one text: write it into prompt.template"
        _refuse_own(facts, prompt, into, ("system", "examples"))
        if prompt.system is None:
            move = "an encoder-decoder model: move it to prompt.system of the chat models"
            _refuse_tasks(spec, facts, ("system",), move)
    if not is_baseline(facts):
        _check_mode(spec, facts, prompt)


def refuse_encoder(kind: str, facts: ModelFacts) -> None:
    """Tasks that need written text.

    Raises:
        UnsupportedOption: the model is an encoder.
    """
    if facts.capabilities.kind == "encoder":
        raise UnsupportedOption(
            f"{facts.ref.uri} is an encoder ({facts.architecture}), which cannot write text: "
            f"{kind} needs a decoder-only or encoder-decoder model",
            option="model",
        )


def _check_mode(spec: TaskSpec, facts: ModelFacts, prompt: PromptSpec) -> None:
    if (prompt.mode or spec.mode) == "chat" and not facts.capabilities.chat_template:
        where = "prompt.mode" if prompt.mode else "task.mode"
        raise UnsupportedOption(
            f"{where} is 'chat', and {facts.ref.uri} has no chat template: write auto or plain",
            option=where,
        )
    if speaks(spec, facts, prompt) and facts.chat.error:
        raise UnsupportedOption(
            f"the chat template of {facts.ref.uri} renders no user's turn ({facts.chat.error}): "
            "set prompt.mode: plain to ask the model without it, or mend the template",
            option="prompt.mode",
        )


def _refuse_own(
    facts: ModelFacts,
    prompt: PromptSpec,
    why: str,
    names: tuple[str, ...] = ("template", "system", "examples", "mode"),
) -> None:
    for name in names:
        if getattr(prompt, name):
            raise UnsupportedOption(
                f"prompt.{name} cannot be put to {facts.ref.uri}, {why}", option=f"prompt.{name}"
            )


def _refuse_tasks(spec: TaskSpec, facts: ModelFacts, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if getattr(spec, name):
            raise UnsupportedOption(
                f"task.{name} cannot be put to {facts.ref.uri}, {why}", option=f"task.{name}"
            )
