"""BERTScore by bert-score, with a local or a Hub model."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bakeoff.core.errors import DependencyMissing, InvalidSpec, MetricFailed
from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.core.rows import Notice
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import RowValues, Unscored, blank, columns, usable_references

DEFAULT_MODEL = "roberta-large"
"""What bert-score takes for English; used only where it is in the Hub's cache already."""
EMPTY = (0.0, 0.0, 0.0)
"""F1, precision and recall of an empty prediction."""
UNBOUNDED = 4096
"""Window of a model that names none; tokenizers cannot truncate to infinity."""
_CHUNK = 256


class Pair(NamedTuple):
    """A prediction and one of its references."""

    row: int
    said: str
    reference: str


class BertScore(Metric):
    """BERTScore F1, precision and recall against the best reference, without rescaling.

    The numbers are those of bert-score with the same model and layer. Texts above the model's
    window (512 tokens for most) are truncated, and a notice says how many answers this concerns.
    An empty prediction gives precision = recall = F1 = 0, with a notice too; a row whose
    references are all empty has no value. With several references each output takes its best, as
    bert-score does.

    Options:
        model: a folder, or a Hub id. Needed unless `roberta-large` is in the Hub's cache.
        num_layers: layer whose vectors are compared. Default: bert-score's choice for models it
            knows, else the last one.
        batch_size: texts at a time. Default 64.
    """

    name: ClassVar[str] = "bertscore"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("model", "num_layers", "batch_size"))
        named = given.text("model")
        self._named = named is not None
        self._model = (named or DEFAULT_MODEL).removeprefix("hf://")
        self._layers = given.maybe_whole("num_layers", 1, 200)
        self._batch = given.whole("batch_size", 64, 1, 10_000)

    def outputs(self) -> tuple[MetricOutput, ...]:
        """F1, precision and recall; 1 is perfect."""
        parts = ("f1", "precision", "recall")
        return tuple(MetricOutput(f"bertscore_{part}", graded=True) for part in parts)

    def check(self) -> None:
        """Whether bert-score and the model are there.

        Raises:
            DependencyMissing: bert-score is not installed.
            InvalidSpec: the folder that is named holds no model.
            MetricFailed: no model is named and the default is not cached; or a Hub id is not
                cached while the Hub is switched off.
        """
        if importlib.util.find_spec("bert_score") is None:
            raise DependencyMissing("metric 'bertscore'", "bertscore")
        if _is_folder(self._model):
            if not (Path(self._model).expanduser() / "config.json").is_file():
                raise InvalidSpec(
                    f"metric 'bertscore': option 'model' is {self._model!r}, "
                    "but there is no such folder with a config.json in it"
                )
        elif not _cached(self._model) and (_offline() or not self._named):
            what = f"{self._model!r} is not in the Hub's cache" if self._named else "no model"
            raise MetricFailed(
                f"metric 'bertscore': {what}; name a folder or a cached Hub id of an encoder as "
                "option 'model', for example {name: bertscore, model: ./encoder, num_layers: 5}"
            )

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """All inputs; the model is loaded once, and only if there is something to compare.

        Raises:
            MetricFailed: the model does not load.
        """
        layer = self._layer()
        rows: list[RowValues] = []
        pairs: list[Pair] = []
        for at, item in enumerate(inputs):
            references = usable_references(item)
            rows.append(references if isinstance(references, Unscored) else EMPTY)
            if not isinstance(references, Unscored) and not blank(item.prediction):
                said = _clean(item.prediction)
                pairs.extend(Pair(at, said, _clean(text)) for text in references)
        compared = {pair.row for pair in pairs}
        notices = _empty_notice(sum(row is EMPTY for row in rows) - len(compared))
        if pairs:
            encoder = Encoder.load(self._path(), layer)
            for at, values in _best(encoder, pairs, self._batch).items():
                rows[at] = values
            notices += _cut_notice(encoder, pairs)
        found = columns(self.outputs(), rows, self._signature(layer))
        return [replace(found[0], notices=notices), *found[1:]]

    def _path(self) -> str:
        return str(Path(self._model).expanduser()) if _is_folder(self._model) else self._model

    def _layer(self) -> int:
        """The layer asked for, else bert-score's choice for this model, else the last one."""
        if self._layers is not None:
            return self._layers
        from bert_score.utils import model2layers

        path = self._path()
        return model2layers.get(path) or _depth(path)

    def _signature(self, layer: int) -> str:
        name = self._model
        if _is_folder(name):
            name = "/".join(Path(name).expanduser().resolve().parts[-2:])
        version = importlib.metadata.version("bert-score")
        return (
            f"refs:best|model:{name}|layer:{layer}|idf:no|rescaled:no|empty-prediction:0"
            f"|bert-score:{version}"
        )


def _empty_notice(count: int) -> tuple[Notice, ...]:
    if not count:
        return ()
    text = f"bertscore: {count} empty answers count as 0 in F1, precision and recall"
    return (Notice("metric-empty-answers", text, count),)


def _cut_notice(encoder: Encoder, pairs: Sequence[Pair]) -> tuple[Notice, ...]:
    cut = {p.row for p in pairs if encoder.too_long(p.said) or encoder.too_long(p.reference)}
    if not cut:
        return ()
    text = (
        f"bertscore: in {len(cut)} answers the text or a reference is longer than the model's "
        f"window of {encoder.window} tokens; only the first {encoder.window} were compared"
    )
    return (Notice("metric-truncated", text, len(cut)),)


def _best(
    encoder: Encoder, pairs: Sequence[Pair], batch: int
) -> dict[int, tuple[float, float, float]]:
    """Row to the best of each output over its references."""
    found = encoder.compare([p.said for p in pairs], [p.reference for p in pairs], batch)
    best: dict[int, tuple[float, float, float]] = {}
    for pair, (f1, precision, recall) in zip(pairs, found, strict=True):
        old = best.get(pair.row, (f1, precision, recall))
        best[pair.row] = (max(old[0], f1), max(old[1], precision), max(old[2], recall))
    return best


def _clean(text: str) -> str:
    """Text that tokenizers accept: a lone half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _is_folder(model: str) -> bool:
    return model.startswith((".", "/", "~")) or Path(model).is_dir()


def _cached(model: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, "config.json"), str)


def _offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded encoder, cut off behind the layer whose vectors are compared.

    Attributes:
        window: most tokens of a text, special ones included; longer texts are truncated.
    """

    model: Any
    tokenizer: Any
    window: int

    @classmethod
    def load(cls, name: str, layer: int) -> Encoder:
        """Load a folder or a Hub id, on the graphics card where there is one.

        Raises:
            MetricFailed: it does not load, or has fewer layers.
        """
        try:
            return cls._load(name, layer)
        except Exception as error:  # whatever the library raises, the metric alone is lost
            raise MetricFailed(
                f"metric 'bertscore': model {name!r} could not be loaded: {error}"
            ) from error

    @classmethod
    def _load(cls, name: str, layer: int) -> Encoder:
        from bert_score import utils

        tokenizer = utils.get_tokenizer(name)
        model = utils.get_model(name, layer)
        window = _window(model, tokenizer)
        tokenizer.model_max_length = window
        model.to("cuda" if utils.torch.cuda.is_available() else "cpu")
        return cls(model, tokenizer, window)

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
    """Number of layers in the configuration of a folder or of a cached Hub id.

    Raises:
        MetricFailed: it does not say.
    """
    from huggingface_hub import try_to_load_from_cache

    found = Path(name, "config.json") if Path(name).is_dir() else None
    cached = try_to_load_from_cache(name, "config.json") if found is None else None
    if isinstance(cached, str):
        found = Path(cached)
    config = json.loads(found.read_text("utf-8")) if found is not None and found.is_file() else {}
    for key in ("num_hidden_layers", "n_layers", "n_layer", "num_layers"):
        if isinstance(config.get(key), int):
            return int(config[key])
    raise MetricFailed(
        f"metric 'bertscore': the configuration of model {name!r} does not say how many layers it "
        "has; give option 'num_layers'"
    )


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
