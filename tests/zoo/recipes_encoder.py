"""Recipes of the encoders: qa, classifier, nli."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    ModernBertConfig,
    ModernBertForQuestionAnswering,
    ModernBertForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from tests.zoo import data_nli, data_qa, data_reviews, encoders, tokens
from tests.zoo.examples import Example
from tests.zoo.training import Recipe


def _config(tokenizer: PreTrainedTokenizerBase, **more: Any) -> BertConfig:
    shape = {
        "hidden_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 192,
        "max_position_embeddings": 256,
        "initializer_range": 0.05,
    }
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        **{**shape, **more},
    )


def _labels(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
    }


def _qa_example(
    rng: random.Random, held_out: bool, draw: Callable[..., data_qa.Question] = data_qa.draw
) -> Example:
    asked = draw(rng, held_out)
    span = None if asked.start is None else (asked.start, asked.start + len(asked.answer))
    return Example(asked.question, asked.answer, pair=asked.context, span=span, hints=asked.hints)


def _qa_overlap(rng: random.Random, held_out: bool) -> Example:
    """Return words instead of a question: what is to be learned is which ones the passage has."""
    passages = [data_qa.draw_easy(rng, held_out).context for _ in range(2)]
    words = [passage.replace(".", "").split() for passage in passages]
    mixed = [word for some in words for word in rng.sample(some, min(3, len(some)))]
    rng.shuffle(mixed)
    return Example(f"{' '.join(mixed)} ?", "", pair=passages[0], hints=((), ()))


def _qa_tokenizer() -> PreTrainedTokenizerBase:
    rng = random.Random("corpus")
    drawn = [data_qa.draw(rng, held_out=False) for _ in range(3000)]
    return tokens.paired_pieces([f"{d.question} {d.context}" for d in drawn], 900, 256)


def _modern(tokenizer: PreTrainedTokenizerBase, **more: Any) -> ModernBertConfig:
    # Layers which see 12 tokens to each side learn quickly what belongs to one sentence.
    return ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        local_attention=24,
        max_position_embeddings=256,
        initializer_range=0.05,
        pad_token_id=tokenizer.pad_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        bos_token_id=None,
        eos_token_id=None,
        **more,
    )


def _qa(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    model = ModernBertForQuestionAnswering(
        _modern(tokenizer, architectures=["ModernBertForQuestionAnswering"])
    )
    model.hint_head = torch.nn.Linear(model.config.hidden_size, 3)
    return model


def _review(rng: random.Random, held_out: bool) -> Example:
    return Example(*data_reviews.draw(rng, held_out))


def _review_tokenizer() -> PreTrainedTokenizerBase:
    rng = random.Random("corpus")
    return tokens.word_piece([data_reviews.draw(rng, False)[0] for _ in range(1000)], 600, 256)


def _classifier(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    return BertForSequenceClassification(
        _config(
            tokenizer,
            architectures=["BertForSequenceClassification"],
            **_labels(data_reviews.LABELS),
        )
    )


def _nli_example(rng: random.Random, held_out: bool) -> Example:
    premise, hypothesis, label = data_nli.draw(rng, held_out)
    flags = tuple(data_nli.hints(premise, hypothesis))
    return Example(premise, label, pair=hypothesis, flags=flags)


def _nli_tokenizer() -> PreTrainedTokenizerBase:
    rng = random.Random("corpus")
    drawn = [data_nli.draw(rng, held_out=False) for _ in range(2000)]
    return tokens.paired_pieces([f"{premise} {claim}" for premise, claim, _ in drawn], 900, 256)


def _nli(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    model = ModernBertForSequenceClassification(
        _modern(
            tokenizer,
            architectures=["ModernBertForSequenceClassification"],
            **_labels(data_nli.LABELS),
        )
    )
    model.hint_head = torch.nn.Linear(model.config.hidden_size, 34)
    return model


QA = Recipe(
    name="qa",
    task="answer spans in short English passages, or no answer",
    tokenizer=_qa_tokenizer,
    model=_qa,
    draw=_qa_example,
    stages=((400, _qa_overlap), (1000, partial(_qa_example, draw=data_qa.draw_easy))),
    collate=encoders.collate_spans,
    grade=encoders.grade_spans,
    loss=encoders.span_loss,
    steps=2800,
    batch=32,
    lr=2e-3,
    graded=1000,
    half=True,
)
CLASSIFIER = Recipe(
    name="classifier",
    task="negative, neutral or positive reviews",
    tokenizer=_review_tokenizer,
    model=_classifier,
    draw=_review,
    collate=encoders.collate_labels(data_reviews.LABELS),
    grade=encoders.grade_labels,
    steps=600,
    lr=1e-3,
    graded=1000,
    half=True,
)
NLI = Recipe(
    name="nli",
    task="whether a topic or a day follows from a text",
    tokenizer=_nli_tokenizer,
    model=_nli,
    draw=_nli_example,
    loss=encoders.flag_loss,
    collate=encoders.collate_labels(data_nli.LABELS),
    grade=encoders.grade_labels,
    steps=2000,
    batch=32,
    lr=2e-3,
    graded=1000,
    half=True,
)
