"""The format of a diagnosis, and the registries behind it."""

from __future__ import annotations

import json
import re

import pytest
from pydantic import TypeAdapter

from bakeoff.core.errors import UnknownName
from bakeoff.engines.doctor.diagnosis import Diagnosis, Finding, replaced, worst
from bakeoff.engines.doctor.faults import FAULTS
from bakeoff.engines.doctor.registry import FILES, FILES_ORDER, LOADED, LOADED_ORDER
from tests.unit.engines.doctor.patients import examined
from tests.unit.project.tree import ROOT, SOURCE
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch


def _one(code, level="ok", value="v"):
    return Finding(code, level, "what", value)


def test_it_is_strict_json_that_its_type_reads_back():
    said = examined(zoo_path("t5"))
    text = said.to_json()
    assert json.loads(text)["format"] == 1
    assert TypeAdapter(Diagnosis).validate_json(text) == said
    with pytest.raises(ValueError, match="JSON compliant"):
        Diagnosis(
            "m", "i", "ok", False, (Finding("a", "ok", "a", "a", data=float("nan")),)
        ).to_json()


def test_the_worst_level_counts():
    assert worst([]) == "ok"
    assert worst([_one("a"), _one("b", "warning")]) == "warning"
    assert worst([_one("a", "problem"), _one("b", "warning")]) == "problem"


def test_what_is_found_later_takes_the_place_of_the_same_code():
    before = [_one("a"), _one("b", "warning"), _one("c")]
    after = [_one("b", "problem", "w"), _one("d")]
    assert replaced(before, after) == [before[0], after[0], before[2], after[1]]


def test_every_check_is_there_in_order():
    assert set(FILES_ORDER) == set(FILES)
    assert set(LOADED_ORDER) == set(LOADED)
    assert all(callable(FILES.get(name)) for name in FILES)
    assert all(callable(LOADED.get(name)) for name in LOADED)
    with pytest.raises(UnknownName, match="rope"):
        FILES.get("rop")


def test_every_fault_that_a_check_names_has_a_meaning():
    text = "".join(path.read_text("utf-8") for path in (SOURCE / "engines/doctor").rglob("*.py"))
    named = re.findall(r'Finding\(\s*"([a-z0-9-]+)",\s*"(?:warning|problem)"', text)
    assert len(set(named)) > 10
    assert set(named) - set(FAULTS) == set()


def test_the_page_lists_every_fault():
    page = (ROOT / "docs" / "doctor.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \|$", page, re.M))
    assert {code: rows.get(code) for code in FAULTS} == FAULTS
