"""Precision of the weights in the files, and as they are loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


def check(chart: Chart) -> Iterator[Finding]:
    """One line."""
    loaded = chart.facts.ref.torch_dtype
    how = "as the device allows" if loaded == "auto" else loaded
    if chart.tensors is None:
        said = chart.said.get("dtype") or chart.said.get("torch_dtype") or "not said"
        value = f"{said} by config.json; loaded as {how}"
        yield Finding("precision", "ok", "precision", value, data={"files": {}, "loaded": loaded})
        return
    counts: Counter[str] = Counter()
    for tensor in chart.tensors.values():
        counts[_NAMES.get(tensor.dtype, tensor.dtype.lower())] += tensor.count
    most = [name for name, _ in counts.most_common(3)]
    value = f"{' and '.join(most)}, {_short(counts.total())} weights; loaded as {how}"
    data = {"files": dict(counts), "loaded": loaded}
    yield Finding("precision", "ok", "precision", value, data=data)


def _short(count: int) -> str:
    for size, unit in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:,}"
