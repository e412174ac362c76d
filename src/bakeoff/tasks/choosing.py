"""What classification and multiple choice share: picking one of several texts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from bakeoff.core.errors import EngineFailed, UnsupportedOption
from bakeoff.core.outputs import Likelihood
from bakeoff.core.ports import Answer, ModelFacts

_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


def check_method(method: str, facts: ModelFacts) -> None:
    """Whether a generative model can choose as `task.method` says.

    Raises:
        UnsupportedOption: likelihoods are asked of a model that gives none.
    """
    if method == "likelihood" and not facts.capabilities.likelihood:
        raise UnsupportedOption(
            f"{facts.ref.uri} gives no likelihoods: set task.method to auto or generate",
            option="task.method",
        )


def most_likely(options: Sequence[str], found: Sequence[Likelihood]) -> Answer:
    """The option with the highest log-likelihood.

    `extra` holds the log-likelihoods, the share of each option (softmax), and the option that is
    most likely per character (lm-evaluation-harness calls the two accuracies acc and acc_norm).
    Ties go to the first.

    Raises:
        EngineFailed: a log-likelihood is not a number, so that nothing can be said.
    """
    totals = [likelihood.total for likelihood in found]
    if any(math.isnan(total) for total in totals) or max(totals) == -math.inf:
        raise EngineFailed("the model gave a log-likelihood that is not a number")
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
    total = sum(weights)
    return [weight / total for weight in weights]


def match_option(text: str, options: Sequence[str]) -> str | None:
    """Which option a generated text names, or None.

    The whole text, or its first line, ignoring case and surrounding punctuation; else the only
    option that it mentions as words of its own (of two where one holds the other, the longer).
    """
    for said in (text, text.strip().split("\n")[0]):
        for option in options:
            if _bare(said) and _bare(said) == _bare(option):
                return option
    named = [option for option in options if _mentions(text, option)]
    longest = [o for o in named if not any(o != p and _words(o) in _words(p) for p in named)]
    return longest[0] if len(longest) == 1 else None


def same_option(text: str, options: Sequence[str]) -> str | None:
    """The option that is this text: exactly, else ignoring case and outer blanks."""
    if text in options:
        return text
    folded = text.strip().casefold()
    return next((option for option in options if option.strip().casefold() == folded), None)


def numbered_option(text: str, options: Sequence[str]) -> str | None:
    """The option whose number, from 0, this text is."""
    said = text.strip()
    number = int(said) if said.isdecimal() and len(said) < 6 else -1
    return options[number] if 0 <= number < len(options) else None


def _bare(text: str) -> str:
    return text.strip().strip("\"'`.,:;!?()[]{}*“”‘’。").strip().casefold()


def _mentions(text: str, option: str) -> bool:
    words = _words(option)
    if not words:
        return False
    if _SPACELESS.search(option):
        return words in _words(text)
    return f" {words} " in f" {_words(text)} "


def _words(text: str) -> str:
    kept = (c if c.isalnum() else " " for c in text.casefold())
    return " ".join("".join(kept).split())
