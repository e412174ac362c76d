"""Encoders: values equal plain transformers to 1e-5, in any company; failures cost one row."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Failure, Labelled, Prediction, Span, Vector
from bakeoff.core.requests import AnswerSpan, Classify, Embed, PredictRequest, ZeroShot
from bakeoff.engines import describe
from bakeoff.engines.batch.careful import Careful
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import memory
from bakeoff.engines.transformers.encoder import predict_batch, unsupported
from bakeoff.engines.transformers.loading import Loaded, load_model
from tests.unit.engines.loading.checkpoints import save_encoder
from tests.zoo import data_nli, data_qa, data_reviews, zoo_path

pytestmark = pytest.mark.torch
CLOSE = {"abs": 1e-5, "rel": 0}
TEXTS = ["good", "the food was bad", "a very long stay " * 6, "fine, I think; fine!"]


def open_encoder(folder: Path, **options: Any) -> Loaded:
    return load_model(describe(ModelRef.parse(str(folder), **options)), EngineOptions(threads=2))


def careful(loaded: Loaded) -> Careful:
    return memory.careful(loaded, EngineOptions())


def ask(loaded: Loaded, *asks: Any, truncate: Any = "refuse") -> list[Prediction | Failure]:
    requests = [PredictRequest(str(i), a, truncate) for i, a in enumerate(asks)]
    found = predict_batch(loaded, careful(loaded), requests)
    assert [f.id for f in found] == [r.id for r in requests]
    return found


def values(loaded: Loaded, *asks: Any, truncate: Any = "refuse") -> list[Any]:
    found = ask(loaded, *asks, truncate=truncate)
    assert all(isinstance(f, Prediction) for f in found), found
    return [f.value for f in found if isinstance(f, Prediction)]


@torch.no_grad()
def plain(loaded: Loaded, *texts: str) -> Any:
    """The model's output for one input alone, as plain transformers computes it."""
    return loaded.model(**loaded.tokenizer(*texts, return_tensors="pt"))


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp("qa")
    return open_encoder(save_encoder(folder, "BertForQuestionAnswering"))


@pytest.fixture(scope="module")
def classifier() -> Loaded:
    return open_encoder(zoo_path("classifier"))


@pytest.fixture(scope="module")
def inference() -> Loaded:
    return open_encoder(zoo_path("nli"))


# -- extractive answers


def pipeline_answer(loaded: Loaded, asked: AnswerSpan, length: int, stride: int) -> Span:
    """The definition of transformers 4's pipeline, by hand, one window at a time."""
    tokenizer = loaded.tokenizer
    windows = tokenizer(
        asked.question, asked.context, truncation="only_second", max_length=length, stride=stride,
        return_overflowing_tokens=True, return_offsets_mapping=True, padding="max_length",
        return_tensors="pt",
    )  # fmt: skip
    best, null = (0.0, 0, 0), 1000000.0
    for i, ids in enumerate(windows["input_ids"]):
        inputs = {n: windows[n][i : i + 1] for n in tokenizer.model_input_names}
        with torch.no_grad():
            out = loaded.model(**inputs)
        keep = [s == 1 or t == tokenizer.cls_token_id
                for s, t in zip(windows.sequence_ids(i), ids.tolist(), strict=True)]  # fmt: skip
        drop = ~torch.tensor(keep)
        start = out.start_logits[0].masked_fill(drop, -10000.0).softmax(-1)
        end = out.end_logits[0].masked_fill(drop, -10000.0).softmax(-1)
        null = min(null, float(start[0] * end[0]))
        for s in range(1, length):
            for e in range(s, min(s + 15, length)):
                score = float(start[s] * end[e])
                if keep[s] and keep[e] and score > best[0]:
                    first, last = windows.token_to_word(i, s), windows.token_to_word(i, e)
                    low = windows.word_to_chars(i, first, 1).start
                    high = windows.word_to_chars(i, last, 1).end
                    best = (score, low, high)
    if asked.allow_no_answer and null > best[0]:
        return Span("", 0, 0, null, null)
    text = asked.context[best[1] : best[2]]
    return Span(text, best[1], best[2], best[0], null if asked.allow_no_answer else None)


QUESTIONS = [
    ("who?", "good food and a very bad bed"),
    ("what was bad", "Über 20 rooms, “nice” 日本語 food; unbelievable service!"),
    ("where is it", " ".join(f"room {n} was good, the {n} bed bad." for n in range(60))),
    ("why " * 30, "the staff was slow " * 40),
]


@pytest.mark.parametrize("no_answer", [True, False])
def test_answers_equal_the_pipeline_of_transformers_4(answering: Loaded, no_answer: bool) -> None:
    asks = [AnswerSpan(q, c, no_answer) for q, c in QUESTIONS]
    for found, asked in zip(values(answering, *asks), asks, strict=True):
        room = 128 - len(answering.tokenizer(asked.question, "")["input_ids"])
        wanted = pipeline_answer(answering, asked, 128, min(64, room // 2))
        assert (found.text, found.start, found.end) == (wanted.text, wanted.start, wanted.end)
        assert found.score == pytest.approx(wanted.score, **CLOSE)
        assert found.no_answer == (
            None if wanted.no_answer is None else pytest.approx(wanted.no_answer, **CLOSE)
        )
        assert asked.context[found.start : found.end] == found.text


def test_long_contexts_are_read_to_their_end(answering: Loaded) -> None:
    (found,) = ask(answering, AnswerSpan(*QUESTIONS[2]))
    assert isinstance(found, Prediction)
    whole = len(answering.tokenizer(*QUESTIONS[2])["input_ids"])
    assert found.usage.prompt > whole > 128 and found.usage.cut == 0


def test_zoo_answers_real_questions() -> None:
    loaded = open_encoder(zoo_path("qa"))
    rows = data_qa.rows(40, 5)
    found = values(loaded, *[AnswerSpan(r.question, r.context) for r in rows])
    right = [f.text == r.answer and (r.start is None or f.start == r.start)
             for f, r in zip(found, rows, strict=True)]  # fmt: skip
    assert sum(right) >= 32
    filler = "It rained on the way and nobody came by. " * 20
    long = next(r for r in rows if r.start is not None)
    (span,) = values(loaded, AnswerSpan(long.question, filler + long.context, False))
    assert span.text == long.answer


@pytest.mark.parametrize(
    ("question", "context", "code"),
    [(" ", "text", "bad_row"), ("who?", "\n", "bad_row"), ("who " * 130, "x", "prompt_too_long")],
)
def test_unusable_questions_cost_only_themselves(
    answering: Loaded, question: str, context: str, code: str
) -> None:
    bad, good = ask(answering, AnswerSpan(question, context), AnswerSpan(*QUESTIONS[0]))
    assert isinstance(bad, Failure) and bad.code == code
    assert isinstance(good, Prediction)


# -- labels


def test_zoo_classifies_reviews(classifier: Loaded) -> None:
    rows = data_reviews.rows(40, 3)
    found = values(classifier, *[Classify(text) for text, _ in rows])
    assert sum(f.label == label for f, (_, label) in zip(found, rows, strict=True)) >= 36


def test_probabilities_are_the_softmax_in_the_models_order(classifier: Loaded) -> None:
    for found, text in zip(values(classifier, *map(Classify, TEXTS)), TEXTS, strict=True):
        wanted = plain(classifier, text).logits[0].softmax(-1).tolist()
        assert [name for name, _ in found.probabilities] == ["negative", "neutral", "positive"]
        assert [share for _, share in found.probabilities] == pytest.approx(wanted, **CLOSE)
        assert found.label == max(found.probabilities, key=lambda pair: pair[1])[0]


def test_pairs(inference: Loaded) -> None:
    rows = data_nli.rows(6, 1)
    found = values(inference, *[Classify(a, b) for a, b, _ in rows])
    for value, (a, b, _) in zip(found, rows, strict=True):
        wanted = plain(inference, a, b).logits[0].softmax(-1).tolist()
        assert [share for _, share in value.probabilities] == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize(
    "config", [{"problem_type": "multi_label_classification", "num_labels": 3}, {"num_labels": 1}]
)
def test_labels_that_do_not_exclude_each_other_get_a_sigmoid(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    loaded = open_encoder(save_encoder(tmp_path, "BertForSequenceClassification", **config))
    (found,) = values(loaded, Classify(TEXTS[1]))
    wanted = plain(loaded, TEXTS[1]).logits[0].sigmoid().tolist()
    assert [share for _, share in found.probabilities] == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize("multi", [False, True])
def test_zero_shot_equals_the_pipeline(inference: Loaded, multi: bool) -> None:
    text, labels = data_nli.topic_rows(1, 2)[0][0], tuple(data_nli.TOPICS)[:4]
    (found,) = values(inference, ZeroShot(text, labels, "This is about {}.", multi))
    logits = torch.cat([plain(inference, text, f"This is about {n}.").logits for n in labels])
    wanted = logits[:, [0, 2]].softmax(-1)[:, 1] if multi else logits[:, 2].softmax(-1)
    assert found.probabilities == tuple(
        (name, pytest.approx(share, **CLOSE))
        for name, share in zip(labels, wanted.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    "asked",
    [ZeroShot("text", ()), ZeroShot("text", ("a",), "no place"), ZeroShot(" ", ("a",))],
)
def test_zero_shot_that_cannot_be_asked(inference: Loaded, asked: ZeroShot) -> None:
    (found,) = ask(inference, asked)
    assert isinstance(found, Failure) and found.code in ("invalid_request", "bad_row")


# -- vectors


Pool = Callable[[torch.Tensor], torch.Tensor]
POOLS: list[tuple[str, Pool]] = [
    ("mean_tokens", lambda states: states.mean(0)),
    ("cls_token", lambda states: states[0]),
    ("lasttoken", lambda states: states[-1]),
]


def sentence_transformer(folder: Path, mode: str, normalise: bool) -> Path:
    names = ["Transformer", "Pooling", *(["Normalize"] if normalise else [])]
    modules = [{"path": "1_Pooling" if n == "Pooling" else "", "type": f"a.{n}"} for n in names]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    config = {f"pooling_mode_{mode}": True, "pooling_mode_max_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize(("mode", "pool"), POOLS)
def test_pooling_of_sentence_transformers(
    tmp_path: Path, mode: str, pool: Pool, normalise: bool
) -> None:
    folder = sentence_transformer(save_encoder(tmp_path, "BertModel"), mode, normalise)
    loaded = open_encoder(folder)
    for found, text in zip(values(loaded, *map(Embed, TEXTS)), TEXTS, strict=True):
        wanted = pool(plain(loaded, text).last_hidden_state[0])
        wanted = wanted / wanted.norm() if normalise else wanted
        assert found.values == pytest.approx(wanted.tolist(), **CLOSE)


def test_plain_encoders_give_the_mean_at_length_one(tmp_path: Path) -> None:
    loaded = open_encoder(save_encoder(tmp_path, "BertForMaskedLM"))
    for found, text in zip(values(loaded, *map(Embed, TEXTS)), TEXTS, strict=True):
        wanted = plain(loaded, text).last_hidden_state[0].mean(0)
        assert found.values == pytest.approx((wanted / wanted.norm()).tolist(), **CLOSE)
        assert np.linalg.norm(found.values) == pytest.approx(1.0)


def test_default_prompt_stands_before_every_text(tmp_path: Path) -> None:
    folder = sentence_transformer(save_encoder(tmp_path, "BertModel"), "mean_tokens", True)
    prompts = {"prompts": {"query": "good food: "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    loaded = open_encoder(folder)
    (found,) = values(loaded, Embed("bad"))
    wanted = plain(loaded, "good food: bad").last_hidden_state[0].mean(0)
    assert found.values == pytest.approx((wanted / wanted.norm()).tolist(), **CLOSE)


# -- what is common


def test_texts_that_are_too_long_are_refused_or_cut_and_counted(classifier: Loaded) -> None:
    long = "good food " * 300
    tokens = len(classifier.tokenizer(long)["input_ids"])
    (refused,) = ask(classifier, Classify(long))
    assert isinstance(refused, Failure) and refused.code == "prompt_too_long"
    assert f"{tokens} tokens" in refused.message and "256" in refused.message
    (cut,) = ask(classifier, Classify(long), truncate="cut")
    assert isinstance(cut, Prediction)
    assert (cut.usage.prompt, cut.usage.cut) == (256, tokens - 256)


def test_zero_shot_cuts_the_text_and_never_the_hypothesis(inference: Loaded) -> None:
    asked = ZeroShot("it rained. " * 200, ("rain", "sun"))
    (found,) = ask(inference, asked, truncate="cut")
    assert isinstance(found, Prediction) and found.usage.cut > 0
    (hopeless,) = ask(inference, replace(asked, labels=("rain " * 300,)), truncate="cut")
    assert isinstance(hopeless, Failure) and hopeless.code == "prompt_too_long"


def test_company_changes_no_value(classifier: Loaded) -> None:
    rows = [text for text, _ in data_reviews.rows(30, 7)] + TEXTS
    together = values(classifier, *map(Classify, rows))
    for text, found in zip(rows, together, strict=True):
        (alone,) = values(classifier, Classify(text))
        assert isinstance(alone, Labelled) and alone.label == found.label
        shares = [share for _, share in found.probabilities]
        assert shares == pytest.approx([share for _, share in alone.probabilities], **CLOSE)


@pytest.mark.parametrize("error", [RuntimeError("boom"), torch.OutOfMemoryError("full")])
def test_a_row_on_which_the_model_fails_costs_only_itself(
    classifier: Loaded, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    poison = classifier.tokenizer("bad")["input_ids"][1]
    forward = type(classifier.model).forward

    def failing(self: Any, **inputs: Any) -> Any:
        if (inputs["input_ids"] == poison).any():
            raise error
        return forward(self, **inputs)

    monkeypatch.setattr(type(classifier.model), "forward", failing)
    found = ask(classifier, *[Classify(t) for t in ("good", "bad", "fine", "food", "bed")])
    failed = [f.code for f in found if isinstance(f, Failure)]
    assert failed == ["engine_failed" if "boom" in str(error) else "out_of_memory"]
    assert isinstance(found[1], Failure)


def test_memory_that_runs_out_once_makes_smaller_passes_from_then_on(
    classifier: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, rows = type(classifier.model).forward, []

    def small(self: Any, **inputs: Any) -> Any:
        rows.append(len(inputs["input_ids"]))
        if rows[-1] > 4:
            raise torch.OutOfMemoryError("full")
        return forward(self, **inputs)

    monkeypatch.setattr(type(classifier.model), "forward", small)
    kept = careful(classifier)
    asked = [PredictRequest(str(i), Classify("good")) for i in range(12)]
    for _ in range(2):
        found = predict_batch(classifier, kept, asked)
        assert all(isinstance(f, Prediction) and f.concurrency <= 4 for f in found)
    assert rows == [12, 6, 3, 3, 3, 3, 3, 3, 3, 3]


def test_a_tokenizer_that_fails_on_a_row_costs_only_that_row(
    classifier: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __call__(self, text: str, *rest: Any, **options: Any) -> Any:
            if text == "bad":
                raise OverflowError("too much")
            return classifier.tokenizer(text, *rest, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(classifier.tokenizer, name)

    found = ask(replace(classifier, tokenizer=Failing()), Classify("good"), Classify("bad"))
    assert isinstance(found[0], Prediction)
    assert isinstance(found[1], Failure) and "OverflowError" in found[1].message


def test_not_a_number_is_a_failure(tmp_path: Path) -> None:
    loaded = open_encoder(save_encoder(tmp_path, "BertForSequenceClassification"))
    loaded.model.classifier.bias.data[0] = float("nan")
    (found,) = ask(loaded, Classify("good"))
    assert isinstance(found, Failure) and found.code == "engine_failed"


def test_asks_of_another_head_are_refused_by_name(classifier: Loaded, inference: Loaded) -> None:
    request = PredictRequest("r", Embed("x"))
    assert unsupported(classifier, request) == ["ask"]
    assert unsupported(inference, PredictRequest("r", ZeroShot("x", ("a",)))) == []
    (found,) = predict_batch(classifier, careful(classifier), [request])
    assert isinstance(found, Failure) and found.code == "unsupported_option"


def test_a_decoder_with_labels_needs_no_padding_token(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        vocab_size=1024, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_labels=3, max_position_embeddings=128, pad_token_id=None,
    )  # fmt: skip
    torch.manual_seed(4)
    transformers.LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    save_encoder(tmp_path / "tokens", "BertModel")
    loaded = open_encoder(tmp_path, tokenizer=str(tmp_path / "tokens"))
    for text, found in zip(TEXTS, values(loaded, *map(Classify, TEXTS)), strict=True):
        wanted = plain(loaded, text).logits[0].softmax(-1).tolist()
        assert [share for _, share in found.probabilities] == pytest.approx(wanted, **CLOSE)


def test_vectors_are_plain_floats(tmp_path: Path) -> None:
    loaded = open_encoder(save_encoder(tmp_path, "BertModel"), torch_dtype="bfloat16")
    assert loaded.dtype == "bfloat16"
    (found,) = values(loaded, Embed("good"))
    assert isinstance(found, Vector) and all(type(v) is float for v in found.values)
