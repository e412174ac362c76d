"""Memory that may be taken: the machine's, or what its control group leaves."""

from pathlib import Path

import pytest

from bakeoff.engines import machine


@pytest.mark.parametrize(
    ("limit", "used", "cached", "free"),
    [("max", 900, 0, None), ("1000", 900, 300, 400), ("1000", 1200, 0, 0)],
)
def test_a_control_group_bounds_it_and_its_page_cache_counts_as_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, used: int, cached: int,
    free: int | None,
) -> None:  # fmt: skip
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    lists = f"inactive_file {cached // 3}\nactive_file {cached - cached // 3}\n"
    (tmp_path / "memory.stat").write_text("anon 600\n" + lists)
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    found = machine.available_memory()
    assert found == free if free is not None else found > 10**6


def test_without_control_groups_it_is_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_CGROUP", tmp_path / "none")
    assert machine.available_memory() > 10**6
