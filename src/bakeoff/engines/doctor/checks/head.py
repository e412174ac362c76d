"""Whether the output head is in the files, or tied to the embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

_ADVICE = (
    "set tie_word_embeddings to true in config.json where the model was trained so, or save the "
    "head; other tools draw it at random and write nonsense, bakeoff refuses to load the model"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not chart.generates or chart.tensors is None:
        return
    skeleton = chart.skeleton
    head = skeleton.get_output_embeddings()
    name = next((name for name, one in skeleton.named_modules() if one is head), None)
    if head is None or name is None:
        return
    if getattr(chart.text_config, "tie_word_embeddings", False):
        yield Finding("head", "ok", "output head", "tied to the embeddings")
    elif _holds(chart.tensors, f"{name}.weight"):
        yield Finding("head", "ok", "output head", f"{name}.weight, not tied")
    else:
        value = f"not tied to the embeddings, and no {name}.weight in the files"
        yield Finding("head-missing", "problem", "output head", value, _ADVICE)


def _holds(tensors: Iterable[str], name: str) -> bool:
    """Whether the files hold a weight; older files leave prefixes out or put them in."""
    return any(one == name or one.endswith(f".{name}") or name.endswith(f".{one}")
               for one in tensors)  # fmt: skip
