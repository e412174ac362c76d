"""What ends a text: the set of tokens, and who names each."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

WHAT = "end of sequence"
MISSING = "end-marker-missing"
ADVICE = (
    "add it to eos_token_id in generation_config.json; bakeoff ends a conversation's text there "
    "anyway, other tools let the model run on"
)


def check(chart: Chart) -> Iterator[Finding]:
    """The set with its sources; what the template ends a turn with, where it is not in it."""
    if not chart.generates:
        return
    special, sources = chart.special, _sources(chart)
    named = [f"{chart.names([token])} ({', '.join(places)})" for token, places in sources.items()]
    by_id = {str(token): places for token, places in sources.items()}
    data = {"ids": by_id, "turn_end": sorted(special.turn_end)}
    if not sources:
        value = "no token is named by generation_config, config or tokenizer"
        yield Finding("no-end", "warning", WHAT, value, "name it as eos_token_id", data)
    else:
        yield Finding("end-of-sequence", "ok", WHAT, "; ".join(named), data=data)
    strange = {token: places for token, places in _named(chart).items() if token >= chart.rows}
    if strange:
        said = [f"{token} ({', '.join(places)})" for token, places in strange.items()]
        value = f"the model has no token {'; '.join(said)}: its vocabulary ends at {chart.rows - 1}"
        ids = {str(token): places for token, places in strange.items()}
        yield Finding("end-beyond-vocabulary", "warning", WHAT, value, "name the right id", ids)
    missing = special.turn_end - special.end
    if missing:
        value = f"the chat template ends a turn with {chart.names(missing)}, not in the set"
        yield Finding(MISSING, "warning", WHAT, value, ADVICE, {"turn_end": sorted(missing)})


def _named(chart: Chart) -> dict[int, list[str]]:
    """Token id -> the files that name it as an end, whether the model has it or not."""
    places = {
        "generation_config": (chart.checkpoint.generation or {}).get("eos_token_id"),
        "config": chart.said.get("eos_token_id"),
        "tokenizer": chart.tokenizer.eos_token_id,
    }
    found: dict[int, list[str]] = {}
    for place, said in places.items():
        for token in said if isinstance(said, list) else [said]:
            if isinstance(token, int) and token >= 0:
                found.setdefault(token, []).append(place)
    return found


def _sources(chart: Chart) -> dict[int, list[str]]:
    """Token id -> who names it as an end, of those that the model can write."""
    found = {token: places for token, places in _named(chart).items() if token in chart.special.end}
    for token in chart.special.end - set(found):
        found[token] = ["default of the family"]
    for token in chart.special.turn_end & chart.special.end:
        found[token].append("chat template")
    return found
