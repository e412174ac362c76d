"""What a server does not do, whoever asks, over all wire formats."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from bakeoff.cli.servestart import bytes_of, keys_of
from bakeoff.core.errors import InvalidRequest
from bakeoff.serving.limits import Limits
from bakeoff.serving.options import ServeOptions
from tests.serving.asked import POSTED
from tests.serving.serverthread import WITHIN, Watched, fake, watched

LIMIT = 20_000
JSON = {"content-type": "application/json"}


def routes(server, method, **more):
    schema = server.http.get("/openapi.json", **more).json()["paths"]
    return {path for path, ways in schema.items() if method in ways}


def deflated(data: bytes, headed: bool = True) -> bytes:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


# who is let in


def test_the_body_of_every_route_is_known(server):
    assert routes(server, "post") == set(POSTED)


def test_only_this_machine_reaches_a_server_that_was_told_nothing():
    assert ServeOptions().host == "127.0.0.1"


@pytest.fixture
def locked(opened):
    return opened(fake("fake://echo", "echo"), keys=("right",))


def test_the_key_guards_every_route_of_every_format(locked):
    right = {"authorization": "Bearer right"}
    asked = [("GET", path) for path in routes(locked, "get", headers=right)]
    asked += [("POST", path) for path in routes(locked, "post", headers=right)]
    assert len(asked) > 25
    for method, path in asked:
        path = path.replace("{name}", "echo")
        for key in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": "right "[:-2]}):
            answer = locked.http.request(method, path, headers=JSON | key, content=b"{}")
            assert answer.status_code == (200 if path == "/health" else 401), path


@pytest.mark.parametrize("path", POSTED)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        (JSON | {"origin": "https://evil.example"}, 403),
        (JSON | {"host": "evil.example"}, 403),
    ],
)
def test_no_page_reaches_a_route(server, path, headers, status):
    answer = server.http.post(path, content=json.dumps(POSTED[path]), headers=headers)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path, mode):
    file = tmp_path / "keys"
    file.write_text("secret\n")
    file.chmod(mode)
    with pytest.raises(InvalidRequest, match="chmod 600"):
        keys_of((), file)
    for good in (0o600, 0o400):
        file.chmod(good)
        assert keys_of(("other",), file) == ("other", "secret")


# compressed bodies


@pytest.fixture(scope="module")
def small():
    from tests.serving.serverthread import Server

    running = Server([fake("fake://echo", "echo")], limits=Limits(body_bytes=LIMIT))
    yield running
    running.close()


def sent(server, content, coding):
    headers = JSON | {"content-encoding": coding}
    return server.http.post("/v1/completions", content=content, headers=headers)


PACKED = {
    "gzip": lambda data: gzip.compress(data),
    "x-gzip": lambda data: gzip.compress(data),
    "deflate": deflated,
    "Deflate": lambda data: deflated(data, headed=False),
}


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize("pieces", [1, 7, 2000])
def test_packed_bodies_are_read(small, coding, pieces):
    text = "naïve 🎁 " * 50
    packed = PACKED[coding](json.dumps({"prompt": text, "max_tokens": 9999}).encode())
    step = max(1, len(packed) // pieces)
    cut = (packed[at : at + step] for at in range(0, len(packed), step))
    answer = sent(small, cut if pieces > 1 else packed, coding)
    assert answer.json()["choices"][0]["text"] == text


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda packed: packed[:-6],
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed[:1],
        lambda packed: b"",
        lambda packed: packed[:9] + bytes(40) + packed[9:],
        lambda packed: packed + b"more",
    ],
)
def test_damaged_ones_are_refused(small, coding, spoil):
    text = json.dumps({"prompt": "".join(map(chr, range(32, 900)))}).encode()
    answer = sent(small, spoil(PACKED[coding](text)), coding)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert "content-encoding" in answer.json()["error"]["message"]


@pytest.mark.parametrize("coding", PACKED)
def test_bombs_are_not_unpacked(small, coding):
    bomb = PACKED[coding](b'{"prompt": "' + bytes(200 * 2**20))
    bomb = bomb[: LIMIT - 1]  # what comes is within the limit; it would be megabytes
    tracemalloc.start()
    answer = sent(small, bomb, coding)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "body_too_large")
    assert "unpacked" in answer.json()["error"]["message"]
    assert peak < 4 * 2**20


def test_the_packed_size_is_bounded_too(small):
    answer = sent(small, iter([b"\x1f\x8b" + bytes(LIMIT)]), "gzip")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "body_too_large")


# what is shown


def test_what_runs_is_never_shown(opened, caplog):
    caplog.set_level("DEBUG")
    secret, text = "zq secret words", "fake://words?delay=60"
    engine = Watched(text, "slow")
    server = opened(watched(engine, text))
    body = {"prompt": secret, "messages": [{"role": "user", "content": secret}]}
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(server.post, "/v1/completions", body)
        assert engine.entered.acquire(timeout=WITHIN)
        for path in sorted(routes(server, "get")):
            shown = server.http.get(path.replace("{name}", "slow"))
            assert shown.status_code == 200 and secret not in shown.text, path
        server.call(server.desk.cut)
        assert running.result(WITHIN).status_code == 503
    assert secret not in caplog.text


@pytest.mark.parametrize("path", POSTED)
def test_no_log_line_holds_a_prompt(server, path, caplog):
    caplog.set_level("DEBUG")
    secret = "zq secret words"
    body = json.loads(json.dumps(POSTED[path]).replace("hello", secret))
    for more in ({}, {"temperature": secret}, {"options": secret}, {"max_tokens": secret}):
        server.post(path, body | more)
    assert secret not in caplog.text


@pytest.mark.parametrize("path", POSTED)
def test_what_nobody_knows_is_named_by_every_format(server, path, caplog):
    name = f"zq{path.replace('/', '-')}"
    caplog.set_level("INFO")
    for _ in range(2):
        answer = server.post(path, POSTED[path] | {name: 1, "trust_remote_code": True})
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-bakeoff-ignored"] == f"{name}, trust_remote_code"
    told = [line for line in caplog.messages if "ignored" in line and name in line]
    assert len(told) == 1, "the log hears of it once"


# sizes on the command line


@pytest.mark.parametrize(
    ("said", "expected"),
    [("8GiB", 8 * 2**30), ("500MB", 5 * 10**8), ("1.5 g", 3 * 2**29), ("123", 123), ("2KB", 2000)],
)
def test_sizes_are_read(said, expected):
    assert bytes_of(said, "--max-memory") == expected


@pytest.mark.parametrize("said", ["", "x", "8XB", "-1GB", "0", "GB", "1e9"])
def test_what_is_no_size_is_refused(said):
    with pytest.raises(InvalidRequest, match="--max-memory"):
        bytes_of(said, "--max-memory")


@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("name", "shown"),
    [("", '""'), (" x", '" x"'), ("x ", '"x "'), ("a b", "a b"), ("\t", "?"), ("ü", "\\xfc")],
)
def test_any_name_fits_into_the_header(server, path, stream, name, shown):
    answer = server.post(path, POSTED[path] | {"stream": stream, name: 1})
    assert (answer.status_code, answer.headers["x-bakeoff-ignored"]) == (200, shown)
