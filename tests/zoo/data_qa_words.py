"""The words and sentence patterns of `data_qa`."""

from __future__ import annotations

from dataclasses import dataclass

WOMEN = (
    "Anna Maria Sofia Emma Julia Laura Clara Nora Ida Ella Alice Lucy Grace Ruth Helen Rosa Elena "
    "Irene Vera Olga Marta Paula Lena Mia Eva Jane Kate Amy Fatima Aisha Yuki Priya Ingrid Zoe"
).split()
MEN = (
    "Tom Ben Paul Peter Max Leo Hugo Oscar Adam Simon David Daniel Martin Victor Felix Anton Ivan "
    "Omar Ali Hassan Kenji Ravi Lars Erik Bruno Carlos Diego Marco Luca Noah Jack Harry Sam Bob"
).split()
_PLACES = (
    "Rome Paris London Berlin Madrid Vienna Oslo Lisbon Prague Athens Dublin Warsaw Cairo Tokyo "
    "Kyoto Delhi Lima Boston Chicago Toronto Sydney Nairobi Geneva Zurich Munich Hamburg Lyon "
    "Milan Naples Porto Seville Bergen Tallinn Riga Helsinki Krakow Budapest Istanbul Lagos Quebec"
).split()
_JOBS = (
    "nurse teacher baker farmer pilot lawyer doctor painter gardener driver cook librarian dentist "
    "plumber tailor carpenter journalist translator photographer waiter butcher florist engineer "
    "architect actor electrician accountant musician sailor judge"
).split()
_MONTHS = (
    "January February March April May June July August September October November December"
).split()

VALUES: dict[str, list[str]] = {
    "": [""],
    "person": WOMEN + MEN,
    "man": MEN,
    "place": _PLACES,
    "job": [("an " if job[0] in "aeiou" else "a ") + job for job in _JOBS],
    "year": [str(year) for year in range(1930, 2021)],
    "number": "two three four five six seven eight nine ten eleven twelve twenty 14 25 30".split(),
    "animal": "cats dogs goats hens horses rabbits sheep ducks parrots geese cows".split(),
    "colour": "red blue green yellow white black grey brown orange purple pink silver".split(),
    "thing": "car bicycle coat house boat hat door van umbrella kitchen".split(),
    "time": [f"{h}:{m}" for h in range(6, 23) for m in ("00", "15", "30", "45")]
    + [f"{w} o'clock" for w in "six seven eight nine ten eleven noon".split()[:6]],
    "instrument": "violin piano guitar flute drums trumpet cello harp organ clarinet".split(),
    "food": (
        "tomato soup|fresh bread|apple pie|fried fish|rice and beans|lamb stew|pizza|cheese|"
        "noodles|potato salad|roast chicken|chocolate cake|dumplings|pancakes"
    ).split("|"),
    "price": [
        f"{n} {c}"
        for n in (5, 12, 20, 35, 40, 60, 75, 90, 120, 250)
        for c in ("euros", "dollars", "pounds")
    ],
    "item": (
        "a lamp|a carpet|an old clock|a wooden chair|a camera|a pair of boots|a silver ring|"
        "a sofa|a suitcase|a fishing rod|a sewing machine|a painting"
    ).split("|"),
    "date": [f"{d} {m}" for d in (1, 2, 3, 5, 7, 9, 11, 14, 17, 20, 22, 25, 28) for m in _MONTHS],
    "day": [f"{d}s" for d in "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()],
    "language": "French German Spanish Italian Japanese Arabic Greek Russian Polish Hindi".split(),
    "sport": "tennis football chess golf hockey basketball handball rugby volleyball".split(),
    "school": "history|physics|law|medicine|biology|music|mathematics|chemistry|art".split("|"),
}


@dataclass(frozen=True)
class Relation:
    """A kind of fact. {p} is who it is about, {a} what is asked for, {x} an extra word."""

    name: str
    value: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    inverse: tuple[str, ...] = ()
    extra: str = ""


RELATIONS = [
    Relation(
        "home",
        "place",
        (
            "{p} lives in {a}.",
            "{p} has a flat in {a}.",
            "{p} moved to {a} last year.",
            "The home of {p} is in {a}.",
            "{p} has been living in {a} for years.",
        ),
        (
            "Where does {p} live?",
            "In which city does {p} live?",
            "Where is {p}'s home?",
            "What city does {p} live in?",
        ),
        ("Who lives in {a}?",),
    ),
    Relation(
        "birthplace",
        "place",
        ("{p} was born in {a}.", "{p} comes from {a}.", "The birthplace of {p} is {a}."),
        ("Where was {p} born?", "Where does {p} come from?", "What is the birthplace of {p}?"),
        ("Who was born in {a}?", "Who comes from {a}?"),
    ),
    Relation(
        "year",
        "year",
        ("{p} was born in {a}.", "{p} came into the world in {a}."),
        ("When was {p} born?", "In which year was {p} born?", "What year was {p} born in?"),
    ),
    Relation(
        "job",
        "job",
        ("{p} works as {a}.", "{p} is {a}.", "{p} earns a living as {a}.", "{p} became {a}."),
        (
            "What is {p}'s job?",
            "What does {p} do for a living?",
            "What does {p} work as?",
            "What is the profession of {p}?",
        ),
        ("Who works as {a}?", "Who is {a}?"),
    ),
    Relation(
        "count",
        "number",
        ("{p} keeps {a} {x}.", "{p} owns {a} {x}.", "{p} looks after {a} {x}."),
        (
            "How many {x} does {p} keep?",
            "How many {x} does {p} have?",
            "How many {x} does {p} own?",
        ),
        extra="animal",
    ),
    Relation(
        "animal",
        "animal",
        ("{p} keeps {x} {a} in the garden.", "{p} feeds {x} {a} every morning."),
        ("What animals does {p} keep?", "Which animals does {p} have?"),
        extra="number",
    ),
    Relation(
        "colour",
        "colour",
        ("The {x} of {p} is {a}.", "{p} has a new {x}, and it is {a}.", "{p}'s {x} is {a}."),
        (
            "What colour is {p}'s {x}?",
            "What is the colour of {p}'s {x}?",
            "Which colour does {p}'s {x} have?",
        ),
        extra="thing",
    ),
    Relation(
        "starts",
        "time",
        ("{p} starts work at {a}.", "{p} begins to work at {a}.", "{p} is at work from {a} on."),
        (
            "When does {p} start work?",
            "At what time does {p} start work?",
            "What time does {p} begin to work?",
        ),
    ),
    Relation(
        "bus",
        "time",
        ("{p} takes the bus at {a}.", "{p} leaves by bus at {a}."),
        (
            "When does {p} take the bus?",
            "At what time does {p} take the bus?",
            "What time does {p} leave by bus?",
        ),
    ),
    Relation(
        "instrument",
        "instrument",
        ("{p} plays the {a}.", "{p} is learning the {a}.", "{p} practises the {a} at home."),
        ("Which instrument does {p} play?", "What instrument does {p} play?"),
        ("Who plays the {a}?",),
    ),
    Relation(
        "food",
        "food",
        ("{p} likes {a} best.", "{p}'s favourite food is {a}.", "{p} loves to eat {a}."),
        (
            "What is {p}'s favourite food?",
            "What does {p} like to eat?",
            "Which food does {p} love?",
        ),
        ("Who likes {a}?",),
    ),
    Relation(
        "married",
        "person",
        ("{p} is married to {a}.", "{p} married {a}."),
        ("Who is {p} married to?", "Who did {p} marry?"),
    ),
    Relation(
        "brother",
        "man",
        (
            "{p} has a brother called {a}.",
            "{p}'s brother is {a}.",
            "The brother of {p} is called {a}.",
        ),
        (
            "Who is {p}'s brother?",
            "What is the name of {p}'s brother?",
            "What is {p}'s brother called?",
        ),
    ),
    Relation(
        "bought",
        "item",
        ("{p} bought {a} for {x}.", "{p} paid {x} for {a}."),
        ("What did {p} buy?", "What did {p} pay {x} for?"),
        ("Who bought {a}?",),
        extra="price",
    ),
    Relation(
        "paid",
        "price",
        ("{p} bought {x} for {a}.", "{p} paid {a} for {x}."),
        ("How much did {p} pay?", "How much did {p} pay for {x}?", "How much money did {p} spend?"),
        extra="item",
    ),
    Relation(
        "language",
        "language",
        ("{p} speaks {a}.", "{p} learned {a} at school.", "{p} is fluent in {a}."),
        ("Which language does {p} speak?", "What language does {p} speak?"),
        ("Who speaks {a}?",),
    ),
    Relation(
        "sport",
        "sport",
        ("{p} plays {a} on {x}.", "On {x} {p} plays {a}."),
        (
            "Which sport does {p} play?",
            "Which game does {p} play?",
            "What game does {p} play on {x}?",
        ),
        ("Who plays {a}?",),
        extra="day",
    ),
    Relation(
        "day",
        "day",
        ("{p} plays {x} on {a}.", "On {a} {p} plays {x}."),
        ("When does {p} play {x}?", "On which day does {p} play {x}?"),
        extra="sport",
    ),
    Relation(
        "studies",
        "school",
        ("{p} studies {a}.", "{p} is a student of {a}.", "{p} reads {a} at the university."),
        ("What does {p} study?", "Which subject does {p} study?"),
        ("Who studies {a}?",),
    ),
    Relation(
        "birthday",
        "date",
        ("{p}'s birthday is on {a}.", "{p} has a birthday on {a}."),
        ("When is {p}'s birthday?", "On what date is {p}'s birthday?"),
    ),
    Relation(
        "visit",
        "place",
        ("{p} goes to {a} on {x}.", "{p} will visit {a} on {x}."),
        ("Where does {p} go on {x}?", "Where will {p} go?", "Which city will {p} visit?"),
        extra="date",
    ),
]

ASIDES = [
    "It rained all day.",
    "The weather was fine.",
    "Nobody was surprised.",
    "The street was quiet.",
    "Everybody knows everybody here.",
    "The town is small.",
    "That was long ago.",
    "The summer was warm.",
    "There is a river behind the houses.",
    "The shops close early.",
]

# Kinds of fact whose sentences answer each other's questions.
TWINS = {
    "bought": "paid",
    "paid": "bought",
    "count": "animal",
    "animal": "count",
    "sport": "day",
    "day": "sport",
}
