"""lm-eval asks `bakeoff serve` and hears what its own `hf` backend computes."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import part
from tests.zoo import expected, zoo_inputs, zoo_path

pytestmark = [pytest.mark.torch, pytest.mark.timeout(600)]
CLOSE = 1e-3
WINDOW = 512
COMBINATIONS = list(itertools.product([True, False], [1, 8], [1, 16]))
"""Token or string prompts, prompts a request, requests at a time."""
LIKELIHOODS = ["choosing", "rolling"]
KNOWN = {
    # the tokenizer of `qwen2` puts nothing before a text, that of `llama` a token
    "qwen2": {"tokens": COMBINATIONS, "bos": {}},
    "llama": {"tokens": [COMBINATIONS[0], COMBINATIONS[-1]], "bos": {"add_bos_token": True}},
}


def _choosing() -> list[dict[str, Any]]:
    """Sources with the right answer's beginning among wrong ones; at first a single token each."""
    rows = []
    for at, text in enumerate(zoo_inputs("qwen2", 4)):
        right = expected("qwen2", text).split()[: 1 + 2 * at]
        wrong = [" ".join(["7", *right[1:]]), " ".join([*right[:-1], "9"])]
        choices = [*wrong[: at % 3], " ".join(right), *wrong[at % 3 :]]
        rows.append({"text": text, "choices": choices, "label": at % 3})
    return rows


def _rolling() -> list[dict[str, Any]]:
    texts = zoo_inputs("qwen2", 12, seed=4)
    return [{"text": texts[0]}, {"text": " ".join(texts[1:])}]  # the second fills two windows


def _chatting() -> list[dict[str, Any]]:
    return [{"text": text, "answer": expected("llama", text)} for text in zoo_inputs("llama", 4)]


TASKS = {
    "choosing": (
        _choosing,
        {
            "output_type": "multiple_choice",
            "doc_to_text": "{{text}}",
            "doc_to_choice": "choices",
            "doc_to_target": "label",
            # the second asks for each choice behind nothing at all as well
            "metric_list": [{"metric": "acc"}, {"metric": "acc_mutual_info"}],
        },
    ),
    "rolling": (
        _rolling,
        {
            "output_type": "loglikelihood_rolling",
            "doc_to_text": "",
            "doc_to_target": "{{text}}",
            "metric_list": [{"metric": "word_perplexity"}],
        },
    ),
    "chatting": (
        _chatting,
        {
            "output_type": "generate_until",
            "doc_to_text": "{{text}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {
                "until": ["\n\n", "### ", "4 ", "Question:", "Q:", "</end>"],
                "max_gen_toks": 60,
                "temperature": 0,
            },
            "metric_list": [{"metric": "exact_match"}],
        },
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The tasks, as files that need no network."""
    part("lm_eval")
    found = tmp_path_factory.mktemp("lm-eval")
    for name, (rows, task) in TASKS.items():
        data = found / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
        said = {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            **task,
        }
        (found / f"{name}.yaml").write_text(json.dumps(said), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server in a process of its own."""
    paths = [str(zoo_path(name)) for name in ("qwen2", "llama")]
    options = ["--port", "0", "--threads", "1", "--no-check"]
    command = [sys.executable, "-m", "bakeoff", "serve", *paths, *options]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        told = iter(running.stderr)
        yield next(found[1] for line in told if (found := re.search(r"at (http://\S+);", line)))
    finally:
        running.terminate()
        running.communicate(timeout=60)


@pytest.fixture(scope="module")
def made(folder, address) -> dict[str, Any]:
    """Everything that lm-eval finds, in one process: it takes long to start."""
    entries = dict(_likelihoods(address))
    entries["chat hf"] = _entry("hf", "llama", ["chatting"], chat=True, **_HF)
    entries["chat"] = _entry(
        "local-chat-completions", "llama", ["chatting"], chat=True,
        base_url=f"{address}/v1/chat/completions", num_concurrent=2, max_retries=1,
    )  # fmt: skip
    asked = {"folder": str(folder), "entries": list(entries.values())}
    environment = {**os.environ, "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.serving.lmeval"], input=json.dumps(asked), text=True,
        capture_output=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    return dict(zip(entries, found, strict=True))


_HF = {"device": "cpu", "dtype": "float32"}


def _entry(model: str, name: str, tasks: list[str], batch: int = 1, **more: Any) -> dict[str, Any]:
    chat = more.pop("chat", False)
    named = {"pretrained": str(zoo_path(name))} if model == "hf" else {"model": name}
    return {
        "model": model,
        "model_args": {**named, **more},
        "tasks": tasks,
        "batch_size": batch,
        "chat": chat,
    }


def _likelihoods(address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, known in KNOWN.items():
        bos = known["bos"]
        # lm-eval gives its `hf` backend two tokens more of a window than one that asks a server
        yield f"{name} hf", _entry("hf", name, LIKELIHOODS, max_length=WINDOW - 2, **_HF, **bos)
        for tokens, batch, concurrent in known["tokens"]:
            yield (
                _label(name, tokens, batch, concurrent),
                _entry(
                    "local-completions",
                    name,
                    LIKELIHOODS,
                    batch,
                    base_url=f"{address}/v1/completions",
                    tokenizer=str(zoo_path(name)),
                    tokenizer_backend="huggingface",
                    tokenized_requests=tokens,
                    num_concurrent=concurrent,
                    max_length=WINDOW,
                    max_retries=1,
                    **bos,
                ),
            )


def _label(name: str, tokens: bool, batch: int, concurrent: int) -> str:
    return f"{name}, {'tokens' if tokens else 'text'}, {batch} a request, {concurrent} at a time"


@pytest.mark.parametrize(
    ("name", "label"),
    [(name, _label(name, *how)) for name, known in KNOWN.items() for how in known["tokens"]],
)
def test_log_likelihoods_and_accuracy_are_those_of_the_hf_backend(made, name, label):
    found, wanted = made[label], made[f"{name} hf"]
    for task in LIKELIHOODS:
        numbers, right = _numbers(found["samples"][task]), _numbers(wanted["samples"][task])
        assert len(numbers) == len(right) > 0
        assert numbers == pytest.approx(right, abs=CLOSE)
    for metric in ("acc,none", "acc_mutual_info,none"):
        assert found["results"]["choosing"][metric] == wanted["results"]["choosing"][metric]
    assert _greedy(found) == _greedy(wanted)


def test_the_rows_are_not_all_alike(made):
    """What is compared differs from row to row, and a window is passed."""
    wanted = made["qwen2 hf"]
    assert 0 < wanted["results"]["choosing"]["acc,none"] <= 1
    assert any(_greedy(wanted)) and not all(_greedy(wanted))
    assert len(set(_numbers(wanted["samples"]["choosing"]))) > 10


def test_chats_say_what_the_hf_backend_generates(made):
    found, wanted = made["chat"], made["chat hf"]
    assert found["samples"]["chatting"] == wanted["samples"]["chatting"]
    assert all(text for rows in found["samples"]["chatting"].values() for (text,) in rows)
    score = "exact_match,none"
    assert found["results"]["chatting"][score] == wanted["results"]["chatting"][score]


def _numbers(samples: dict[str, Any]) -> list[float]:
    """All log-likelihoods, row by row."""
    return [float(number) for at in sorted(samples) for (said,) in samples[at]
            for number in (said[:1] if isinstance(said, list) else [said])]  # fmt: skip


def _greedy(made: dict[str, Any]) -> list[bool]:
    """Whether each choice is what greedy decoding would have written."""
    rows = made["samples"]["choosing"]
    return [said[1] for at in sorted(rows) for (said,) in rows[at]]
