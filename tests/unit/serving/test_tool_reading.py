"""Calls are read the same in whatever pieces a text comes."""

from __future__ import annotations

import json

import pytest

from bakeoff.serving.tools.forms import FORMS
from bakeoff.serving.tools.reading import ArgumentsGoOn, CallBegins, Reader, Words

CITY = '{"c": "Zü\\"}{", "d": [{"a": 2}]}'
CITY_READ = json.dumps(json.loads(CITY), ensure_ascii=False)
TOOLS = ("weather", "time")


def hermes(name="weather", arguments=CITY, key="arguments"):
    return f'<tool_call>\n{{"name": "{name}", "{key}": {arguments}}}\n</tool_call>'


def bare(name="weather", arguments=CITY, key="parameters"):
    return f'{{"name": "{name}", "{key}": {arguments}}}'


TEXTS = {
    "words alone": ("hermes", "No tools < needed {here}. ", "No tools < needed {here}. ", []),
    "one": ("hermes", hermes(), "", [("weather", CITY_READ)]),
    "words before": ("hermes", "Let me see. " + hermes("time", "{}"), "Let me see. ",
                     [("time", "{}")]),
    "two": ("hermes", hermes() + "\n" + hermes("time", "{}") + "\n", "",
            [("weather", CITY_READ), ("time", "{}")]),
    "words behind": ("hermes", hermes("time", "{}") + "\nDone.", "Done.", [("time", "{}")]),
    "other key": ("hermes", hermes(key="parameters"), "", [("weather", CITY_READ)]),
    "unknown tool": ("hermes", hermes("other", "{}"), "", [("other", "{}")]),
    "arguments as text": ("hermes", hermes("time", '"{\\"a\\": 1}"'), "", [("time", '{"a": 1}')]),
    "no arguments": ("hermes", '<tool_call>{"name": "time"}</tool_call>', "", [("time", "{}")]),
    "arguments first": ("hermes", '<tool_call>{"arguments": {}, "name": "time"}</tool_call>', "",
                        [("time", "{}")]),
    "no close": ("hermes", hermes("time", "{}").removesuffix("\n</tool_call>"), "",
                 [("time", "{}")]),
    "broken": ("hermes", "<tool_call>{name: time}</tool_call>",
               "<tool_call>{name: time}</tool_call>", []),
    "not JSON": ("hermes", hermes("time", '{"a": NaN}'), hermes("time", '{"a": NaN}'), []),
    "cut": ("hermes", hermes()[:40], hermes()[:40], []),
    "no object": ("hermes", "<tool_call> x", "<tool_call> x", []),
    "nearly": ("hermes", "a <tool_cal b", "a <tool_cal b", []),
    "llama": ("llama3", bare(), "", [("weather", CITY_READ)]),
    "llama blanks": ("llama3", "\n" + bare() + "\n", "", [("weather", CITY_READ)]),
    "llama tag": ("llama3", "<|python_tag|>" + bare("time", "{}"), "", [("time", "{}")]),
    "llama two": ("llama3", bare("time", "{}") + "; " + bare(), "",
                  [("time", "{}"), ("weather", CITY_READ)]),
    "llama JSON": ("llama3", '{"a": 1} is JSON', '{"a": 1} is JSON', []),
    "llama other": ("llama3", bare("other", "{}"), bare("other", "{}"), []),
    "llama late": ("llama3", "so: " + bare(), "so: " + bare(), []),
    "mistral": ("mistral", f'[TOOL_CALLS] [{bare(key="arguments")}]', "",
                [("weather", CITY_READ)]),
    "mistral bare": ("mistral", f'[{bare("time", "{}", "arguments")}, {bare()}]', "",
                     [("time", "{}"), ("weather", CITY_READ)]),
    "mistral list": ("mistral", " [1, 2] [TOOL", " [1, 2] [TOOL", []),
    "mistral words": ("mistral", f'Well. [TOOL_CALLS][{bare("time", "{}")}] ok', "Well. ok",
                      [("time", "{}")]),
    "half a character": ("mistral", '[{"name": "time", "arguments": {"a": "\\ud800"}}]', "",
                         [("time", '{"a": "\\ud800"}')]),
}  # fmt: skip


def read(reader, pieces):
    """The words put together, and the calls with their arguments."""
    said = [one for piece in pieces for one in reader.feed(piece)] + reader.end()
    words = "".join(one.text for one in said if isinstance(one, Words))
    names = {one.index: one.name for one in said if isinstance(one, CallBegins)}
    texts = dict.fromkeys(names, "")
    for one in said:
        if isinstance(one, ArgumentsGoOn):
            texts[one.index] += one.text
    assert list(names) == list(range(len(names)))
    return words, [(names[at], texts[at]) for at in names]


def splits(text):
    """Every way to cut it into two and into three pieces, and characters."""
    for first in range(len(text) + 1):
        yield [text[:first], text[first:]]
        for second in range(first, len(text) + 1):
            yield [text[:first], text[first:second], text[second:]]
    yield list(text)


@pytest.mark.parametrize("name", TEXTS)
def test_calls_are_the_same_in_whatever_pieces_the_text_comes(name):
    form, text, words, calls = TEXTS[name]
    for pieces in splits(text):
        assert read(Reader(FORMS[form], TOOLS), pieces) == (words, calls), pieces
    for _, arguments in calls:
        assert isinstance(json.loads(arguments), dict)


@pytest.mark.parametrize("name", ["one", "two", "llama", "mistral bare"])
def test_where_calls_are_certain_their_arguments_come_as_they_are_written(name):
    form, text, words, calls = TEXTS[name]
    written = [(tool, CITY if made == CITY_READ else made) for tool, made in calls]
    for pieces in splits(text):
        assert read(Reader(FORMS[form], TOOLS, certain=True), pieces) == (words, written)
    reader = Reader(FORMS[form], TOOLS, certain=True)
    place = text.index("Zü")
    told = reader.feed(text[: place + 2])
    assert any(isinstance(one, CallBegins) for one in told)
    arguments = [one for one in told if isinstance(one, ArgumentsGoOn)]
    assert arguments[-1].text.endswith("Zü")


@pytest.mark.parametrize("certain", [True, False])
def test_calls_beyond_the_most_are_dropped(certain):
    form, text, _, _ = TEXTS["two"]
    _, calls = read(Reader(FORMS[form], TOOLS, certain=certain, most=1), [text])
    assert [name for name, _ in calls] == ["weather"]
