"""Every error class has a code with an exit status, and every code has a class or a use."""

from __future__ import annotations

import pytest

from bakeoff.core import errors
from bakeoff.core.codes import CODES, ExitCode
from bakeoff.core.errors import BadDataset, BakeoffError
from bakeoff.core.registry import Registry, near_matches


def all_errors(base: type[BakeoffError] = BakeoffError) -> list[type[BakeoffError]]:
    return [base, *(found for sub in base.__subclasses__() for found in all_errors(sub))]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda k: k.__name__)
def test_class_has_a_listed_code(kind: type[BakeoffError]) -> None:
    assert kind.code in CODES
    assert kind.__name__ in (errors.__doc__ or "")


def test_every_code_is_used_by_a_class() -> None:
    assert {kind.code for kind in all_errors()} == set(CODES)


def test_caller_errors_never_look_like_server_faults() -> None:
    for kind in all_errors(errors.CallerError):
        info = CODES[kind.code]
        assert info.exit in (ExitCode.USAGE, ExitCode.BUSY)
        assert 400 <= info.http < 500 or info.http == 501


def test_bad_dataset_names_the_place() -> None:
    problem = BadDataset("too many cells", file="a.csv", line=3, column="x")
    assert str(problem) == "a.csv, line 3, column 'x': too many cells"


def test_registry_names_near_matches_and_all_entries() -> None:
    registry: Registry[object] = Registry(
        "fruit", {"apple": "builtins:int", "pear": "builtins:str"}
    )
    assert registry.get("apple") is int
    with pytest.raises(errors.UnknownName, match="did you mean 'apple'") as caught:
        registry.get("aple")
    assert caught.value.near == ("apple",)
    assert "apple, pear" in caught.value.message


def test_near_matches_ignore_case() -> None:
    assert near_matches("ROUGEL", ["rougeL", "bleu"]) == ["rougeL"]
