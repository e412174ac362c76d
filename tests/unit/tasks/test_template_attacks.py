"""Hostile templates: each is refused, quickly, in little memory, and shows nothing."""

from __future__ import annotations

import resource
import sys
import time

import pytest

from bakeoff.core.errors import InvalidSpec, TemplateFailed
from bakeoff.core.rows import TaskRow
from bakeoff.tasks import budget
from bakeoff.tasks.templates import RowTemplate
from tests.support import scale

MIB = 1024 * 1024
BIG = "ab " * (8 * MIB // 3)
SAME = "a" * (8 * MIB)
ROW = TaskRow(
    0,
    "1",
    source="The source.",
    choices=("red", "green"),
    cells={
        "a": "x",
        "big": BIG,
        "same": SAME,
        "lines": "\n" * (8 * MIB),
        "greek": "ΐ" * (4 * MIB),
        "numbers": list(range(50_000)),
        "clash": [n * (2**61 - 1) for n in range(100_000)],
        "d": {"k": 1},
    },
)


def attempt(template: str) -> str:
    """What comes of it: a refusal as text; anything else fails the test."""
    with pytest.raises((InvalidSpec, TemplateFailed)) as caught:
        shown = RowTemplate(template, "T").render(ROW)
        pytest.fail(f"rendered {shown[:100]!r}")
    assert len(caught.value.message) < 2_000
    return caught.value.message


ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ source.upper.__self__ }}",
    "{{ source.upper['__globals__'] }}",
    "{{ '{0.__class__}'.format(source) }}",
    "{{ '{0.__class__}'|format(source) }}",
    "{{ '%s'|format(source) }}",
    "{{ '%(x)s' % d }}",
    "{{ '{x}'.format_map(d) }}",
    "{{ ['x']|map(attribute='__class__')|list }}",
    "{{ ['x']|map('attr', '__class__')|list }}",
    "{{ ['x']|map('format')|list }}",
    "{{ ['x']|map('_made')|list }}",
    "{{ ['x']|selectattr('__class__')|list }}",
    "{{ ['x']|sort(attribute='__class__') }}",
    "{{ ['x']|join(attribute='__class__.__name__') }}",
    "{{ ['x']|groupby('__class__') }}",
    "{{ ['x']|select('callable')|list }}",
    "{{ a|_made }}",
    "{{ a is sameas(a) }}",
    "{{ cycler('a', 'b').__init__.__globals__ }}",
    "{{ joiner().__init__.__globals__ }}",
    "{{ lipsum() }}",
    "{{ namespace(x=1) }}",
    "{% set ns = namespace() %}",
    "{% set ns.x = 1 %}",
    "{{ dict(a=1) }}",
    "{{ range.__self__ }}",
    "{{ range }}",
    "{{ self }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self['__init__'] }}",
    "{{ loop }}",
    "{% for x in choices %}{{ loop }}{% endfor %}",
    "{% for x in choices %}{{ loop.__init__.__globals__ }}{% endfor %}",
    "{% for x in choices %}{{ loop['_iterable'] }}{% endfor %}",
    "{% for x in choices %}{{ loop._iterator }}{% endfor %}",
    "{% for x in choices %}{{ loop.cycle }}{% endfor %}",
    "{% for x in choices %}{{ [loop] }}{% endfor %}",
    "{% for x in choices %}{% for y in loop %}{% endfor %}{% endfor %}",
    "{% for x in choices recursive %}{{ loop(choices) }}{% endfor %}",
    "{% macro m() %}{{ varargs }}{% endmacro %}{{ m(1) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{{ caller() }}",
    "{{ varargs }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% extends 'x' %}",
    "{% block x %}{% endblock %}",
    "{% filter upper %}x{% endfilter %}",
    "{% autoescape true %}{{ a }}{% endautoescape %}",
    "{% do a %}",
    "{% trans %}x{% endtrans %}",
    "{% break %}",
    "{% debug %}",
    "{{ _('x') }}",
    "{{ gettext('x') }}",
    "{{ missing.gi_frame }}",
    "{{ missing._undefined_exception }}",
    "{{ missing }}",
    "{{ (missing|default(missing)) }}",
    "{{ context.environment }}",
    "{{ environment }}",
    "{{ numbers.append(1) }}",
    "{{ row.update({}) }}",
    "{{ row.pop('a') }}",
    "{{ source.encode() }}",
    "{{ source.translate({}) }}",
    "{{ source.upper }}",
    "{{ source.ﬁnd('x') }}",
    "{{ ''.\u005f\u005fclass\u005f\u005f }}",
    "{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ (1).real.__class__ }}",
    "{{ 1|abs.__class__ }}",
    "{{ a[1:2, 3] }}",
    "{{ a() }}",
    "{{ range(1)() }}",
]


@pytest.mark.parametrize("template", ESCAPES)
def test_escapes(template: str) -> None:
    message = attempt(template)
    for leak in ("0x", "<class", "<built-in", "<function", "<bound", "object at", "/"):
        assert leak not in message.replace("/ ", ""), message


PAIRS = "{% set a = [a, a] %}" * 60
BOMBS = [
    "{{ 'a' * 10**10 }}",
    "{{ ['a'] * 10**9 }}",
    "{{ range(10**9)|list }}",
    "{{ range(0, -(10**30), -1)|list }}",
    "{{ 10**10**10 }}",
    "{{ 9**9**9**9 }}",
    "{{ (2**200) * (2**200) }}",
    "{{ 1e99999 }}",
    "{{ 2.0 ** 10000 }}",
    "{{ " + "9" * 5_000 + " }}",
    "{{ 0x" + "f" * 90_000 + " }}",
    "{{ " + "1_" * 45_000 + "1 }}",
    "{{ same|int }}",
    "{{ 1|round(10**9) }}",
    "{{ 2.5|round(10**9, 'ceil') }}",
    "{{ 12345|round(-10**9) }}",
    "{{ '%1000000000d' is even }}",
    "{{ '%1000000000d' is divisibleby 3 }}",
    "{{ '%1000000000d' % 3 }}",
    "{{ a|center(10**10) }}",
    "{{ a.ljust(10**10) }}",
    "{{ a.zfill(10**10) }}",
    "{{ a|indent(10**10) }}",
    "{{ d|tojson(indent=10**10) * 2 }}",
    "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 40,
    "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a + a %}" * 40,
    "{% set a %}xxxxxxxxxxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40,
    "{% set a = [1] %}" + "{% set a = a + a %}" * 60,
    "{% set a = [big] %}" + "{% set a = a + a %}" * 60,
    PAIRS + "{{ a }}",
    PAIRS + "{{ a|tojson }}",
    PAIRS + "{{ a == a[0] }}",
    "{% set a = ('x',) %}" + "{% set a = (a, a) %}" * 60 + "{{ {a: 1} }}",
    "{% set a = {} %}" + "{% set a = {1: a, 2: a} %}" * 60 + "{{ a }}",
    "{% set a = [1] %}{% for x in range(99) %}{{ loop.changed("
    + "numbers, " * 200
    + ") }}{% endfor %}",
    "{% for i in range(9999) %}" * 3 + "{% endfor %}" * 3,
    "{% for i in range(9999) %}" + "y" * 90_000 + "{% endfor %}",
    "{% for i in range(9999) %}{{ big }}{% endfor %}",
    "{% for i in range(9999) %}{{ same.upper()|length }}{% endfor %}",
    "{% for i in range(9999) %}{{ numbers|sort|length }}{% endfor %}",
    "{% for x in numbers %}{% for y in numbers %}{{ x }}{% endfor %}{% endfor %}",
    "{% for x in big %}{% endfor %}",
    "{{ big.split()|length }}",
    "{{ big.split('a')|length }}",
    "{{ lines.splitlines()|length }}",
    "{{ same|list|length }}",
    "{{ same.strip(same) }}",
    "{{ same.rsplit('b' ~ same) }}",
    "{{ same.replace('a', big) }}",
    "{{ same.replace('', 'xxxxxxxxxx') }}",
    "{{ same|replace('a', 'bbbbbbbbbbbb') }}",
    "{{ same.join(numbers) }}",
    "{{ numbers|join(same) }}",
    "{% set g = greek.upper() %}{{ g ~ g ~ g ~ g }}",
    "{{ [[same, same], [same, same]]|tojson }}",
    "{{ (big ~ big ~ big)|wordcount }}",
    "".join(f"{{% set a{n} = big[1:] %}}" for n in range(300)),
    "".join(f"{{% set a{n} = big.upper() %}}" for n in range(300)),
]


def peak_memory() -> int:
    """The most this process ever took, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("template", BOMBS, ids=lambda t: t[:60])
def test_bombs(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_STEPS", scale(budget.MAX_STEPS))
    before, began = peak_memory(), time.monotonic()
    attempt(template)
    assert time.monotonic() - began < 6
    assert peak_memory() - before < 200 * MIB


@pytest.mark.parametrize(
    "template",
    [
        "{{ clash|unique|length }}",
        "{% for i in range(9999) %}{{ big.count('ab ab') }}{% endfor %}",
        "{% for i in range(9999) %}{{ 'ab ab x' in big }}{% endfor %}",
        "{% for i in range(9999) %}{{ big is eq(same) }}{% endfor %}"
        + "{% for i in range(999) %}{% for j in range(999) %}{% if big == same %}{% endif %}"
        + "{% endfor %}{% endfor %}",
        "{% for i in range(999) %}{% for j in range(999) %}"
        + "{% if a %}{% endif %}" * 500
        + "{% endfor %}{% endfor %}",
    ],
)
def test_time_runs_out(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget.Budget.__init__, "__defaults__", (0.3,))
    began = time.monotonic()
    assert "took more than" in attempt(template)
    assert time.monotonic() - began < 3


DEEP = [
    "{{ " + "(" * scale(10_000) + "1" + ")" * scale(10_000) + " }}",
    "{{ " + "[" * scale(10_000) + "]" * scale(10_000) + " }}",
    "{{ " + "-" * scale(10_000) + "1 }}",
    "{{ " + "not " * scale(10_000) + "1 }}",
    "{{ a" + ".b" * scale(20_000) + " }}",
    "{{ a" + "|upper" * scale(12_000) + " }}",
    "{{ a" + "[0]" * scale(20_000) + " }}",
    "{{ a" + "()" * scale(20_000) + " }}",
    "{{ 1" + "+1" * scale(20_000) + " }}",
    "{{ 1" + "~1" * 20_000 + " }}",
    "{{ 1" + " and 1" * scale(15_000) + " }}",
    "{{ 1" + " if 1 else 1" * scale(7_000) + " }}",
    "{% if a %}" * scale(9_000) + "{% endif %}",
    "{% for i in a %}" * scale(4_000),
    "{% for i in a %}" * 25 + "x" + "{% endfor %}" * 25,
    "{% if a %}" + "{% elif a %}" * 6_000 + "{% endif %}",
    "{% set x %}" * scale(2_000),
    "{{ a }}" * 14_000,
    "{{ [" + "1," * 11_000 + "] }}",
    "{{ a(" + "a," * 45_000 + ") }}",
    "{{" * 50_000,
    "{%" * 50_000,
    "{#" * 50_000,
    "{{ '" + "\\" * 90_000,
    "{% raw %}" * 10_000,
    "x" * 100_001,
]


@pytest.mark.parametrize("template", DEEP, ids=lambda t: f"{t[:20]}-{len(t)}")
def test_what_is_too_deep_or_too_long_is_refused_while_compiling(template: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidSpec, match=r"^T"):
        RowTemplate(template, "T")
    assert time.monotonic() - began < 6


def test_depth_does_not_rest_on_python_s_own_limit() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(60_000)
    try:
        with pytest.raises(InvalidSpec, match="nested too deeply"):
            RowTemplate("{{ " + "-" * 5_000 + "1 }}", "T")
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    "template",
    [
        "{{ range(9999)|list|length }}",
        "{{ [1, 2]|map('string')|join }}",
        "{{ 'a'|upper ~ 2**3 }}",
        "{{ (1, 2)[0:1] }}",
        "{{ 3 is odd }}",
        "{% if 1 < 2 %}x{% endif %}",
    ],
)
def test_nothing_runs_while_compiling(template: str) -> None:
    assert budget.CURRENT.get() is None  # `current()` raises without a rendering
    assert RowTemplate(template, "T").render(ROW)


def test_cells_are_data() -> None:
    row = TaskRow(0, "1", source="{{ 7 * 7 }}{% for %}", cells={"x": "{{ row }}", "y": "{{ x }}"})
    template = RowTemplate("{{ source }} {{ x }} {{ y ~ '{{ 1 }}' }} {{ [x]|join }}", "T")
    assert template.render(row) == "{{ 7 * 7 }}{% for %} {{ row }} {{ x }}{{ 1 }} {{ row }}"


def test_a_rendering_leaves_the_row_alone() -> None:
    cells = {"l": [3, 1, 2], "d": {"b": 1}}
    row = TaskRow(0, "1", cells=cells)
    RowTemplate("{{ l|sort }}{{ l|reverse }}{% set l = 1 %}{% set d = {} %}", "T").render(row)
    assert cells == {"l": [3, 1, 2], "d": {"b": 1}}


def test_every_rendering_has_a_budget_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_STEPS", 1_000)
    template = RowTemplate("{% for i in range(400) %}{{ i }}{% endfor %}", "T")
    assert len({template.render(ROW) for _ in range(5)}) == 1
    assert budget.CURRENT.get() is None


def test_large_cells_within_the_limits() -> None:
    template = RowTemplate("Read:\n{{ big|trim }}\n{{ big[:10] }} {{ big|length }}", "T")
    before = peak_memory()
    assert len(template.render(ROW)) > 8 * MIB - 10
    assert peak_memory() - before < 100 * MIB
