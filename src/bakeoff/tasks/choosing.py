"""What classification and multiple choice share: picking one of several texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bakeoff.core.outputs import Likelihood
from bakeoff.core.ports import Answer


def most_likely(options: Sequence[str], found: Sequence[Likelihood]) -> Answer:
    """The option with the highest log-likelihood.

    `extra` holds the log-likelihoods, the share of each option (softmax), and the option that is
    most likely per character (lm-evaluation-harness calls the two accuracies acc and acc_norm).
    Ties go to the first.
    """
    totals = [likelihood.total for likelihood in found]
    best = max(range(len(options)), key=totals.__getitem__)
    per_character = [t / max(len(o), 1) for t, o in zip(totals, options, strict=True)]
    normed = max(range(len(options)), key=per_character.__getitem__)
    return Answer(
        options[best],
        {
            "loglikelihoods": totals,
            "probabilities": dict(zip(options, softmax(totals), strict=True)),
            "per_character": options[normed],
        },
    )


def softmax(values: Sequence[float]) -> list[float]:
    """Shares that add up to 1."""
    top = max(values)
    weights = [math.exp(value - top) for value in values]
    return [weight / sum(weights) for weight in weights]


def match_option(text: str, options: Sequence[str]) -> str | None:
    """Which option a generated text names, or None.

    The whole text, ignoring case and surrounding punctuation; else the only option that it
    mentions as words of its own.
    """
    said = _bare(text)
    for option in options:
        if said == _bare(option):
            return option
    padded = f" {_words(text)} "
    named = [option for option in options if f" {_words(option)} " in padded]
    longest = [o for o in named if not any(o != p and _words(o) in _words(p) for p in named)]
    return longest[0] if len(longest) == 1 else None


def _bare(text: str) -> str:
    return text.strip().strip("\"'`.,:;!()[]{}*").strip().casefold()


def _words(text: str) -> str:
    kept = (c if c.isalnum() else " " for c in text.casefold())
    return " ".join("".join(kept).split())
