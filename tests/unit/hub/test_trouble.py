"""The test hub in trouble: slow, broken off, gone; and clients that are offline."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from huggingface_hub import constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from tests.hub import Hub

REPO = "facebook/bart-large-cnn"


@pytest.mark.parametrize(
    ("size", "stop", "again"),
    [
        (300_000, 100_000, (None, 200)),  # the client hands on whole chunks only: from the start
        (12_000_000, 11_000_000, (f"bytes={constants.DOWNLOAD_CHUNK_SIZE}-", 206)),
    ],
)
def test_an_interrupted_download_ends_with_the_right_bytes(
    hub_in_process: Hub, tmp_path: Path, size: int, stop: int, again: tuple[str | None, int]
) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    content = random.Random(1).randbytes(size)
    (folder / "noise.bin").write_bytes(content)
    hub_in_process.add_model(REPO, folder, interrupt_after=stop)
    assert Path(hf_hub_download(REPO, "noise.bin")).read_bytes() == content
    gets = [request for request in hub_in_process.requests if request.method == "GET"]
    assert [(request.range, request.status) for request in gets] == [(None, 200), again]


def test_slow_takes_its_time(hub_in_process: Hub, other_checkpoint: Path) -> None:
    hub_in_process.add_model(REPO, other_checkpoint, slow=600_000)
    start = time.monotonic()
    path = Path(hf_hub_download(REPO, "extra/noise.bin"))
    assert time.monotonic() - start >= 0.5  # 300,000 bytes
    assert path.read_bytes() == (other_checkpoint / "extra" / "noise.bin").read_bytes()


def test_going_away_cuts_a_download_short(tmp_path: Path, other_checkpoint: Path) -> None:
    with Hub(tmp_path) as hub:
        hub.add_model(REPO, other_checkpoint, slow=20_000)  # 15 s for the file
        script = f"import huggingface_hub as h; h.hf_hub_download({REPO!r}, 'extra/noise.bin')"
        with subprocess.Popen(
            [sys.executable, "-c", script],
            env=hub.env(),
            stderr=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stderr is not None
            while not any(request.method == "GET" for request in hub.requests):
                assert client.poll() is None
                time.sleep(0.01)
            hub.go_offline()
            line = client.stderr.readline()
            client.kill()
        assert "Error while downloading" in line
        assert not list((tmp_path / "hub").rglob("snapshots/*/extra/noise.bin"))


def test_offline_with_a_warm_cache_and_with_a_cold_one(hub: Hub, checkpoint: Path) -> None:
    script = (
        "import json, sys, huggingface_hub as h\n"
        "from huggingface_hub.errors import LocalEntryNotFoundError\n"
        "try: print(json.dumps(h.snapshot_download(sys.argv[1])))\n"
        "except LocalEntryNotFoundError: print(json.dumps(None))"
    )
    hub.add_model(REPO, checkpoint)
    folder = json.loads(hub.python(script, REPO).stdout)
    assert Path(folder).name == hub.commit(REPO)
    hub.forget_requests()
    assert json.loads(hub.python(script, REPO, HF_HUB_OFFLINE="1").stdout) == folder
    cold = str(hub.home / "cold")
    assert json.loads(hub.python(script, REPO, HF_HUB_OFFLINE="1", HF_HOME=cold).stdout) is None
    assert hub.requests == []


@pytest.mark.parametrize("status", [None, 503])
def test_the_hub_away_falls_back_to_the_cache(
    hub_in_process: Hub, checkpoint: Path, status: int | None
) -> None:
    hub_in_process.add_model(REPO, checkpoint)
    hub_in_process.add_model("google-t5/t5-base", checkpoint)
    folder = snapshot_download(REPO)
    hub_in_process.go_offline(status)
    assert snapshot_download(REPO) == folder
    assert hf_hub_download(REPO, "config.json").startswith(folder)
    with pytest.raises(LocalEntryNotFoundError):
        snapshot_download("google-t5/t5-base")
    hub_in_process.go_online()
    assert snapshot_download("google-t5/t5-base")
