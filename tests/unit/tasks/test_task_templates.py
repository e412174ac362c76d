"""Templates in honest use: what docs/templates.md promises."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import pytest

from bakeoff.core.errors import InvalidSpec, TemplateFailed
from bakeoff.core.rows import TaskRow
from bakeoff.tasks.filters import FILTERS, TESTS
from bakeoff.tasks.methods import methods_of
from bakeoff.tasks.templates import RowTemplate
from tests.unit.project.tree import ROOT

CELLS: dict[str, Any] = {
    "title": "Röntgen <b>",
    "n": 7,
    "price": 2.5,
    "text_number": "3.7",
    "none": None,
    "tags": ["b", "a", "B"],
    "who": {"name": "Ann", "items": [1, 2], "city": {"zip": "0420"}},
    "turns": [{"role": "user", "text": "Hi"}, {"role": "bot", "text": "Ho"}, {"role": "user"}],
    "my column": "spaced",
    "_id": "u1",
    "day": datetime.date(2024, 2, 29),
    "exact": Decimal("1.10"),
    "flag": True,
}
ROW = TaskRow(0, "1", source="A b c.", question="Which?", choices=("red", "green"), cells=CELLS)


def render(template: str) -> str:
    return RowTemplate(template, "task.template").render(ROW)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ title }}", "Röntgen <b>"),
        ("{{ source }} {{ question }}", "A b c. Which?"),
        ("{{ row['my column'] }} {{ _id }} {{ row._id }}", "spaced u1 u1"),
        (
            "{{ n + 1 }} {{ n * 2 - 1 }} {{ n / 2 }} {{ n // 2 }} {{ n % 2 }} {{ n ** 2 }}",
            "8 13 3.5 3 1 49",
        ),
        ("{{ -n }} {{ price + 1 }} {{ text_number | float + 1 }}", "-7 3.5 4.7"),
        ("{{ who.name }} {{ who['items'] }} {{ who.city.zip }}", "Ann [1, 2] 0420"),
        ("{{ who | tojson }}", '{"name": "Ann", "items": [1, 2], "city": {"zip": "0420"}}'),
        (
            "{{ title | tojson }} {{ day }} {{ exact }} {{ flag }}",
            '"Röntgen <b>" 2024-02-29 1.10 True',
        ),
        ("{{ {'d': day} | tojson }}", '{"d": "2024-02-29"}'),
        (
            "{% for c in choices %}{{ 'ABCD'[loop.index0] }}) {{ c }}{{ ', ' if not loop.last }}"
            "{% endfor %}",
            "A) red, B) green",
        ),
        ("{% for k, v in who.items() %}{{ k }} {% endfor %}", "name items city "),
        ("{% for x in [] %}x{% else %}none{% endfor %}", "none"),
        ("{% for t in turns if t.role == 'user' %}{{ loop.index }}{% endfor %}", "12"),
        ("{% for i in range(2) %}{{ loop.cycle('a', 'b') }}{{ loop.length }}{% endfor %}", "a2b2"),
        ("{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}", "3 7 "),
        ("{% for t in tags %}{{ loop.previtem | default('-') }}{{ t }}{% endfor %}", "-bbaaB"),
        ("{% if n > 5 and 'tgen' in title %}long{% elif n %}short{% endif %}", "long"),
        ("{{ 'y' if none is none else 'n' }} {{ none or 'blank' }}", "y blank"),
        ("{{ missing | default('x') }} {{ missing is defined }}", "x False"),
        ("{{ who.missing | default('x') }} {{ who.get('missing', 'y') }}", "x y"),
        (
            "{% set short = source[:3] %}{{ short }}|{{ source[::-1] }}|{{ tags[1:] }}",
            "A b|.c b A|['a', 'B']",
        ),
        ("{% set x %}{{ n }}!{% endset %}{{ x ~ x }}", "7!7!"),
        ("{% set a, b = tags[:2] %}{{ a }}{{ b }}", "ba"),
        ("{% with x = 2 %}{{ x * n }}{% endwith %}", "14"),
        ("{% raw %}{{ raw }}{% endraw %}{# gone #}", "{{ raw }}"),
        ("a\n{%- if n %} b{% endif -%}\n c", "a bc"),
        ("line\n", "line"),
        ("line\n\n", "line\n"),
        (
            "{{ tags | sort | join(',') }} {{ tags | sort(case_sensitive=true) | join }}",
            "a,b,B Bab",
        ),
        ("{{ tags | unique | join }} {{ tags | reverse | first }} {{ tags | last }}", "ba B B"),
        ("{{ turns | map(attribute='text', default='?') | join(' ') }}", "Hi Ho ?"),
        ("{{ turns | selectattr('role', 'eq', 'bot') | map(attribute='text') | first }}", "Ho"),
        ("{{ turns | selectattr('text', 'undefined') | length }}", "1"),
        ("{{ turns | rejectattr('role', 'in', ['bot']) | length }}", "2"),
        ("{{ tags | map('upper') | join }} {{ ['x', '', 'y'] | select | join }}", "BAB xy"),
        ("{{ [1, 2, 3] | reject('odd') }} {{ [3, 1] | min }} {{ tags | max }}", "[2] 1 b"),
        (
            "{{ [1, 2.5] | sum }} {{ turns | map(attribute='role') | unique | list }}",
            "3.5 ['user', 'bot']",
        ),
        ("{{ 2.567 | round(1) }} {{ 2.1 | round(method='ceil') }} {{ n | round }}", "2.6 3.0 7"),
        (
            "{{ text_number | int }} {{ 'x' | int(4) }} {{ none | int }} {{ '12' | int + 1 }}",
            "3 4 0 13",
        ),
        ("{{ source | upper | lower | title | replace('.', '!') }}", "A B C!"),
        ("{{ '  x ' | trim }}{{ 'xxyx' | trim('x') }} {{ source | wordcount }}", "xy 3"),
        ("{{ source | length }} {{ who | count }} {{ who | items | first | first }}", "6 3 name"),
        (
            "{{ n is odd }} {{ n is divisibleby(7) }} {{ title is string }} {{ who is mapping }}",
            "True True True True",
        ),
        ("{{ source.split() }} {{ 'a,b,c'.split(',', 1) }}", "['A', 'b', 'c.'] ['a', 'b,c']"),
        ("{{ 'a\\nb'.splitlines() | length }} {{ ', '.join(choices) }}", "2 red, green"),
        ("{{ source.startswith('A') }} {{ source.find('b') }} {{ tags.index('a') }}", "True 2 1"),
        ("{{ source.replace('b', 'x', 1).strip('.').upper() }}", "A X C"),
    ],
)
def test_rendered(template: str, text: str) -> None:
    assert render(template) == text


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{{ none }}", "no value in this row: write {{ x or '' }}"),
        ("{{ none ~ 'x' }}", "no value in this row"),
        ("{{ missing }}", "'missing' is undefined"),
        ("{{ who.nam }}", "has no attribute 'nam'"),
        ("{{ source.upper }}", "method upper without calling it: upper()"),
        ("{{ 'x' * 3 }}", "'*' takes numbers"),
        ("{{ n + 'x' }}", "'~' joins as text"),
        ("{{ '1' < 2 }}", "TypeError: '<' not supported"),
        ("{% for x in n %}{% endfor %}", "loops over a int"),
        ("{% for x in none %}{% endfor %}", "a cell without a value"),
        ("{{ [] | first }}", "the list is empty in this row"),
        ("{{ tags | map('nope') }}", "there is no filter 'nope'"),
        ("{{ tags | select('nope') }}", "there is no test 'nope'"),
        ("{{ turns | map(attribute='text') }}", "a dict has no 'text'"),
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
    ],
)
def test_a_row_that_is_refused_says_why(template: str, told: str) -> None:
    with pytest.raises(TemplateFailed, match=r"^task\.template: ") as caught:
        render(template)
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("a\n{{ source", "line 2: unexpected end of template"),
        ("{% if x %}", "line 1: Unexpected end of template"),
        ("\n{{ a | uper }}", "line 2: there is no filter 'uper': did you mean 'upper'"),
        ("{{ a is evn }}", "there is no test 'evn': did you mean 'even'"),
        ("{% macro x() %}{% endmacro %}", "line 1: Macro is switched off: a template has text"),
        ("{% unless x %}", "unknown tag 'unless'"),
    ],
)
def test_a_wrong_template_names_the_line(template: str, told: str) -> None:
    with pytest.raises(InvalidSpec, match=r"^task\.template[:,]") as caught:
        RowTemplate(template, "task.template")
    assert told in caught.value.message


def test_roles_win_over_columns_where_they_are_mapped() -> None:
    cells = {"source": "column", "context": "kept", "choices": "text", "row": "hidden"}
    row = TaskRow(0, "1", source="role", cells=cells)
    found = RowTemplate("{{ source }} {{ context }} {{ choices }} {{ row['row'] }}", "T")
    assert found.render(row) == "role kept text hidden"
    assert found.render(row, {"context": "task"}) == "role kept text hidden"
    assert RowTemplate("{{ labels }}", "T").render(row, {"labels": ["a"]}) == "['a']"
    assert RowTemplate("{{ question or '-' }}{{ choices }}", "T").render(TaskRow(0, "1")) == "-[]"


def test_only_what_is_read_counts_as_a_variable() -> None:
    template = RowTemplate(
        "{% set a = b %}{{ a }}{% for c in range(3) %}{{ c }}{{ loop.index }}{% endfor %}", "T"
    )
    assert template.variables == {"b"}


@pytest.mark.parametrize("name", [n for n in (*FILTERS, *TESTS) if n[0].isalpha()])
def test_every_name_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "templates.md").read_text("utf-8")


def documented() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "templates.md").read_text("utf-8")
    return re.findall(r"```jinja\n(.*?)\n```\n```text\n(.*?)\n```", page, re.DOTALL)


@pytest.mark.parametrize(("template", "text"), documented())
def test_the_examples_of_the_page(template: str, text: str) -> None:
    cells = {
        "subject": " Printer ",
        "pages": 3,
        "note": None,
        "turns": [{"who": "Ann", "said": "Hi"}, {"who": "Bob", "said": "Ho"}],
    }
    row = TaskRow(0, "1", choices=("red", "green"), cells=cells)
    assert RowTemplate(template, "T").render(row) == text


def test_the_page_lists_the_methods() -> None:
    page = (ROOT / "docs" / "templates.md").read_text("utf-8")
    for value in ("", {}, []):
        assert " ".join(sorted(methods_of(value))) in page
    assert len(documented()) == 5
