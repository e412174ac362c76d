"""Whether every token of the tokenizer has an embedding."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

_NAMED = 3
_ADVICE = (
    "take the tokenizer that the model was trained with, or enlarge the embeddings and train them; "
    "a text without these tokens is read rightly, one with them fails"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line; padding alone may lie beyond, as it is masked."""
    vocabulary: dict[str, int] = chart.tokenizer.get_vocab()
    rows, tokens = chart.rows, max(vocabulary.values(), default=-1) + 1
    value = f"{len(vocabulary)} tokens, {rows} embeddings"
    data = {"tokens": len(vocabulary), "largest_id": tokens - 1, "embeddings": rows}
    beyond = sorted((i, name) for name, i in vocabulary.items() if i >= rows)
    if not beyond:
        yield Finding("vocabulary", "ok", "vocabulary", value, data=data)
        return
    names = ", ".join(name for _, name in beyond[:_NAMED])
    more = f" and {len(beyond) - _NAMED} more" if len(beyond) > _NAMED else ""
    only_pad = [name for _, name in beyond] == [chart.tokenizer.pad_token]
    yield Finding(
        "tokenizer-beyond-embeddings",
        "warning" if only_pad else "problem",
        "vocabulary",
        f"{value}; none for {names}{more}",
        "bakeoff pads with another token" if only_pad else _ADVICE,
        data,
    )
