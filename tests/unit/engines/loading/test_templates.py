"""Which chat template is taken, from which file, and what is known of it before it loads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, GenerationParams, Message, Messages, Text
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text.tokenizers import load_tokenizer
from bakeoff.tasks import build_task
from tests.contract.targets import run
from tests.unit.engines.generation.test_chat import FAILS, GEMMA, NO_PROMPT, PRINTS_NONE
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
Put = Callable[..., Path]
ONE, TWO, THREE = "one{{ messages }}", "two{{ messages }}", "three{{ messages }}"


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """The zoo's chat model with other templates: path -> text, or what is in a JSON file."""

    def write(**files: Any) -> Path:
        folder = shutil.copytree(zoo_path("llama"), tmp_path / "model")
        (folder / "chat_template.jinja").unlink()
        for name, value in files.items():
            path = folder / name.replace("__", ".").replace("_slash_", "/")
            path.parent.mkdir(exist_ok=True)
            if path.name == "tokenizer_config.json":
                value = {**json.loads(path.read_text()), "chat_template": value}
            path.write_text(value if isinstance(value, str) else json.dumps(value))
        return folder

    return write


def described(folder: Path) -> ModelFacts:
    return describe(ModelRef.parse(str(folder)))


def named(**templates: str) -> list[dict[str, str]]:
    return [{"name": name, "template": text} for name, text in templates.items()]


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        ({}, None),
        ({"tokenizer_config__json": ONE}, ONE),
        ({"chat_template__jinja": ONE}, ONE),
        ({"chat_template__json": {"chat_template": ONE}}, ONE),
        ({"tokenizer_config__json": ONE, "chat_template__jinja": TWO}, TWO),
        ({"chat_template__jinja": ONE, "chat_template__json": {"chat_template": TWO}}, ONE),
        ({"tokenizer_config__json": named(tool_use=ONE, default=TWO)}, TWO),
        ({"tokenizer_config__json": named(tool_use=ONE, rag=TWO)}, None),
        ({"chat_template__jinja": ONE, "additional_chat_templates_slash_rag__jinja": TWO}, ONE),
        ({"additional_chat_templates_slash_tool_use__jinja": TWO}, None),
        ({"additional_chat_templates_slash_tool_use__jinja": TWO, "tokenizer_config__json": ONE},
         None),
    ],
)  # fmt: skip
def test_the_template_of_the_files_is_the_one_that_is_loaded(
    put: Put, files: dict[str, Any], taken: str | None
) -> None:
    folder = put(**files)
    facts = described(folder)
    assert load_tokenizer(facts.ref, folder).chat_template == taken
    assert facts.capabilities.chat_template is (taken is not None)


def test_templates_of_which_none_is_the_default_are_named(put: Put) -> None:
    facts = described(put(tokenizer_config__json=named(tool_use=ONE, rag=TWO)))
    (notice,) = facts.notices
    assert notice.code == "chat-template-not-used" and "rag, tool_use" in notice.text
    task = build_task(TaskSpec(kind="summarization"))
    task.check(facts)
    (prompt,) = task.ask(TaskRow(0, "1", source="hello"), facts, None)
    assert isinstance(prompt, Text)


def test_a_default_among_others_is_no_news(put: Put) -> None:
    assert described(put(tokenizer_config__json=named(tool_use=ONE, default=TWO))).notices == ()


def test_a_template_that_renders_nothing_is_refused_unless_it_is_not_used(put: Put) -> None:
    facts = described(put(chat_template__jinja=FAILS))
    assert "not today" in facts.chat.error
    task = build_task(TaskSpec(kind="summarization"))
    with pytest.raises(UnsupportedOption, match=r"not today.*mode: plain") as caught:
        task.check(facts)
    assert caught.value.option == "prompt.mode"
    task.check(facts, PromptSpec(mode="plain"))


SYSTEM = "You are terse."


@pytest.mark.parametrize(
    ("system", "mode", "codes"),
    [
        (SYSTEM, None, ["system-prompt-in-user-turn"]),
        (None, None, []),
        (SYSTEM, "plain", []),
    ],
)
def test_a_system_prompt_without_a_place_is_reported_where_there_is_one(
    put: Put, system: str | None, mode: Any, codes: list[str]
) -> None:
    facts = described(put(chat_template__jinja=GEMMA))
    assert not facts.chat.system and facts.notices == ()
    prompt = PromptSpec(mode=mode)
    for task in (
        build_task(TaskSpec(kind="summarization", system=system)),
        build_task(TaskSpec(kind="translation", system=system, source_language="en",
                            target_language="de")),
    ):  # fmt: skip
        task.check(facts, prompt)
        assert [n.code for n in task.notices(facts, prompt)] == codes
    healthy = described(zoo_path("llama"))
    assert task.notices(healthy, prompt) == ()


def test_what_is_known_before_loading_is_not_said_twice(put: Put) -> None:
    facts = described(put(chat_template__jinja=PRINTS_NONE))
    assert [n.code for n in facts.notices] == ["template-prints-none"]
    engine = run(open_engine("transformers", facts, EngineOptions(threads=1)))
    try:
        assert "template-prints-none" not in [n.code for n in engine.notices]
    finally:
        run(engine.close())


@pytest.mark.parametrize(
    ("template", "plain"),
    [(GEMMA, [("user", f"{SYSTEM}\n\n1 ring")]), (NO_PROMPT, None)],
)
def test_the_text_is_that_of_the_library_for_the_repaired_conversation(
    put: Put, template: str, plain: list[tuple[str, str]] | None
) -> None:
    folder = put(chat_template__jinja=template)
    messages = (Message("system", SYSTEM), Message("user", "1 ring"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if plain is None:
        tokenizer = AutoTokenizer.from_pretrained(zoo_path("llama"))
        plain = [(m.role, m.content) for m in messages]
    inputs = tokenizer.apply_chat_template(
        [{"role": role, "content": words} for role, words in plain],
        add_generation_prompt=True, return_tensors="pt", return_dict=True,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        out = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    expected = out[0, inputs["input_ids"].shape[1] :].tolist()
    request = GenerateRequest("1", Messages(messages), GenerationParams(max_new_tokens=12))

    async def work() -> Any:
        engine = await open_engine("transformers", described(folder), EngineOptions(threads=1))
        try:
            return await engine.generate([request])
        finally:
            await engine.close()

    (made,) = run(work())
    assert isinstance(made, Completion), made
    assert made.usage.prompt == inputs["input_ids"].shape[1]
    assert list(made.token_ids) == expected
