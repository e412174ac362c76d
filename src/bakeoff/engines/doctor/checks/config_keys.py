"""Keys of `config.json` that the library does not know, or that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.transformers.configkeys import unknown_keys

_CONTRADICT = "keep one of the two, the one that the original checkpoint has"
_UNKNOWN = (
    "correct the spelling, or take the version of transformers that the checkpoint was made with; "
    "bakeoff runs it without these settings, as transformers does"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line, whether all are known or some are not."""
    unknown = unknown_keys(chart.config, chart.checkpoint.folder)
    for notice in unknown:
        advice = _UNKNOWN if notice.code == "unknown-config-key" else _CONTRADICT
        yield Finding(notice.code, "warning", "configuration", notice.text, advice)
    if not unknown:
        count = len(chart.checkpoint.config)
        yield Finding("config-keys", "ok", "configuration", f"{count} keys, all known")
