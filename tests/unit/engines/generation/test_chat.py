"""What chat templates need done to a conversation: the same in both renderers."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from transformers import AutoTokenizer

from bakeoff.core.requests import Message, Messages, ScoreRequest, Text
from bakeoff.engines.text.chat import ChatRules, rules_of
from bakeoff.engines.text.continuations import ScoreReader
from bakeoff.engines.text.rendering import renderer, tried_out
from tests.unit.engines.generation.test_prompts import reader_of
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch

CHATML = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\n'"
    " + m['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}"
    "{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}"
    "{% set system = false %}{% endif %}{% for m in rest %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}"
    "{% endif %}{% if loop.index0 == 0 and system %}"
    "{% set text = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + m['content'] %}"
    "{% else %}{% set text = m['content'] %}{% endif %}"
    "{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + text + ' [/INST]' }}"
    "{% else %}{{ ' ' + text + ' ' + eos_token }}{% endif %}{% endfor %}"
)
SILENT = CHATML.replace("messages %}", "messages if m['role'] != 'system' %}")
DROPS = (  # keeps the last of neighbours alone
    "{% for m in messages %}{% if loop.last or loop.nextitem['role'] != m['role'] %}"
    "[{{ m['role'] }}] {{ m['content'] }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
PRINTS_NONE = (
    "{% set ns = namespace(system=none) %}{% for m in messages %}{% if m['role'] == 'system' %}"
    "{% set ns.system = m['content'] %}{% endif %}{% endfor %}<<SYS>>{{ ns.system }}<</SYS>>\n"
    "{% for m in messages if m['role'] != 'system' %}[{{ m['role'] }}] {{ m['content'] }}\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)
ALWAYS_NONE = "{{ tools }}\n" + CHATML
MEANS_NONE = CHATML.replace("{{ bos_token }}", "Say None if nothing fits.\n")
LISTS_NONE = CHATML.replace("{{ bos_token }}", "{{ 'Tools: None\\n' }}Rules: None\n")
NEEDS_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}{{ raise_exception('system first') }}{% endif %}"
    + CHATML
)
TWICE = "{{ bos_token }}" + CHATML
NO_PROMPT = CHATML.partition("{% if add")[0]
PARTS = CHATML.replace(
    "{{ m['content'] }}", "{% for part in m['content'] %}{{ part['text'] }}{% endfor %}"
)
GENERATION = CHATML.replace(
    "{{ m['content'] }}", "{% generation %}{{ m['content'] }}{% endgeneration %}"
)
FAILS = "{{ raise_exception('not today') }}"
BROKEN = "{% for m in messages %}"
ONE_TURN = (
    "{% if messages | length > 1 %}{{ raise_exception('one') }}{% endif %}"
    "{{ messages[0]['content'] }}"
)

SYSTEM, USER = Message("system", "Be brief."), Message("user", "Hi")
ANSWER, AGAIN = Message("assistant", "Hello"), Message("user", "Well?")


@pytest.fixture
def llama() -> Any:
    return AutoTokenizer.from_pretrained(zoo_path("llama"))


def rules(tokenizer: Any, template: str) -> ChatRules:
    """The rules by the tokenizer, which are those that were found before it was loaded."""
    tokenizer.chat_template = template
    found = rules_of(tokenizer)
    assert tried_out(template, tokenizer.special_tokens_map) == found
    return found


def text(tokenizer: Any, template: str, *messages: Message) -> str:
    tokenizer.chat_template = template
    return reader_of(tokenizer).render(Messages(messages))


@pytest.mark.parametrize("template", [CHATML, GENERATION, MEANS_NONE, LISTS_NONE])
def test_a_healthy_template_is_left_alone(llama: Any, template: str) -> None:
    found = rules(llama, template)
    assert found == ChatRules(closing="<|im_end|>")
    turns = found.arrange([SYSTEM, USER, AGAIN, ANSWER])
    assert [(t["role"], t["content"]) for t in turns] == [
        ("system", "Be brief."), ("user", "Hi"), ("user", "Well?"), ("assistant", "Hello"),
    ]  # fmt: skip
    expected = llama.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert text(llama, template, SYSTEM, USER, AGAIN, ANSWER) == expected


def test_what_the_sandbox_offers_is_what_the_library_offers(llama: Any) -> None:
    template = (
        "{{ messages | tojson }}{{ {'é': '<'} | tojson(indent=1) }}{{ strftime_now('%Y') }}"
        "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}"
        "{{ m.role }}{% endfor %}"
    )
    llama.chat_template = template
    turns = [{"role": "user", "content": 'a "quote" & é'}, {"role": "user", "content": "b"}]
    expected = llama.apply_chat_template(turns, tokenize=False)
    assert renderer(template, llama.special_tokens_map)(turns, False) == expected
    with pytest.raises(jinja2.TemplateError, match="not today"):
        renderer(FAILS, {})(turns, False)


@pytest.mark.parametrize("template", [GEMMA, SILENT])
def test_a_system_prompt_without_a_place_goes_before_the_users_words(
    llama: Any, template: str
) -> None:
    found = rules(llama, template)
    assert not found.system and found.notices == ()
    folded = text(llama, template, SYSTEM, USER, ANSWER, AGAIN)
    assert folded == text(llama, template, Message("user", "Be brief.\n\nHi"), ANSWER, AGAIN)
    # Later ones go to the turn that follows; one without a turn becomes one.
    late = found.arrange([USER, ANSWER, SYSTEM, AGAIN])
    assert [t["content"] for t in late] == ["Hi", "Hello", "Be brief.\n\nWell?"]
    assert found.arrange([Message("system", ""), USER]) == found.arrange([USER])
    (last,) = found.arrange([SYSTEM])
    assert last == {"role": "user", "content": "Be brief."}


@pytest.mark.parametrize("template", [GEMMA, LLAMA2, DROPS])
def test_neighbours_of_one_role_are_joined_where_roles_must_alternate(
    llama: Any, template: str
) -> None:
    found = rules(llama, template)
    assert found.alternates and found.notices == ()
    joined = text(llama, template, USER, AGAIN, ANSWER, ANSWER, USER)
    both = (Message("user", "Hi\n\nWell?"), Message("assistant", "Hello\n\nHello"), USER)
    assert joined == text(llama, template, *both)
    assert rules(llama, CHATML).alternates is False


def test_a_template_of_llama_2_needs_nothing_else(llama: Any) -> None:
    found = rules(llama, LLAMA2)
    assert found == ChatRules(alternates=True, closing="</s>")
    assert text(llama, LLAMA2, SYSTEM, USER).startswith("<s>[INST] <<SYS>>\nBe brief.")


def test_the_word_none_for_a_missing_system_message(llama: Any) -> None:
    found = rules(llama, PRINTS_NONE)
    assert found.opens
    assert [n.code for n in found.notices] == ["template-prints-none"]
    assert "an empty one" in found.notices[0].text
    assert text(llama, PRINTS_NONE, USER) == "<<SYS>><</SYS>>\n[user] Hi\n[assistant] "
    assert "<<SYS>>Be brief.<</SYS>>" in text(llama, PRINTS_NONE, SYSTEM, USER)


def test_the_word_none_in_each_prompt_is_only_told(llama: Any) -> None:
    found = rules(llama, ALWAYS_NONE)
    assert not found.opens
    assert [(n.code, "each prompt" in n.text) for n in found.notices] == [
        ("template-prints-none", True)
    ]
    # Nothing of ours: the library's own words.
    turns = [{"role": "user", "content": "Hi"}]
    expected = llama.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert text(llama, ALWAYS_NONE, USER) == expected


def test_a_template_that_insists_on_a_system_message_gets_an_empty_one(llama: Any) -> None:
    found = rules(llama, NEEDS_SYSTEM)
    assert found.opens and not found.error and found.notices == ()
    assert "<|im_start|>system\n<|im_end|>" in text(llama, NEEDS_SYSTEM, USER)


def test_bos_that_is_written_twice_is_read_once(llama: Any) -> None:
    assert [n.code for n in rules(llama, TWICE).notices] == ["bos-twice"]
    read = reader_of(llama).read(Messages((USER,)))
    llama.chat_template = CHATML
    once = reader_of(llama).read(Messages((USER,)))
    assert read.ids == once.ids and read.ids.count(llama.bos_token_id) == 1
    llama.chat_template = TWICE
    scores = ScoreReader(reader_of(llama), 512, encoder=False)
    row = scores.read(ScoreRequest("1", Messages((USER,)), "fine"))
    assert row.ids == tuple(once.ids[: len(row.ids)])


def test_what_opens_the_assistants_turn_is_put_where_the_template_forgets_it(llama: Any) -> None:
    found = rules(llama, NO_PROMPT)
    assert found.header == "<|im_start|>assistant\n"
    assert [n.code for n in found.notices] == ["generation-prompt-missing"]
    assert text(llama, NO_PROMPT, SYSTEM, USER) == text(llama, CHATML, SYSTEM, USER)


def test_content_in_parts_where_the_template_reads_nothing_else(llama: Any) -> None:
    found = rules(llama, PARTS)
    assert found.parts and found.closing == "<|im_end|>"
    assert text(llama, PARTS, SYSTEM, USER) == text(llama, CHATML, SYSTEM, USER)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (FAILS, "not today"),
        (BROKEN, "endfor"),
        ("no words of yours", "leaves the user's words out"),
    ],
)
def test_a_template_that_renders_no_users_turn(llama: Any, template: str, says: str) -> None:
    llama.chat_template = template
    for found in (rules_of(llama), tried_out(template, {})):
        assert says in found.error and found.silent == found.error
        assert [n.code for n in found.notices] == ["chat-template-fails"]


def test_a_template_that_renders_one_turn_alone(llama: Any) -> None:
    found = rules(llama, ONE_TURN)
    assert not found.error and found.silent is not None and "one" in found.silent
    assert [n.code for n in found.notices] == ["chat-template-fails"]
    assert text(llama, ONE_TURN, SYSTEM, USER, AGAIN) == "Be brief.\n\nHi\n\nWell?"


def test_without_a_template_nothing_is_asked(llama: Any) -> None:
    llama.chat_template = None
    assert rules_of(llama) == tried_out("", {}) == ChatRules()
    assert reader_of(llama).read(Text("Hi")).ids
