"""The model behind BERTScore: bert-score's own functions, with a bound on length and memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import MetricFailed

UNBOUNDED = 4096
"""Window of a model that names none; tokenizers cannot truncate to infinity."""
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded encoder.

    Attributes:
        layers: the layer whose vectors are compared.
        window: most tokens of a text, special ones included; longer texts are truncated.
    """

    model: Any
    tokenizer: Any
    layers: int
    window: int

    @classmethod
    def load(cls, name: str, layers: int | None) -> Encoder:
        """Load a folder or a Hub id, on the graphics card where there is one.

        Raises:
            MetricFailed: it does not load, or has fewer layers.
        """
        try:
            return cls._load(name, layers)
        except Exception as error:  # whatever the library raises, the metric alone is lost
            raise MetricFailed(
                f"metric 'bertscore': model {name!r} could not be loaded: {error}"
            ) from error

    @classmethod
    def _load(cls, name: str, layers: int | None) -> Encoder:
        import torch
        from bert_score.utils import get_model, get_tokenizer, model2layers

        tokenizer = get_tokenizer(name)
        if layers is None:
            layers = model2layers.get(name) or _depth(name)
        model = get_model(name, layers)
        window = _window(model, tokenizer)
        tokenizer.model_max_length = window
        model.to("cuda" if torch.cuda.is_available() else "cpu")
        return cls(model, tokenizer, layers, window)

    def too_long(self, text: str) -> bool:
        """Whether a text is truncated."""
        # A token holds at least one character in all but rare scripts; special tokens are extra.
        if len(text.encode()) <= self.window - 2:
            return False
        return len(self.tokenizer(text.strip(), truncation=False)["input_ids"]) > self.window

    def compare(
        self, predictions: Sequence[str], references: Sequence[str], batch: int
    ) -> Iterator[tuple[float, float, float]]:
        """F1, precision and recall of each pair, in order.

        In chunks: bert-score keeps the vectors of all texts of a call in memory.
        """
        from bert_score.utils import bert_cos_score_idf

        weights: dict[int, float] = defaultdict(lambda: 1.0)
        weights[self.tokenizer.sep_token_id] = 0.0
        weights[self.tokenizer.cls_token_id] = 0.0
        device = next(self.model.parameters()).device
        for start in range(0, len(predictions), _CHUNK):
            part = slice(start, start + _CHUNK)
            found = bert_cos_score_idf(
                self.model,
                list(references[part]),
                list(predictions[part]),
                self.tokenizer,
                weights,
                batch_size=batch,
                device=device,
            )
            for precision, recall, f1 in found.tolist():
                yield f1, precision, recall


def _depth(name: str) -> int:
    """Number of layers in a checkpoint's configuration."""
    from transformers import AutoConfig

    return int(AutoConfig.from_pretrained(name).num_hidden_layers)


def _window(model: Any, tokenizer: Any) -> int:
    """The smaller of what the tokenizer says and what the position table holds."""
    bounds = [int(min(tokenizer.model_max_length, UNBOUNDED))]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions:
        table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
        # RoBERTa and its kin count positions from behind the padding token's.
        offset = getattr(table, "padding_idx", None)
        bounds.append(int(positions) - (0 if offset is None else offset + 1))
    return min(bounds)
