"""The rules of tests/conftest.py hold: no network, clean variables, sizes, parts."""

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guard import NetworkBlocked
from tests.support import real_data, scale
from tests.unit.project.tree import ROOT

OUTSIDE = "192.0.2.1"  # an address that documentation may use and nobody has


async def _open() -> None:
    await asyncio.open_connection(OUTSIDE, 80)


@pytest.mark.parametrize(
    "reach",
    [
        lambda: socket.create_connection((OUTSIDE, 80), timeout=1),
        lambda: socket.getaddrinfo("example.org", 443),
        lambda: socket.gethostbyname("example.org"),
        lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", (OUTSIDE, 9)),
        lambda: socket.socket().connect_ex((OUTSIDE, 80)),
        lambda: urllib.request.urlopen("http://example.org/"),
        lambda: asyncio.run(_open()),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_other_machines_are_out_of_reach(
    reach: Callable[[], object], network_attempts: Callable[[], list[str]]
) -> None:
    with pytest.raises(NetworkBlocked):
        reach()
    assert network_attempts()


def test_this_machine_is_in_reach(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "localhost"):
        with socket.create_server((host, 0)) as server:
            socket.create_connection(server.getsockname()[:2]).close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))


def test_the_environment_is_clean() -> None:
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert Path(os.environ["BAKEOFF_HOME"]).is_relative_to(Path(os.environ["HF_HOME"]).parent)
    assert [name for name in ("HF_TOKEN", "HTTP_PROXY", "https_proxy") if name in os.environ] == []


def test_a_tenth_unless_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAKEOFF_FULL", raising=False)
    assert [scale(100), scale(1)] == [10, 1]
    monkeypatch.setenv("BAKEOFF_FULL", "1")
    assert [scale(100), scale(1)] == [100, 1]


def test_real_data_that_is_promised_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_TEST_DATA", str(tmp_path))
    assert real_data("") == tmp_path
    with pytest.raises(pytest.fail.Exception, match="holds no 'gone'"):
        real_data("gone")
    monkeypatch.delenv("BAKEOFF_TEST_DATA")
    with pytest.raises(pytest.skip.Exception):
        real_data("gone")


INNER = """
import socket
import pytest
from tests.support import part
{module}

def test_part():
    part("no_such_package")

def test_other_skip():
    pytest.skip("not today")

def test_swallows():
    try:
        socket.getaddrinfo("example.org", 1)
    except Exception:
        pass
"""


@pytest.mark.parametrize(
    ("required", "module", "said"),
    [
        ("0", "", "1 passed, 2 skipped, 1 error"),
        ("1", "", "1 failed, 1 passed, 1 skipped, 1 error"),
        ("0", 'pytest.skip("part missing: x", allow_module_level=True)', "1 skipped"),
        ("1", 'pytest.skip("part missing: x", allow_module_level=True)', "1 error"),
    ],
)
def test_a_missing_part_fails_where_parts_are_required(
    required: str, module: str, said: str, tmp_path: Path
) -> None:
    inner = tmp_path / "test_inner.py"
    inner.write_text(INNER.format(module=module))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *("--rootdir", str(tmp_path), "-q", str(inner)),
        ],
        cwd=ROOT,
        env={**os.environ, "BAKEOFF_REQUIRE_PARTS": required, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stdout.splitlines()[-1], done.stdout
