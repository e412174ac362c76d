"""Checks on configuration, tokenizer and headers, each shown a case that it is for."""

from __future__ import annotations

import shutil

import pytest
from safetensors.torch import load_file, save_file

from bakeoff.core.modelref import ModelRef
from bakeoff.engines.doctor.examine import diagnose
from tests.unit.engines.doctor.patients import (
    FILES,
    copied,
    edited,
    examined,
    faults,
    found,
    templated,
)
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch

TURNS = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] "
    "+ '<|im_end|>\\n' }}{% endfor %}"
)
OPENS = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
INST = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}"
    "{% else %}{{ ' ' + m['content'] + eos_token }}{% endif %}{% endfor %}"
)


@pytest.fixture
def llama(tmp_path):
    return copied("llama", tmp_path)


def rope(path, **changes):
    """The checkpoint with its rotary settings written as older files do."""
    return edited(path, rope_parameters=..., **changes)


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"rope_theta": 5e5}, None, "base 500,000"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 1e4}, None,
         "scaled (linear)"),
        ({}, "rope-base-missing", "always writes"),
        ({"transformers_version": "4.31.0"}, None, "the default, as models had it then"),
        ({"transformers_version": "4.31.0", "max_position_embeddings": 16_384},
         "rope-base-missing", "a window of that length needs"),
        ({"rope_theta": 1e4, "max_position_embeddings": 32_768}, "rope-base-doubtful", "larger"),
    ],
)  # fmt: skip
def test_the_base_of_rotary_positions(llama, changes, code, said):
    diagnosis = examined(rope(llama, **changes))
    assert faults(diagnosis) == ({code} if code else set())
    one = found(diagnosis, code or "rope")
    assert said in one.value
    assert one.level == {"rope-base-missing": "problem", None: "ok"}.get(code, "warning")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"transformers_version": "4.31.0"}, "rope-base-missing"),
        ({"rope_theta": 1e4}, "rope-base-doubtful"),
        ({"rope_theta": 1e6}, "rope"),
    ],
)
def test_code_llama_is_known_by_its_vocabulary(llama, changes, code):
    diagnosis = examined(rope(llama, vocab_size=32_016, **changes))
    assert found(diagnosis, code).what == "rotary positions"


def test_settings_given_twice_are_told(llama):
    diagnosis = examined(edited(llama, rope_theta=5e5))
    assert faults(diagnosis) == {"rope-settings-contradict"}


def test_models_without_rotary_positions_say_so(tmp_path):
    assert "none" in found(examined(copied("bart", tmp_path)), "rope").value


def test_a_template_that_needs_no_generation_prompt_is_right(llama):
    diagnosis = examined(templated(llama, INST))
    assert faults(diagnosis) == set()
    assert "follows the user's turn at once" in found(diagnosis, "generation-prompt").value
    assert found(diagnosis, "alternation").data == {"demanded": True}
    role = found(diagnosis, "system-role")
    assert (role.level, role.data) == ("ok", {"supported": False})
    assert "refuses it" in role.value


def test_a_system_message_that_is_lost_is_told(llama):
    template = TURNS.replace("in messages", "in messages if m['role'] != 'system'") + OPENS
    assert faults(examined(templated(llama, template))) == {"system-role-dropped"}


def test_a_template_that_renders_nothing_is_told(llama):
    diagnosis = examined(templated(llama, "{{ raise_exception('not today') }}"))
    assert faults(diagnosis) == {"chat-template-fails"}
    one = found(diagnosis, "chat-template-fails")
    assert (one.level, "not today" in one.value) == ("problem", True)


def test_begin_of_sequence_is_explained(llama, tmp_path):
    assert "never doubled" in found(examined(llama), "bos").value
    without = found(examined(templated(llama, TURNS + OPENS)), "bos")
    assert without.data == {"id": 0, "by_tokenizer": True, "by_template": 0}
    assert found(examined(copied("t5", tmp_path)), "bos").value == "none"


def test_ends_and_who_names_them(llama):
    said = found(examined(llama), "end-of-sequence")
    assert sorted(map(sorted, said.data["ids"].values())) == [
        ["chat template", "generation_config"],
        ["config", "generation_config", "tokenizer"],
    ]


def test_a_model_without_an_end_is_told(llama):
    for file in ("config.json", "generation_config.json"):
        edited(llama, file, eos_token_id=None)
    edited(llama, "tokenizer_config.json", eos_token=...)
    (llama / "chat_template.jinja").unlink()
    assert faults(examined(llama)) == {"no-end"}


def test_padding_that_is_the_end_but_never_in_a_prompt_is_fine(tmp_path):
    diagnosis = examined(copied("qwen2", tmp_path))
    assert "never inside a prompt" in found(diagnosis, "padding").value


def test_only_padding_beyond_the_embeddings_is_a_warning(llama):
    edited(llama, "tokenizer_config.json", pad_token="<beyond>")
    one = found(examined(llama), "tokenizer-beyond-embeddings")
    assert (one.level, one.data["embeddings"]) == ("warning", one.data["largest_id"])


def test_a_head_under_another_prefix_is_found(llama):
    weights = load_file(llama / "model.safetensors")
    renamed = {f"base.{name}": weight for name, weight in weights.items()}
    save_file(renamed, llama / "model.safetensors", metadata={"format": "pt"})
    assert found(examined(llama), "head").value == "lm_head.weight, not tied"


def test_weights_of_another_format_leave_the_headers_out(llama):
    shutil.move(llama / "model.safetensors", llama / "pytorch_model.bin")
    diagnosis = examined(llama)
    assert "head" not in diagnosis.codes("ok")
    assert found(diagnosis, "precision").data == {"files": {}, "loaded": "float32"}


@pytest.mark.parametrize(
    ("start", "code", "level"),
    [
        (0, "decoder-start", "ok"),
        (1, "decoder-start-wrong", "warning"),
        (10**6, "decoder-start-wrong", "problem"),
        (..., "decoder-start-missing", "problem"),
    ],
)
def test_the_start_of_a_decoder(tmp_path, start, code, level):
    path = copied("t5", tmp_path)
    for file in ("config.json", "generation_config.json"):
        edited(path, file, decoder_start_token_id=start)
    assert found(examined(path), code).level == level


def test_a_check_that_breaks_is_a_finding(llama, monkeypatch):
    monkeypatch.setattr("bakeoff.engines.doctor.checks.bos.WHAT", 1)
    monkeypatch.setattr("bakeoff.engines.doctor.checks.bos._who", lambda *a: 1 / 0)
    one = found(examined(llama), "check-failed")
    assert (one.what, one.value) == ("check bos", "ZeroDivisionError: division by zero")


def test_an_end_that_the_model_does_not_have_is_named(tmp_path):
    path = edited(copied("gpt2", tmp_path), "generation_config.json", eos_token_id=[0, 99999])
    said = examined(path)
    assert faults(said) == {"end-beyond-vocabulary"}
    assert "99999 (generation_config)" in found(said, "end-beyond-vocabulary").value


def test_a_begin_that_the_model_does_not_have_is_named(tmp_path):
    path = copied("gpt2", tmp_path)
    for file in ("config.json", "generation_config.json"):
        edited(path, file, bos_token_id=99999)
    said = examined(path)
    assert faults(said) == {"bos-beyond-vocabulary"}
    assert "99999" in found(said, "bos-beyond-vocabulary").value


def test_options_that_no_engine_takes_are_a_problem_though_they_were_chosen():
    ref = ModelRef.parse(str(zoo_path("t5")), compute_type="int8", torch_dtype="bfloat16")
    said = diagnose(ref, FILES)
    assert (faults(said), said.status) == ({"no-engine"}, "problem")
