"""Short English passages about people and events, with questions: what `qa` learns.

A passage states facts ("Anna lives in Rome. She keeps three cats."); a question asks for one of
them in other words; the answer is a span of the passage, or there is none: the passage says it
of somebody else only, or says nothing of the kind.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

from tests.zoo.data_qa_words import ASIDES, RELATIONS, TWINS, VALUES, WOMEN, Relation

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Question:
    """A question on a passage; `start` is the answer's first character, None: no answer.

    `hints` are pairs of characters (first, end) in the passage that only training sees: first
    the sentences about the person asked for, then all values of the kind asked for.
    """

    question: str
    context: str
    answer: str
    start: int | None
    hints: tuple[Spans, Spans] = ((), ())


@dataclass(frozen=True)
class _Fact:
    relation: Relation
    person: str
    value: str
    extra: str


@dataclass(frozen=True)
class _Placed:
    """A fact with the characters of its sentence, its value and, where named, its person."""

    fact: _Fact
    sentence: tuple[int, int]
    value: int
    person: int | None


def _name(rng: random.Random, taken: set[str]) -> str:
    """Draw a name not yet taken; one in eight is made up, so that any name works."""
    while True:
        name = rng.choice(VALUES["person"])
        if rng.random() < 0.125:
            parts = rng.choices(
                "ba de fi go lu ma ne ro sa ti vo ki pe na el or an is".split(), k=3
            )
            name = "".join(parts[: rng.randint(2, 3)]).capitalize()
        if name not in taken:
            taken.add(name)
            return name


def _facts(rng: random.Random, people_at_most: int, alike: float) -> list[_Fact]:
    """Draw facts; with probability `alike` the people have facts of the same kinds."""
    taken: set[str] = set()
    people = [_name(rng, taken) for _ in range(rng.randint(1, people_at_most))]
    kinds = rng.sample(RELATIONS, rng.randint(1, 2)) if rng.random() < alike else None
    facts: list[_Fact] = []
    used: set[str] = set()
    told: set[tuple[str, str | None]] = set()
    for person in people:
        for relation in kinds or rng.sample(RELATIONS, rng.randint(1, people_at_most)):
            value = rng.choice(VALUES[relation.value])
            # One value stands once in a passage: "Who lives in Rome?" has one answer.
            twin = (person, TWINS.get(relation.name))
            if value in used or value in taken or twin in told:
                continue
            told.add((person, relation.name))
            used.add(value)
            facts.append(_Fact(relation, person, value, rng.choice(VALUES[relation.extra])))
    return facts


def _state(rng: random.Random, fact: _Fact, pronoun: bool, at: int) -> tuple[str, _Placed]:
    """Return a sentence that stands at character `at`, with the places in it."""
    template = rng.choice(fact.relation.statements)
    subject = fact.person
    if pronoun and template.startswith("{p} "):
        subject = "She" if fact.person in WOMEN else "He"
    text = template.replace("{x}", fact.extra)
    marks = {"{p}": subject, "{a}": fact.value}
    places: dict[str, int] = {}
    while found := [mark for mark in marks if mark in text]:
        mark = min(found, key=text.index)
        places[mark] = at + text.index(mark)
        text = text.replace(mark, marks[mark], 1)
    person = places["{p}"] if subject == fact.person else None
    return text, _Placed(fact, (at, at + len(text)), places["{a}"], person)


def _ask(rng: random.Random, fact: _Fact, inverse: bool) -> str:
    choices = fact.relation.inverse if inverse else fact.relation.questions
    question = rng.choice(choices)
    for mark, text in (("{p}", fact.person), ("{a}", fact.value), ("{x}", fact.extra)):
        question = question.replace(mark, text)
    return question


def _passage(rng: random.Random, facts: list[_Fact]) -> tuple[str, list[_Placed]]:
    """Write the facts down; return the text and where each of them stands."""
    order = facts if rng.random() < 0.6 else rng.sample(facts, len(facts))
    text, last = "", ""
    placed: list[_Placed] = []
    for fact in order:
        if text and rng.random() < 0.15:
            text, last = f"{text}{rng.choice(ASIDES)} ", ""
        pronoun = fact.person == last and fact.person in VALUES["person"] and rng.random() < 0.4
        sentence, place = _state(rng, fact, pronoun, len(text))
        text, last = f"{text}{sentence} ", fact.person
        placed.append(place)
    return text.rstrip(), placed


def _unanswerable(rng: random.Random, facts: list[_Fact]) -> _Fact:
    """Return something that the facts do not say, and that a question can ask for."""
    known = {(fact.person, fact.relation.name) for fact in facts}
    known |= {(person, TWINS[name]) for person, name in known if name in TWINS}
    people = [fact.person for fact in facts] + [rng.choice(VALUES["person"])]
    asked = [fact.relation for fact in facts] + rng.sample(RELATIONS, 2)
    while True:
        relation, person = rng.choice(asked), rng.choice(people)
        if (person, relation.name) not in known:
            return _Fact(relation, person, "", rng.choice(VALUES[relation.extra]))
        people.append(rng.choice(VALUES["person"]))


def _hints(placed: list[_Placed], asked: _Fact) -> tuple[Spans, Spans]:
    about = tuple(place.sentence for place in placed if place.fact.person == asked.person)
    alike = tuple(
        (place.value, place.value + len(place.fact.value))
        for place in placed
        if place.fact.relation == asked.relation
    )
    return about, alike


def _one(rng: random.Random, people_at_most: int, alike: float) -> Question:
    facts: list[_Fact] = []
    while not facts:
        facts = _facts(rng, people_at_most, alike)
    context, placed = _passage(rng, facts)
    if rng.random() < 0.25:
        fact = _unanswerable(rng, facts)
        return Question(_ask(rng, fact, False), context, "", None, _hints(placed, fact))
    place = rng.choice(placed)
    fact, hints = place.fact, _hints(placed, place.fact)
    if fact.relation.inverse and place.person is not None and rng.random() < 0.2:
        return Question(_ask(rng, fact, True), context, fact.person, place.person, hints)
    return Question(_ask(rng, fact, False), context, fact.value, place.value, hints)


def is_held_out(question: Question) -> bool:
    """Whether a passage is kept from training: one in ten, by its hash."""
    return zlib.crc32(question.context.encode()) % 10 == 0


def draw(rng: random.Random, held_out: bool) -> Question:
    """Return a question on a passage about 1 to 4 people, held out or one of the others."""
    while True:
        question = _one(rng, 4, alike=0.4)
        if is_held_out(question) == held_out:
            return question


def draw_easy(rng: random.Random, held_out: bool = False) -> Question:
    """Return a question on a short passage about people who differ in little but their names."""
    while True:
        question = _one(rng, 2, alike=0.9)
        if is_held_out(question) == held_out:
            return question


def rows(n: int, seed: int) -> list[Question]:
    """Return `n` different held-out questions, the same for the same seed."""
    rng, found = random.Random(f"qa-{seed}"), dict[Question, None]()
    while len(found) < n:
        found[draw(rng, held_out=True)] = None
    return list(found)
