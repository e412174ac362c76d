"""Short English passages about people and events, with questions: what `qa` learns.

A passage states facts ("Anna lives in Rome. She keeps three cats."); a question asks for one of
them in other words; the answer is a span of the passage, or there is none: the passage says it
of somebody else only, or says nothing of the kind.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

from tests.zoo.data_qa_words import ASKING, RELATIONS, VALUES, WOMEN, Relation


@dataclass(frozen=True)
class Question:
    """A question on a passage; `start` is the answer's first character, None: no answer."""

    question: str
    context: str
    answer: str
    start: int | None


@dataclass(frozen=True)
class _Fact:
    relation: Relation
    person: str
    value: str
    extra: str


def _name(rng: random.Random, taken: set[str]) -> str:
    """Draw a name not yet taken; one in eight is made up, so that any name works."""
    while True:
        name = rng.choice(VALUES["person"])
        if rng.random() < 0.125:
            parts = rng.choices("ba de fi go lu ma ne ro sa ti vo ki pe na el or an is".split(), k=3)
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
    for person in people:
        for relation in kinds or rng.sample(RELATIONS, rng.randint(1, people_at_most)):
            value = rng.choice(VALUES[relation.value])
            # One value stands once in a passage: "Who lives in Rome?" has one answer.
            if value in used or value in taken:
                continue
            used.add(value)
            facts.append(_Fact(relation, person, value, rng.choice(VALUES[relation.extra])))
    return facts


def _state(rng: random.Random, fact: _Fact, pronoun: bool) -> tuple[str, int, int]:
    """Return a sentence with the places of its value and of its person in it."""
    template = rng.choice(fact.relation.statements)
    subject = fact.person
    if pronoun and template.startswith("{p} "):
        subject = "She" if fact.person in WOMEN else "He"
    template = template.replace("{x}", fact.extra)
    marks = {"{p}": subject, "{a}": fact.value}
    places: dict[str, int] = {}
    while found := [mark for mark in marks if mark in template]:
        mark = min(found, key=template.index)
        places[mark] = template.index(mark)
        template = template.replace(mark, marks[mark], 1)
    return template, places["{a}"], places["{p}"] if subject == fact.person else -1


def _ask(rng: random.Random, fact: _Fact, inverse: bool) -> str:
    choices = fact.relation.inverse if inverse else fact.relation.questions
    question = rng.choice(choices)
    for mark, text in (("{p}", fact.person), ("{a}", fact.value), ("{x}", fact.extra)):
        question = question.replace(mark, text)
    return question


def _passage(
    rng: random.Random, facts: list[_Fact]
) -> tuple[str, dict[_Fact, int], dict[_Fact, int]]:
    """Write the facts down; return the text and where each value and each person stands."""
    order = facts if rng.random() < 0.6 else rng.sample(facts, len(facts))
    text, last = "", ""
    values: dict[_Fact, int] = {}
    persons: dict[_Fact, int] = {}
    for fact in order:
        if text and rng.random() < 0.15:
            text, last = f"{text} {rng.choice(ASKING)}", ""
        pronoun = fact.person == last and fact.person in VALUES["person"] and rng.random() < 0.4
        sentence, value, person = _state(rng, fact, pronoun)
        start = len(text) + 1 if text else 0
        text = f"{text} {sentence}" if text else sentence
        values[fact] = start + value
        if person >= 0:
            persons[fact] = start + person
        last = fact.person
    return text, values, persons


def _unanswerable(rng: random.Random, facts: list[_Fact]) -> str:
    """Ask for something that the facts do not say."""
    known = {(fact.person, fact.relation.name) for fact in facts}
    people = [fact.person for fact in facts] + [rng.choice(VALUES["person"])]
    asked = [fact.relation for fact in facts] + rng.sample(RELATIONS, 2)
    while True:
        relation, person = rng.choice(asked), rng.choice(people)
        if (person, relation.name) not in known:
            extra = rng.choice(VALUES[relation.extra])
            return _ask(rng, _Fact(relation, person, "", extra), inverse=False)
        people.append(rng.choice(VALUES["person"]))


def _one(rng: random.Random, people_at_most: int, alike: float) -> Question:
    facts = _facts(rng, people_at_most, alike)
    while not facts:
        facts = _facts(rng, people_at_most, alike)
    context, values, persons = _passage(rng, facts)
    if rng.random() < 0.25:
        return Question(_unanswerable(rng, facts), context, "", None)
    fact = rng.choice(facts)
    if fact.relation.inverse and fact in persons and rng.random() < 0.2:
        return Question(_ask(rng, fact, True), context, fact.person, persons[fact])
    return Question(_ask(rng, fact, False), context, fact.value, values[fact])


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
