"""The model behind BERTScore: bert-score's own functions, with a bound on length and memory."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
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
        from bert_score import utils

        tokenizer = utils.get_tokenizer(name)
        if layers is None:
            layers = utils.model2layers.get(name) or _depth(name)
        model = utils.get_model(name, layers)
        window = _window(model, tokenizer)
        tokenizer.model_max_length = window
        model.to("cuda" if utils.torch.cuda.is_available() else "cpu")
        return cls(model, tokenizer, layers, window)

    def too_long(self, text: str) -> bool:
        """Whether a text is truncated."""
        # A token holds at least one character in all but rare scripts; special tokens are extra.
        if len(text.encode()) <= self.window - 2:
            return False
        found = self.tokenizer(text.strip(), truncation=True, max_length=self.window + 1)
        return len(found["input_ids"]) > self.window

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
    """Number of layers in the configuration of a folder or of a cached Hub id."""
    from huggingface_hub import try_to_load_from_cache

    found = Path(name, "config.json") if Path(name).is_dir() else None
    cached = try_to_load_from_cache(name, "config.json") if found is None else None
    if isinstance(cached, str):
        found = Path(cached)
    config = json.loads(found.read_text("utf-8")) if found is not None else {}
    for key in ("num_hidden_layers", "n_layers", "n_layer", "num_layers"):
        if isinstance(config.get(key), int):
            return int(config[key])
    raise ValueError("it does not say how many layers it has; give option 'num_layers'")


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
