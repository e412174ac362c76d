"""The self-check at the start warns in the log and in /health, and costs no request anything."""

from __future__ import annotations

import asyncio
import json
import shutil
import time

import pytest

from bakeoff.cli.servecheck import examined
from bakeoff.core.modelref import ModelRef
from bakeoff.serving.checkup import Checkup, Found
from bakeoff.serving.desk import Desk
from bakeoff.serving.models import ModelTable
from tests.serving.serverthread import fake
from tests.zoo import zoo_path


def _looked_at(text, *found, error=None):
    """What a check-up says of a model whose files say that."""

    async def examine():
        if error is not None:
            raise error
        return found

    async def story():
        table = ModelTable([fake(text, "m")])
        await table.load()
        desk = Desk(table, checkup=Checkup({"m": examine}))
        assert desk.checkup.said() == {"m": {"status": "waiting", "codes": []}}
        await desk.checkup.run(table)
        await table.close()
        return desk.checkup.said()["m"]

    return asyncio.run(story())


def test_a_sound_model_is_ok(caplog):
    told = _looked_at("fake://echo", Found("rope", "ok", "base 10,000"))
    assert told == {"status": "ok", "codes": []}
    assert "self-check" not in caplog.text


def test_what_is_wrong_is_in_the_log_and_its_code_in_health(caplog):
    found = (Found("bos-twice", "warning", "it says BOS twice"), Found("x", "problem", "y"))
    told = _looked_at("fake://echo", *found)
    assert told == {"status": "problem", "codes": ["bos-twice", "x"]}
    assert "self-check of m: bos-twice: it says BOS twice" in caplog.text


@pytest.mark.parametrize(
    ("text", "error", "status", "code"),
    [
        ("fake://echo?fail=1", None, "problem", "text-fails"),
        ("fake://echo", RuntimeError("secret"), "warning", "check-failed"),
        ("fake://upper?kind=encoder", None, "ok", None),
        ("fake://upper?kind=seq2seq", None, "ok", None),
        ("fake://upper?chat=0", None, "ok", None),
    ],
)
def test_it_writes_a_short_text(text, error, status, code, caplog):
    told = _looked_at(text, error=error)
    assert told == {"status": status, "codes": [code] if code else []}
    assert "secret" not in caplog.text


def test_requests_go_on_while_it_looks(opened):
    server = opened(fake("fake://echo", "echo"))
    waits = asyncio.Event()
    server.desk.checkup.examiners["echo"] = waits.wait
    server.call(lambda: asyncio.ensure_future(server.desk.checkup.run(server.desk.models)))
    assert server.post("/v1/completions", {"prompt": "hello"}).status_code == 200
    health = server.http.get("/health")
    assert health.json()["checks"] == {"echo": {"status": "waiting", "codes": []}}
    server.call(waits.set)


@pytest.mark.torch
def test_the_doctor_looks_at_the_files_in_a_process_of_its_own(tmp_path):
    sound = ModelRef.parse(str(zoo_path("llama")), engine="transformers", torch_dtype="float32")
    found = asyncio.run(examined(sound))
    assert {one.code for one in found} > {"rope", "end-of-sequence"}
    assert all(one.level == "ok" for one in found), found

    shutil.copytree(zoo_path("llama"), tmp_path / "odd")
    config = json.loads((tmp_path / "odd" / "config.json").read_text())
    (tmp_path / "odd" / "config.json").write_text(json.dumps(config | {"rope_thetaa": 1e6}))
    found = asyncio.run(examined(ModelRef.parse(str(tmp_path / "odd"))))
    assert "unknown-config-key" in [one.code for one in found if one.level != "ok"]


def test_it_ends_with_the_server():
    async def story():
        task = asyncio.create_task(examined(ModelRef.parse(str(zoo_path("llama")))))
        await asyncio.sleep(0.2)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(story()) < 5
