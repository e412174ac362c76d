"""Memory that may be taken: the machine's, or what its control groups leave."""

from pathlib import Path

import psutil
import pytest

from bakeoff.engines.machine import available_memory

V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"
NO_LIMIT = "9223372036854771712"
"""What version 1 says for none."""


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def v2(root: Path, group: str, limit: str, used: int, cached: int = 0) -> None:
    lists = f"anon 600\ninactive_file {cached // 3}\nactive_file {cached - cached // 3}"
    files = {"memory.max": limit, "memory.current": str(used), "memory.stat": lists}
    write(root / V2 / group, files)


def v1(root: Path, group: str, limit: str, used: int, cached: int = 0) -> None:
    own = "inactive_file 0\nactive_file 0\n"
    lists = f"{own}total_inactive_file {cached // 3}\ntotal_active_file {cached - cached // 3}"
    files = {"memory.limit_in_bytes": limit, "memory.usage_in_bytes": str(used)}
    write(root / V1 / group, {**files, "memory.stat": lists})


def belongs(root: Path, *lines: str) -> None:
    write(root / "proc/self", {"cgroup": "\n".join(lines)})


def unbounded(root: Path) -> bool:
    """Whether the machine's own memory is the answer; other processes take some meanwhile."""
    return available_memory(root) == pytest.approx(psutil.virtual_memory().available, rel=0.2)


@pytest.mark.parametrize(
    ("limit", "used", "cached", "free"), [("1000", 900, 300, 400), ("1000", 1200, 0, 0)]
)
@pytest.mark.parametrize("version", [v1, v2])
def test_a_control_group_bounds_it_and_its_page_cache_counts_as_free(
    tmp_path: Path, version: object, limit: str, used: int, cached: int, free: int
) -> None:
    assert callable(version)
    version(tmp_path, "", limit, used, cached)
    assert available_memory(tmp_path) == free


def test_groups_without_a_limit_bound_nothing(tmp_path: Path) -> None:
    v2(tmp_path, "", "max", 900)
    v1(tmp_path, "", NO_LIMIT, 900)
    assert unbounded(tmp_path)


def test_without_control_groups_it_is_the_machines(tmp_path: Path) -> None:
    assert unbounded(tmp_path)
    assert 10**6 < available_memory() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("limits", "free"),
    [
        ({"a": "5000", "a/b": "9000"}, 4900),  # the outer one is tighter
        ({"a": "9000", "a/b": "5000"}, 4900),
        ({"a": "5000", "a/b": "max"}, 4900),
        ({"a": "max", "a/b": "5000", "a/b/c": "2000"}, 4900),  # not a group of this process
        ({"": "3000", "a/b": "5000"}, 2900),
        ({"a/b": "5000", "other": "200"}, 4900),
    ],
)
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_tightest_of_the_groups_above_counts(
    tmp_path: Path, version: str, limits: dict[str, str], free: int
) -> None:
    for group, limit in limits.items():
        if version == "v2":
            v2(tmp_path, group, limit, 100)
        else:
            v1(tmp_path, group, NO_LIMIT if limit == "max" else limit, 100)
    line = "0::/a/b" if version == "v2" else "4:cpu,memory:/a/b"
    belongs(tmp_path, "9:name=systemd:/other", line)
    assert available_memory(tmp_path) == free


def test_both_versions_side_by_side(tmp_path: Path) -> None:
    """Hybrid: memory belongs to version 1, and version 2 lies beside it."""
    v1(tmp_path, "a", "7000", 100)
    v2(tmp_path, "unified/b", "6000", 100)
    belongs(tmp_path, "4:memory:/a", "0::/b")
    assert available_memory(tmp_path) == 5900


@pytest.mark.parametrize("path", ["/docker/0123", "/../../out"])
def test_a_container_that_is_told_its_hosts_path(tmp_path: Path, path: str) -> None:
    """What is mounted is then its own group."""
    v1(tmp_path, "", "7000", 100)
    belongs(tmp_path, f"4:memory:{path}")
    assert available_memory(tmp_path) == 6900


def test_a_group_of_which_only_part_can_be_read_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / V2, {"memory.max": "10"})
    assert unbounded(tmp_path)
