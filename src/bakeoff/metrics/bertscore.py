"""BERTScore by bert-score, with a local or a Hub model."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bakeoff.core.errors import DependencyMissing, InvalidSpec
from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.metrics.encoder import Encoder
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import RowValues, Unscored, blank, columns, usable_references

DEFAULT_MODEL = "roberta-large"
"""What bert-score takes for English; used only where it is in the Hub's cache already."""
EMPTY = (0.0, 0.0, 0.0)
"""F1, precision and recall of an empty prediction."""


class Pair(NamedTuple):
    """A prediction and one of its references."""

    row: int
    said: str
    reference: str


class BertScore(Metric):
    """BERTScore F1, precision and recall against the best reference, without rescaling.

    The numbers are those of bert-score with the same model and layer. Texts above the model's
    window (512 tokens for most) are truncated, and the signature says in how many rows. An empty
    prediction gives precision = recall = F1 = 0, counted in the signature as well; a row whose
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
        return tuple(MetricOutput(f"bertscore_{part}") for part in ("f1", "precision", "recall"))

    def check(self) -> None:
        """Whether bert-score and the model are there.

        Raises:
            DependencyMissing: bert-score is not installed.
            InvalidSpec: no model is named and the default is not cached; a folder holds no
                model; or a Hub id is not cached while the Hub is switched off.
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
            raise InvalidSpec(
                f"metric 'bertscore': {what}; name a folder or a cached Hub id of an encoder as "
                "option 'model', for example {name: bertscore, model: ./encoder, num_layers: 5}"
            )

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """All inputs; the model is loaded once, and only if there is something to compare.

        Raises:
            MetricFailed: the model does not load.
        """
        rows: list[RowValues] = []
        pairs: list[Pair] = []
        for at, item in enumerate(inputs):
            references = usable_references(item)
            rows.append(references if isinstance(references, Unscored) else EMPTY)
            if not isinstance(references, Unscored) and not blank(item.prediction):
                said = _clean(item.prediction)
                pairs.extend(Pair(at, said, _clean(text)) for text in references)
        empty = sum(row is EMPTY for row in rows) - len({pair.row for pair in pairs})
        if not pairs:
            return columns(self.outputs(), rows, self._signature(None, 0, empty))
        encoder = Encoder.load(self._path(), self._layers)
        for at, values in _best(encoder, pairs, self._batch).items():
            rows[at] = values
        cut = {p.row for p in pairs if encoder.too_long(p.said) or encoder.too_long(p.reference)}
        return columns(self.outputs(), rows, self._signature(encoder, len(cut), empty))

    def _path(self) -> str:
        return str(Path(self._model).expanduser()) if _is_folder(self._model) else self._model

    def _signature(self, encoder: Encoder | None, cut: int, empty: int) -> str:
        name = self._model
        if _is_folder(name):
            name = "/".join(Path(name).expanduser().resolve().parts[-2:])
        loaded = f"|layer:{encoder.layers}|window:{encoder.window}" if encoder else ""
        version = importlib.metadata.version("bert-score")
        return (
            f"refs:best|model:{name}{loaded}|idf:no|rescaled:no|rows-truncated:{cut}"
            f"|empty-predictions-as-0:{empty}|bert-score:{version}"
        )


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
