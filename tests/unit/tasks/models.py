"""Facts of the kinds of model that tasks meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef

NLLB = ("deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant", "arb_Arab", "ary_Arab", "nob_Latn")


def facts(kind: str, name: str = "org/model", architecture: str = "X", **more: Any) -> ModelFacts:
    outer = {key: more.pop(key) for key in ("prefix", "reads_column") if key in more}
    return ModelFacts(
        ref=ModelRef(scheme="hf", name=name),
        identity=name,
        capabilities=Capabilities(kind=kind, **more),  # type: ignore[arg-type]
        architecture=architecture,
        **outer,
    )


CHAT = facts("causal", "org/chat", chat_template=True, likelihood=True)
PLAIN = facts("causal", "org/plain", likelihood=True)
SILENT = facts("causal", "org/silent", chat_template=True)
SEQ2SEQ = facts("seq2seq", "org/bart", likelihood=True)
T5 = facts("seq2seq", "org/t5", likelihood=True, prefix="summarize: ")
MULTILINGUAL = facts("seq2seq", "org/nllb", likelihood=True, language_codes=NLLB)
SPANS = facts("encoder", "org/qa", "BertForQuestionAnswering", heads=frozenset({"answer-span"}))
CLASSIFIER = facts(
    "encoder",
    "org/sentiment",
    "BertForSequenceClassification",
    heads=frozenset({"classify"}),
    labels=("NEGATIVE", "POSITIVE"),
)
NAMELESS = replace(
    CLASSIFIER, capabilities=replace(CLASSIFIER.capabilities, labels=("LABEL_0", "LABEL_1"))
)
NLI = facts(
    "encoder",
    "org/nli",
    "BertForSequenceClassification",
    heads=frozenset({"classify", "pair-classify"}),
    labels=("contradiction", "neutral", "entailment"),
)
EMBEDDER = facts("encoder", "org/minilm", "BertModel", embeddings=True)
COPY = facts("seq2seq", "copy", "baseline")
COLUMN = facts("seq2seq", "column/said", "baseline", reads_column="said")

ALL = {
    "chat": CHAT,
    "plain": PLAIN,
    "no-likelihood": SILENT,
    "seq2seq": SEQ2SEQ,
    "seq2seq-prefix": T5,
    "multilingual": MULTILINGUAL,
    "spans": SPANS,
    "classifier": CLASSIFIER,
    "nameless": NAMELESS,
    "nli": NLI,
    "embedder": EMBEDDER,
    "baseline": COPY,
    "baseline-column": COLUMN,
}
