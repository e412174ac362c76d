"""What classification and multiple choice share: picking one of several texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from bakeoff.core.errors import EngineFailed, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Likelihood
from bakeoff.core.ports import Answer

RULE = 2
"""Which rule matches a text with options: rows that another one matched are made anew."""
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

    `extra` holds the log-likelihoods and shares (softmax) of all, in the order of the options, and
    the option that is most likely per character (lm-evaluation-harness calls the two accuracies
    acc and acc_norm). Ties go to the first.

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
            "probabilities": softmax(totals),
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

    The whole text, or its first line (see `whole_option`); else the only option that it mentions
    as words of its own (of two where one holds the other, the longer).
    """
    whole = whole_option(text, options)
    if whole is not None:
        return whole
    named = [option for option in options if _mentions(text, option)]
    longest = [o for o in named if not any(o != p and _words(o) in _words(p) for p in named)]
    return longest[0] if len(longest) == 1 else None


def whole_option(text: str, options: Sequence[str]) -> str | None:
    """The option that is the whole text, or its first line.

    Exactly, else ignoring case, Unicode form and surrounding punctuation.
    """
    for said in (text, text.strip().split("\n")[0]):
        found = same_option(said, options)
        if found is not None:
            return found
        bare = _bare(said)
        for option in options:
            if bare and bare == _bare(option):
                return option
    return None


def same_option(text: str, options: Sequence[str]) -> str | None:
    """The option that is this text: exactly, else ignoring case, Unicode form and outer blanks."""
    if text in options:
        return text
    plain = folded(text)
    return next((option for option in options if folded(option) == plain), None)


def folded(text: str) -> str:
    """A text as it is compared: without case, outer blanks and differences of Unicode form."""
    if not text.isascii():
        # Case is folded on separate marks, as Unicode defines caseless matching.
        text = unicodedata.normalize("NFD", text).casefold()
        return unicodedata.normalize("NFC", text).strip()
    return text.strip().casefold()


def _bare(text: str) -> str:
    return folded(text).strip("\"'`.,:;!?()[]{}*“”‘’。").strip()


def _mentions(text: str, option: str) -> bool:
    words = _words(option)
    if not words:
        return False
    if _SPACELESS.search(option):
        return words in _words(text)
    return f" {words} " in f" {_words(text)} "


def _words(text: str) -> str:
    kept = (c if c.isalnum() else " " for c in folded(text))
    return " ".join("".join(kept).split())
