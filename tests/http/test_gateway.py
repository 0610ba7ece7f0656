"""The gateway: keys, health, upstreams that fail, and what its settings say when they are wrong."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from asgi_client import Client, ask
from upstream import Server, Upstream

from cachelayer.cli import main
from cachelayer.cli.serve.config import ConfigFault, load
from cachelayer.cli.serve.gateway import Gateway
from cachelayer.cli.serve.logs import Log

Serving = Callable[..., Server]


@pytest.fixture
def dead() -> str:
    """A URL that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_gateway_needs_no_line_of_code(
    gateway: Any, serving: Serving, upstream: Upstream, stream: bool
) -> None:
    c = gateway(serving(upstream).url)
    first, again = [await c.chat("hello there", stream=stream) for _ in range(2)]
    assert again.hit and first.header("x-request-id") and len(upstream.requests) == 1
    alone = await Client(Upstream()).chat("hello there", stream=stream)
    assert first.body.replace(b"chatcmpl-1", b"chatcmpl-0") == alone.body.replace(
        b"chatcmpl-1", b"chatcmpl-0"
    )
    assert (await c.post("/echo", b"bytes \x00\xff")).body == b"bytes \x00\xff"


async def test_an_upstream_that_is_down_or_failing_is_passed_over(
    gateway: Any, serving: Serving, upstream: Upstream, dead: str
) -> None:
    class Failing:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                return await Upstream()(scope, receive, send)
            await receive()
            await Upstream._reply(send, 503, b"{}", [(b"content-type", b"application/json")])
            return None

    c = gateway(dead, serving(Failing()).url, serving(upstream).url)
    for i in range(3):
        assert (await c.chat(f"question {i}")).status == 200
    alone = gateway(dead)
    answer = await alone.chat("hello")
    assert answer.status == 502 and answer.json()["error"]["code"] == "upstream_error"


async def test_a_stream_that_sent_nothing_moves_on_and_one_that_did_ends_with_an_error_event(
    gateway: Any, serving: Serving, upstream: Upstream
) -> None:
    class Cut:
        """Breaks off before the first byte of an answer, after its head."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                return await Upstream()(scope, receive, send)
            await receive()
            head = {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
            await send(head)
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            raise ConnectionError

    c = gateway(serving(Cut()).url, serving(upstream).url)
    assert (await c.chat("a b c", stream=True)).text() == "You said: a b c"
    script = {"say": "a b c d", "drop_after": 3}
    for _ in range(2):
        answer = await c.chat(script, stream=True)
        events = [e for e in answer.events() if e]
        assert answer.complete and "broke off" in events[-1]["error"]["message"] and len(events) == 4
        assert not answer.hit


async def test_a_late_upstream_is_given_up(gateway: Any, serving: Serving, upstream: Upstream) -> None:
    url = serving(upstream).url
    late = Client(
        Gateway(load(None, {}, {"upstream": [{"url": url, "read_timeout": 0.1}], "server.log": "off"}))
    )
    answer = await late.chat({"say": "x", "hold": "never"})
    assert answer.status == 504 and "too long" in answer.json()["error"]["message"]
    upstream.gate("never").set()
    await late.app.behind.aclose()


async def test_models_go_to_the_upstreams_that_serve_them(serving: Serving) -> None:
    one, other = Upstream(), Upstream()
    given = [{"url": serving(one).url, "models": ["m"]}, {"url": serving(other).url, "models": ["n"]}]
    app = Gateway(load(None, {}, {"upstream": given, "server.log": "off", "cache.semantic": "off"}))
    c = Client(app)
    await c.post("/v1/chat/completions", ask("x"))
    await c.post("/v1/chat/completions", ask("x", model="n"))
    assert len(one.requests) == len(other.requests) == 1
    assert (await c.post("/v1/chat/completions", ask("x", model="o"))).status == 404
    await app.behind.aclose()


async def test_keys_are_the_gateways_own(
    serving: Serving, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "good")
    upstream.keys = {"Bearer good"}
    keys = [{"tenant": "acme", "sha256": hashlib.sha256(b"k1").hexdigest(), "trusted": True},
            {"tenant": "globex", "sha256": hashlib.sha256(b"k2").hexdigest()}]  # fmt: skip
    given = {"upstream": [{"url": serving(upstream).url, "key_env": "UPSTREAM_KEY"}], "key": keys}
    app = Gateway(load(None, {}, {**given, "server.log": "off", "cache.semantic": "off"}))
    acme, globex = Client(app, key="k1"), Client(app, key="k2")
    assert not (await acme.chat("x")).hit and (await acme.chat("x")).hit
    await globex.chat("x")
    assert len(upstream.requests) == 2
    assert (await globex.chat("x")).header("cache-status") == "cachelayer"
    for stranger in (Client(app, key="k3"), Client(app, key=None)):
        answer = await stranger.chat("x")
        assert answer.status == 401 and answer.json()["error"]["code"] == "invalid_api_key"
        assert answer.header("www-authenticate") == "Bearer"
    await app.behind.aclose()


async def test_a_gateway_is_healthy_without_upstreams_and_ready_with_one_until_it_drains(
    gateway: Any, serving: Serving, upstream: Upstream, dead: str
) -> None:
    up, down = gateway(serving(upstream).url), gateway(dead)
    assert (await up.post("/healthz", b"", method="GET")).status == 200
    assert (await up.post("/readyz", b"", method="GET")).status == 200
    assert (await down.post("/healthz", b"", method="GET")).status == 200
    assert (await down.post("/readyz", b"", method="GET")).status == 503
    up.app.draining = True
    assert (await up.post("/readyz", b"", method="GET")).json()["status"] == "draining"


async def test_logs_tell_what_happened_and_nothing_that_was_said(
    serving: Serving, upstream: Upstream
) -> None:
    out = io.StringIO()
    app = Gateway(load(None, {}, {"upstream": [{"url": serving(upstream).url}], "cache.semantic": "off"}))
    app.log._out = out
    c = Client(app, key="sk-secret")
    for _ in range(2):
        await c.chat("my private words")
    app.log.close()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [200, 200]
    assert lines[0]["cache"].startswith("fwd=uri-miss") and lines[1]["cache"].startswith("hit")
    assert "private" not in out.getvalue() and "secret" not in out.getvalue()
    await app.behind.aclose()


WRONG = """
[server]
port = 8080

[[upstream]]
url = "http://127.0.0.1:1"

[[upstream]]
url = "http://127.0.0.1:2"
{}
[cache]
{}
"""


@pytest.mark.parametrize(("upstream_line", "cache_line", "line", "says"), [
    ("modles = []", "", 10, "unknown setting upstream.1.modles"), ("", 'ttl = "soon"', 12, "cache.ttl='soon'"),
    ("", "max_error_rate = 2", 12, "between 0.0 and 1.0"), ("", "semantic = true", 12, "give one of"),
    ("", 'redis = "redis://h"', 12, "cache.secret"), ("[sevrer]", "", 10, "unknown section"),
    ("connect_timeout = -1", "", 10, "upstream.1.connect_timeout"), ("x = = 1", "", 10, "line 10"),
    ('key_env = "NOT_SET_AT_ALL"', "", 10, "NOT_SET_AT_ALL"),
])  # fmt: skip
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, capsys: Any, upstream_line: str, cache_line: str, line: int, says: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(WRONG.format(upstream_line, cache_line))
    assert main(["serve", "--config", str(file), "--check"]) == 2
    told = capsys.readouterr().err
    assert says in told and (f"gateway.toml:{line}:" in told or f"line {line}" in told)


@pytest.mark.parametrize(("environment", "says"), [
    ({"CACHELAYER_SERVER__PORT": "99999"}, "CACHELAYER_SERVER__PORT"),
    ({"CACHELAYER_CACHE__REDIS_BUDGET": "0s"}, "CACHELAYER_CACHE__REDIS_BUDGET: .* above 0"),
    ({"CACHELAYER_UPSTREAM__3__URL": "http://x"}, "CACHELAYER_UPSTREAM__3__URL"),
    ({"CACHELAYER_UPSTREAM__0__URL": "ftp://x"}, "CACHELAYER_UPSTREAM__0__URL"),
])  # fmt: skip
def test_a_mistake_in_the_environment_names_the_variable(environment: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigFault, match=says):
        load(None, environment, {})


def test_flags_go_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "g.toml"
    file.write_text('[server]\nport = 1\nhost = "a"\nworkers = 2\n[[upstream]]\nurl = "http://x"\n')
    config = load(file, {"CACHELAYER_SERVER__PORT": "2", "CACHELAYER_SERVER__HOST": "b"}, {"server.port": 3})
    assert (config.server.port, config.server.host, config.server.workers) == (3, "b", 2)
    assert load(None, {}, {"upstream": [{"url": "triton://a:8001/m"}]}).upstream[0].url.startswith("triton")
    with pytest.raises(ConfigFault, match="mixed"):
        load(None, {}, {"upstream": [{"url": "triton://a:8001/m"}, {"url": "http://x"}]})
    with pytest.raises(ConfigFault, match="no upstream"):
        load(None, {}, {})


def test_the_process_serves_drains_and_ends(
    serving: Serving, upstream: Upstream, free_port: Any, tmp_path: Path
) -> None:
    import signal
    import subprocess
    import sys
    import time

    port = free_port()
    command = [sys.executable, "-m", "cachelayer", "serve", "--upstream", serving(upstream).url, "--port", str(port),
               "--semantic", "off"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and json.loads(process.stdout.readline())["event"] == "started"
            client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-test", max_retries=4)
            messages: list[Any] = [
                {"role": "user", "content": '{"say": "a b c", "hold": "g", "hold_after": 2}'}
            ]
            stream = client.chat.completions.create(model="m", messages=messages, stream=True)
            text = next(iter(stream)).choices[0].delta.content or ""
            process.send_signal(signal.SIGTERM)
            give_up = time.monotonic() + 10
            while time.monotonic() < give_up:
                try:
                    socket.create_connection(("127.0.0.1", port), 0.2).close()
                except OSError:
                    break
            upstream.gate("g").set()
            assert text + "".join(c.choices[0].delta.content or "" for c in stream) == "a b c"
            client.close()
            assert process.wait(15) == 0
            assert json.loads(process.stdout.read().splitlines()[-1])["event"] == "stopped"
        finally:
            process.kill()


async def test_a_log_that_nobody_reads_any_more_holds_up_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        log = Log("all", out)
        for _ in range(20):
            log.tell("request")
            log.close()  # each writes what waits
