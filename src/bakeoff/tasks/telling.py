"""How an encoder-decoder model is told which languages to translate between.

By tokens for both (mBART, M2M100, NLLB), by a mark for the target (Marian's `>>fra<<`), by a prefix
(T5), or not at all, where it was made for one pair.
"""

from __future__ import annotations

from typing import NamedTuple

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.registry import near_matches
from bakeoff.tasks.languages import Language, single_language

SOURCE, TARGET = "task.source_language", "task.target_language"
_SHOWN = 40
"""Languages that a refusal lists."""


class Pair(NamedTuple):
    """What the spec says; None for what it leaves open."""

    source: Language | None
    target: Language | None

    @property
    def named(self) -> bool:
        """Whether the spec names both."""
        return self.source is not None and self.target is not None

    def __str__(self) -> str:
        return f"from {_name(self.source)} to {_name(self.target)}"


class Codes(NamedTuple):
    """The same as the tokenizer spells it; None for what the model is not told by a token."""

    source: str | None = None
    target: str | None = None


def own_pair(facts: ModelFacts) -> Pair:
    """The pair that a model was made for; None for a side that is a group, or unknown."""
    pair = facts.pair
    if pair is None:
        return Pair(None, None)
    return Pair(single_language(pair.source), single_language(pair.target))


def check_told(facts: ModelFacts, pair: Pair, template: bool) -> None:
    """Whether a model that has to be told its languages is told them, by tokens it has.

    Args:
        facts: of an encoder-decoder model.
        pair: what the spec says.
        template: whether a template writes the whole text; it may hold a mark for the target.

    Raises:
        UnsupportedOption: it knows several languages and the spec names none, or it has no token
            for one of them; near matches are named.
    """
    known = facts.capabilities.language_codes
    if codes_for(facts, pair).target is None and known and pair.target is None and not template:
        raise languages_needed(facts, f"knows {len(known)} target languages")


def codes_for(facts: ModelFacts, pair: Pair) -> Codes:
    """The tokens that tell the model this pair.

    Raises:
        UnsupportedOption: as for `check_told`, but for marks that are left to a template; or both
            languages come to one token.
    """
    known = facts.capabilities.language_codes
    if not known:
        return Codes()
    if facts.capabilities.targets_only:
        return Codes(None, _mark(facts, pair.target))
    if pair.source is None or pair.target is None:
        raise languages_needed(facts, f"knows {len(known)} languages")
    source = _code(facts, pair.source, SOURCE)
    target = _code(facts, pair.target, TARGET)
    if source == target:
        raise UnsupportedOption(
            f"{SOURCE} {pair.source.said!r} and {TARGET} {pair.target.said!r} are one and the same "
            f"token, {target}, to {facts.ref.uri}: take a model that tells them apart",
            option=TARGET,
        )
    return Codes(source, target)


def check_own_pair(facts: ModelFacts, pair: Pair) -> None:
    """Whether the spec asks a one-pair model for its pair.

    A group of languages leaves the side open. A target for which there is a mark is never wrong.

    Raises:
        UnsupportedOption: it asks for another pair.
    """
    own, can = own_pair(facts), facts.capabilities
    if facts.pair is None or not pair.named:
        return
    marked = can.targets_only and pair.target and pair.target.code_among(can.language_codes)
    wrong_target = not marked and _differ(own.target, pair.target)
    if wrong_target or _differ(own.source, pair.source):
        raise UnsupportedOption(
            f"{facts.ref.uri} translates {_shown(facts)} ({facts.pair.origin}), not {pair}: leave "
            f"{SOURCE} and {TARGET} out, take another model, or, where its files are wrong, give "
            'it `prompt: {template: "{{ source }}"}`',
            option=TARGET if wrong_target else SOURCE,
        )


def check_prefix(facts: ModelFacts, pair: Pair) -> None:
    """Whether a model that a prefix tells the languages is told the script that the spec names.

    A prefix is found by its languages alone, and so stands for their usual scripts.

    Raises:
        UnsupportedOption: the spec names another script.
    """
    if not facts.prefix or facts.pair is not None or facts.capabilities.language_codes:
        return
    for side, option in ((pair.target, TARGET), (pair.source, SOURCE)):
        if side is not None and side.unusual:
            raise UnsupportedOption(
                f"{facts.ref.uri} has no prefix for {side.said!r} ({_in_script(side)}), only "
                f"{facts.prefix!r}: name the language without the script, take another model, or "
                "write the instruction into prompt.template",
                option=option,
            )


def assumed(facts: ModelFacts) -> str | None:
    """What a model translates that is told nothing by the spec, with where it says so; or None."""
    if facts.pair is not None:
        return f"{_shown(facts)}, by {facts.pair.origin}"
    codes = facts.capabilities.language_codes
    if len(codes) == 1:
        return (
            f"to {_name(single_language(codes[0]), codes[0])}, the only language it has a mark for"
        )
    return None


def agrees(facts: ModelFacts, pair: Pair) -> bool:
    """Whether a model was made for this very target."""
    target = own_pair(facts).target
    return bool(target and pair.target and target.akin(pair.target))


def languages_needed(facts: ModelFacts, why: str) -> UnsupportedOption:
    """The refusal of a model that has to be told."""
    return UnsupportedOption(f"{facts.ref.uri} {why}: set {SOURCE} and {TARGET}", option=TARGET)


def _mark(facts: ModelFacts, target: Language | None) -> str | None:
    """The mark for a target; a model with one mark, or made for one target, needs no telling."""
    known, own = facts.capabilities.language_codes, own_pair(facts).target
    if target is None:
        by_pair = own.code_among(known) if own is not None else None
        return known[0] if len(known) == 1 else by_pair
    if own is not None and own.akin(target):
        return target.code_among(known)
    return _code(facts, target, TARGET)


def _code(facts: ModelFacts, side: Language, option: str) -> str:
    known = facts.capabilities.language_codes
    found = side.code_among(known)
    if found is not None:
        return found
    near = [code for code, _ in side.variants_among(known)] or near_matches(side.alpha3, known)
    hint = f"did you mean {' or '.join(near)}? It" if near else "it"
    others = [code for code in sorted(known) if code not in near]
    listed = ", ".join((near + others)[:_SHOWN])
    raise UnsupportedOption(
        f"{facts.ref.uri} has no token for {side.said!r} ({_in_script(side)}): {hint} knows "
        f"{listed}{', ...' if len(known) > _SHOWN else ''}",
        option=option,
    )


def _in_script(side: Language) -> str:
    return f"{side.name}, script {side.script}" if side.unusual else side.name


def _differ(own: Language | None, said: Language | None) -> bool:
    return own is not None and said is not None and not own.akin(said)


def _shown(facts: ModelFacts) -> str:
    own, pair = own_pair(facts), facts.pair
    source, target = (pair.source, pair.target) if pair else ("", "")
    return f"from {_name(own.source, source)} to {_name(own.target, target)}"


def _name(side: Language | None, code: str = "") -> str:
    return side.name if side else code
