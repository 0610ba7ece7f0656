"""What the gateway sends on is what it was sent, whole, to the servers that its owner named and to nobody else."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest
from asgi_client import Client
from no_threads import no_threads
from upstream import Server, Upstream

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway
from cachelayer.cli.serve.logs import Log, Logged
from cachelayer.cli.serve.models import Models

Serving = Callable[..., Server]


class Bodiless:
    """Answers with the status that the path names, and without a body."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await Upstream()(scope, receive, send)
            return
        await receive()
        status = int(scope["path"][1:]) if scope["path"][1:].isdigit() else 200
        told = [] if status in (204, 304) else [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body"})


class Recording(Upstream):
    """Keeps the targets that it was asked for, as they were spelled, and the codings that were taken."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[bytes] = []
        self.codings: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.targets.append(scope["raw_path"] + b"?" + scope["query_string"])
            self.codings.append(dict(scope["headers"]).get(b"accept-encoding", b""))
        await super().__call__(scope, receive, send)


@pytest.fixture
def gateway(gateway: Callable[..., Client]) -> Callable[..., Client]:
    return partial(gateway, bearer=None)


@pytest.mark.parametrize("target", ["*@{}/x", "@{}/x", "*:x@{}/x", "//{}/x", ".{}/x", "http://{}/x", "?@{}/"])
async def test_no_target_leads_to_another_server(gateway: Any, serving: Serving, target: str) -> None:
    named, other = Recording(), Recording()
    c = gateway(serving(named).url)
    await c.post(target.format(serving(other).url.removeprefix("http://")), b"{}")
    assert not other.targets and len(named.targets) == 1


@pytest.mark.parametrize(
    "path", ["/v1/models/meta%2FLlama", "/a%3Fb%23c%25d", "/%C3%A9%20/", "//x/../y", "/:@!$"]
)
async def test_a_path_keeps_its_spelling(gateway: Any, serving: Serving, path: str) -> None:
    upstream = Recording()
    await gateway(serving(upstream).url).post(path, b"{}", query=b"a=%2F&b=c%20d&&e")
    assert upstream.targets == [path.encode() + b"?a=%2F&b=c%20d&&e"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_answers_without_a_body_are_passed_on_each_time(
    gateway: Any, serving: Serving, method: str
) -> None:
    c = gateway(serving(Bodiless()).url)
    for status in (204, 200, 304, 307, 429):
        for _ in range(3):
            answer = await c.post(f"/{status}", b"", method=method)
            assert (answer.status, answer.body, answer.complete) == (status, b"", True)
        assert (await c.post("/readyz", b"", method="GET")).status == 200


async def test_an_upstream_that_says_nothing_holds_up_no_probe(serving: Serving, upstream: Upstream) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        urls = [f"http://127.0.0.1:{silent.getsockname()[1]}", serving(upstream).url]
        given = {"upstream": [{"url": url, "connect_timeout": "1h"} for url in urls], "server.log": "off"}
        app = Gateway(load(None, {}, {**given, "cache.semantic": "off"}))
        probe = Client(app).post("/readyz", b"", method="GET")
        assert (await asyncio.wait_for(probe, 20)).status == 200
        await app.behind.aclose()


async def test_an_answer_has_one_date(serving: Serving, upstream: Upstream) -> None:
    given = {"upstream": [{"url": serving(upstream).url}], "server.log": "off", "cache.semantic": "off"}
    server = serving(Gateway(load(None, {}, given)))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).lower().count(b"\r\ndate: ") == 1
    writer.close()


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/batches/1/cancel"])
async def test_a_request_that_breaks_off_is_not_sent_on(gateway: Any, serving: Serving, path: str) -> None:
    upstream = Recording()
    c = gateway(serving(upstream).url)
    call = c.start(path, b'{"messages":', pieces=2)
    call._messages[-1:] = []
    call.leave()
    assert (await call.wait()).status == 0 and not upstream.targets


async def test_a_body_for_a_model_server_has_a_limit() -> None:
    behind = Models(load(None, {}, {"upstream": [{"url": "triton://127.0.0.1:1/m"}]}).upstream, lambda: None)
    call = Client(behind).start("/v1/chat/completions", b"")
    call._messages[:] = [{"type": "http.request", "body": b" " * 2**20, "more_body": True}] * 200
    assert (await call.wait()).status == 413
    await behind.aclose()


async def test_the_log_tells_no_password_and_what_this_cache_did(
    gateway: Any, serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    url = serving(Upstream()).url.replace("//", "//me:hunter2@")
    c = gateway(url, server__log="all")
    told: asyncio.Queue[Any] = asyncio.Queue()
    told.put_nowait({"type": "lifespan.startup"})
    sent: asyncio.Queue[Any] = asyncio.Queue()
    life = asyncio.ensure_future(c.app({"type": "lifespan"}, told.get, sent.put))
    await sent.get()
    await c.chat({"say": "x", "headers": {"cache-status": "edge; hit"}}, headers={"range": "bytes=0-1"})
    told.put_nowait({"type": "lifespan.shutdown"})
    await life
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["event"] == "started" and "hunter2" not in json.dumps(lines)
    assert lines[1]["cache"] == "fwd=bypass; detail=range"


async def test_logs_tell_of_callers_who_are_told_nothing(serving: Serving, upstream: Upstream) -> None:
    out = io.StringIO()
    given = {"upstream": [{"url": serving(upstream).url}], "callers.public": True, "cache.semantic": "off"}
    app = Gateway(load(None, {}, given))
    app.log._out = out
    c = Client(app, key=None)
    answers = [await c.chat("hello", stream=stream) for stream in (False, False, True)]
    app.log.close()
    told = [json.loads(line)["cache"] for line in out.getvalue().splitlines()]
    assert [line.split(";")[0] for line in told] == ["fwd=uri-miss", "hit", "hit"]
    assert {answer.header("cache-status") for answer in answers} == {"cachelayer"}
    await app.behind.aclose()


async def test_a_log_of_errors_tells_of_failures_and_of_what_was_cut_alone() -> None:
    out = io.StringIO()
    log = Log("errors", out)

    async def answer(status: int, ends: bool, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": not ends})

    for status, ends in ((200, True), (404, True), (500, True), (200, False)):
        await Client(Logged(partial(answer, status, ends), log)).chat("hello")
    log.close()
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["status"], line.get("cut", False)) for line in told] == [(500, False), (200, True)]


async def test_a_log_whose_reader_stands_still_keeps_no_process_from_ending() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as out:
        log = Log("all", out)
        for _ in range(2 * log._ready.maxsize):
            log.tell("request", path="x" * 100_000)
            log._hand_over()
        log.close()
        os.close(reading)
        log.close()  # now it can write what waits


async def test_a_log_outlives_lines_that_cannot_be_written() -> None:
    raw = io.BytesIO()
    log = Log("all", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    for path in ("/a", "/日本", "/b"):
        log.tell("request", path=path)
        log._hand_over()
    log.close()
    assert [json.loads(line)["path"] for line in raw.getvalue().splitlines()] == ["/a", "/b"] and log.dropped


async def test_an_answer_is_asked_for_in_a_coding_in_which_it_can_be_kept(
    gateway: Any, serving: Serving
) -> None:
    upstream = Recording()
    c = gateway(serving(upstream).url)
    taken = {"accept-encoding": "gzip, deflate, br, zstd"}
    await c.chat("whole", headers=taken)
    await c.chat("in pieces", stream=True, headers=taken)
    await c.chat("brotli alone", headers={"accept-encoding": "br"})
    await c.post("/v1/other", b"{}", **taken)
    assert upstream.codings == [b"gzip, deflate", b"identity", b"identity", b"gzip, deflate, br, zstd"]


async def test_lines_of_the_log_wait_until_a_thread_may_be_started() -> None:
    """None was written any more, and the end of the gateway failed."""
    out = io.StringIO()
    log = Log("all", out)
    with no_threads():
        log.tell("started")
        log._hand_over()
        log.close()
        assert out.getvalue() == ""
    log.tell("stopped")
    log.close()
    assert out.getvalue().count('"event"') == 2 and log.dropped == 0


@pytest.mark.parametrize("missing", [(), ("websockets", "wsproto")])
def test_a_websocket_is_refused_in_words(serving: Serving, missing: tuple[str, ...]) -> None:
    """It was a bare 403, as if the key were wrong; without a library for websockets, which `cachelayer[serve]` does not
    bring along, it went on as a plain GET."""
    behind = Recording()
    blocked = f"sys.modules.update(dict.fromkeys({missing}))"
    start = f"import runpy, sys; {blocked}; runpy.run_module('cachelayer', run_name='__main__')"
    options = ["--upstream", serving(behind).url, "--port", "0", "--semantic", "off"]
    command = [sys.executable, "-c", start, "serve", *options]
    asked = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
             "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["base_url"]
        told = httpx.get(f"{url}/realtime", headers=asked)
        process.terminate()
        _, complaints = process.communicate(timeout=30)
    assert (told.status_code, told.json()["error"]["code"]) == (501, "not_implemented")
    assert "the gateway sends no websockets on" in told.text
    assert not behind.targets and "WebSocket" not in complaints
