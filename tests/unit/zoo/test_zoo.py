"""The zoo's folders are what zoo.json records, small, complete, and solve their tasks."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.zoo import (
    ENCODERS,
    GENERATING,
    NAMES,
    PREFIXES,
    ROOT,
    SYSTEMS,
    chat,
    expected,
    zoo_inputs,
    zoo_path,
)

MODEL_CEILING = 2_500_000
ZOO_CEILING = 16_000_000
# Marian's tokenizer advises a library that changes punctuation; the zoo is trained without it.
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
ZOO: dict[str, Any] = json.loads((ROOT / "zoo.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing here reach for the network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def _load(name: str) -> tuple[Any, Any]:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    seq2seq = name not in ("llama", "qwen2")
    auto = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    model = auto.from_pretrained(zoo_path(name), dtype="float32").eval()
    return model, transformers.AutoTokenizer.from_pretrained(zoo_path(name))


def _prompts(name: str, tokenizer: Any, texts: list[str], system: str = "") -> Any:
    """Encode prompts as one batch, padded on the side that generation needs."""
    if name == "llama":
        texts = [
            tokenizer.apply_chat_template(
                chat(text, system), tokenize=False, add_generation_prompt=True
            )
            for text in texts
        ]
    side = "left" if name in ("llama", "qwen2") else "right"
    return tokenizer(
        texts,
        add_special_tokens=name != "llama",
        padding=True,
        padding_side=side,
        return_tensors="pt",
    )


def _generate(model: Any, tokenizer: Any, inputs: Any) -> tuple[list[str], list[list[int]]]:
    """Return the greedy texts, and the new tokens of each up to its end."""
    out = model.generate(**inputs, max_new_tokens=128, do_sample=False, num_beams=1)
    skip = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    rows = [[i for i in row if i != tokenizer.pad_token_id] for row in out[:, skip:].tolist()]
    texts = tokenizer.batch_decode(out[:, skip:], skip_special_tokens=True)
    return [text.strip() for text in texts], rows


def test_zoo_json_names_every_model() -> None:
    assert set(ZOO) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_files_are_those_recorded(name: str) -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in zoo_path(name).iterdir()
    }
    assert found == ZOO[name]["files"]


@pytest.mark.parametrize("name", NAMES)
def test_model_stays_under_its_ceiling(name: str) -> None:
    assert sum(path.stat().st_size for path in zoo_path(name).iterdir()) <= MODEL_CEILING


def test_zoo_stays_under_its_ceiling() -> None:
    sizes = [path.stat().st_size for path in ROOT.rglob("*") if path.is_file()]
    assert sum(sizes) <= ZOO_CEILING


@pytest.mark.parametrize("name", NAMES)
def test_recorded_accuracy_is_high(name: str) -> None:
    assert ZOO[name]["accuracy"] >= (0.99 if name == "dates-t5" else 0.95)


def test_importing_the_zoo_loads_no_heavy_library() -> None:
    code = "import sys, tests.zoo; print({'torch', 'transformers', 'numpy'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_unknown_name_is_refused_with_the_names() -> None:
    with pytest.raises(KeyError, match="dates-t5"):
        zoo_path("gpt")


@pytest.mark.torch
@pytest.mark.parametrize("name", GENERATING)
def test_model_solves_held_out_inputs(name: str) -> None:
    model, tokenizer = _load(name)
    texts = zoo_inputs(name, 20, seed=7)
    said, rows = _generate(model, tokenizer, _prompts(name, tokenizer, texts))
    assert sum(a == expected(name, b) for a, b in zip(said, texts, strict=True)) >= 19
    if name != "dates-t5":
        assert all(32 <= len(row) <= 100 for row in rows)
        assert all(len(set(row)) >= 20 for row in rows)


@pytest.mark.parametrize("name", [name for name in GENERATING if name != "dates-t5"])
def test_input_lengths_differ_tenfold(name: str) -> None:
    lengths = sorted(len(text.split()) for text in zoo_inputs(name, 300))
    assert lengths[-1] >= 7 * lengths[0]


@pytest.mark.torch
def test_system_prompts_of_llama_choose_the_language() -> None:
    model, tokenizer = _load("llama")
    text = zoo_inputs("llama", 1, seed=3)[0]
    for system in SYSTEMS:
        said, _ = _generate(model, tokenizer, _prompts("llama", tokenizer, [text], system))
        assert said == [expected("llama", text, system)]


@pytest.mark.torch
def test_end_markers_of_llama_are_a_set_beyond_the_tokenizers() -> None:
    model, tokenizer = _load("llama")
    ends = model.generation_config.eos_token_id
    assert tokenizer.convert_ids_to_tokens(ends) == ["<|im_end|>", "</s>"]
    assert tokenizer.eos_token == "</s>"


def test_prefixes_of_t5_stand_in_its_configuration() -> None:
    config = json.loads((zoo_path("t5") / "config.json").read_text(encoding="utf-8"))
    found = {task["prefix"] for task in config["task_specific_params"].values()}
    assert found == set(PREFIXES)


@pytest.mark.torch
@pytest.mark.parametrize("name", GENERATING)
def test_any_text_is_tokenised_and_comes_back(name: str) -> None:
    _, tokenizer = _load(name)
    text = "a京都 🎁 Αθήνα xyz? ñ"
    ids = tokenizer(text).input_ids
    assert tokenizer.unk_token_id is None or tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids, skip_special_tokens=True).strip() == text


@pytest.mark.torch
@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_loads_with_named_labels(name: str) -> None:
    import transformers

    config = transformers.AutoConfig.from_pretrained(zoo_path(name))
    labels = {"classifier": {"negative", "neutral", "positive"}}
    labels["nli"] = {"contradiction", "neutral", "entailment"}
    if name in labels:
        assert set(config.id2label.values()) == labels[name]
    assert transformers.AutoTokenizer.from_pretrained(zoo_path(name)).is_fast


@pytest.mark.torch
@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_solves_held_out_inputs(name: str) -> None:
    import transformers

    from tests.zoo.recipes import RECIPES
    from tests.zoo.training import held_out

    answers = transformers.AutoModelForQuestionAnswering
    labels = transformers.AutoModelForSequenceClassification
    model = (answers if name == "qa" else labels).from_pretrained(zoo_path(name)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(zoo_path(name))
    recipe = RECIPES[name]
    assert recipe.grade(model, tokenizer, held_out(recipe, 100)) >= 0.95
