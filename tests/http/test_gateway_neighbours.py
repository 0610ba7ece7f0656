"""What is between two neighbours goes no further, and what tells requests apart is seen by both sides alike."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware, Header
from upstream import Server, Upstream

from cachelayer import CacheLayer
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

Serving = Callable[..., Server]
KEY = {"tenant": "acme", "sha256": hashlib.sha256(b"ours").hexdigest(), "trusted": True}


class Seen(Upstream):
    """Keeps the heads of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: list[dict[bytes, bytes]] = []
        self.targets: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.heads.append(dict(scope["headers"]))
            self.targets.append(scope["raw_path"])
        await super().__call__(scope, receive, send)


async def test_what_a_message_calls_its_connections_own_goes_no_further(
    gateway: Any, serving: Serving
) -> None:
    upstream = Seen()
    c = gateway(serving(upstream).url)
    hop = {"connection": "keep-alive, X-Hop, authorization, HTTP2-Settings", "x-hop": "1", "x-end": "2"}
    script = {"say": "x", "headers": {"Connection": "X-Private", "X-Private": "3", "X-Open": "4"}}
    answer = await c.chat(script, headers=hop)
    (seen,) = upstream.heads
    assert b"x-hop" not in seen and seen[b"x-end"] == b"2"
    assert seen[b"authorization"] == b"Bearer sk-test"  # the answer is kept under it
    assert (answer.header("x-private"), answer.header("x-open")) == ("", "4")


@pytest.mark.parametrize(
    "path", ["/../x", "/v1/../../x", "/v1/%2e%2E/%2e./x", "/v1/..%2f../x", "/a\\..\\x", "/..;/x"]
)
async def test_no_path_leads_out_of_an_upstreams_own(gateway: Any, serving: Serving, path: str) -> None:
    upstream = Seen()
    c = gateway(serving(upstream).url + "/tenants/a")
    assert (await c.post(path, b"{}")).status == 400 and not upstream.targets
    await c.post("/a..b/...", b"{}")
    assert upstream.targets == [b"/tenants/a/a..b/..."]


@pytest.mark.parametrize(("base", "sent"), [
    ("", "/v1"), ("/v1", "/v1"), ("/proxy", "/proxy/v1"), ("/v1beta/openai", "/v1beta/openai"),
    ("/api/paas/v4/", "/api/paas/v4"), ("/v1/projects/p/openapi", "/v1/projects/p/openapi"), ("/vast", "/vast/v1"),
])  # fmt: skip
async def test_an_address_with_a_version_in_its_path_is_a_whole_base_url(
    gateway: Any, serving: Serving, base: str, sent: str
) -> None:
    upstream = Seen()
    c = gateway(serving(upstream).url + base)
    assert [(await c.chat("x")).hit for _ in range(2)] == [False, True]
    assert upstream.targets == [f"{sent}/chat/completions".encode()]


@pytest.mark.parametrize("told", ["h2c", "TLS/1.3", "foo/2, bar"])
async def test_an_offer_of_another_protocol_changes_nothing(
    gateway: Any, serving: Serving, told: str
) -> None:
    upstream = Seen()
    c = gateway(serving(upstream).url)
    offer = {"upgrade": told, "connection": "Upgrade, HTTP2-Settings", "http2-settings": "AAMAAABkAAQAoAAA"}
    first, again = [await c.chat("hello", headers=offer) for _ in range(2)]
    assert again.hit and first.status == 200
    assert not {b"upgrade", b"http2-settings"} & upstream.heads[0].keys()


async def test_answers_may_differ_by_a_key_that_goes_no_further(gateway: Any, serving: Serving) -> None:
    script = {"say": "x", "headers": {"vary": "Authorization, Origin"}}
    kept = gateway(serving(Upstream()).url, bearer="ours", key=[KEY])
    assert [(await kept.chat(script)).hit for _ in range(2)] == [False, True]
    own = gateway(
        serving(Upstream()).url, bearer="ours", callers__principal_header="X-Org", callers__trust=True
    )
    told = {"x-org": "acme"}
    assert not any([(await own.chat(script, headers=told)).hit for _ in range(3)])
    named = {"say": "y", "headers": {"vary": "X-Org"}}
    assert [(await own.chat(named, headers=told)).hit for _ in range(2)] == [False, True]


async def test_a_gateway_may_be_told_which_headers_change_answers(gateway: Any, serving: Serving) -> None:
    c = gateway(serving(Upstream()).url, cache__vary=["X-Persona"])
    script = {"say": "x", "headers": {"vary": "X-Persona"}}
    for persona in ("pirate", "poet"):
        told = {"x-persona": persona}
        assert [(await c.chat(script, headers=told)).hit for _ in range(2)] == [False, True]


async def test_credentials_that_are_to_keep_answers_apart_in_a_tenant_do(layer: CacheLayer) -> None:
    upstream = Upstream()
    told: dict[str, Any] = {"principal": Header("x-org"), "authorize": lambda scope: True, "trust": True}
    app = CacheLayerMiddleware(upstream, layer=layer, vary=["Authorization"], **told)
    for key in ("a", "b"):
        c = Client(app, key=key, x_org="acme")
        assert [(await c.chat("hello")).hit for _ in range(2)] == [False, True]
    assert len(upstream.requests) == 2


async def test_a_server_that_closes_its_kept_connections_fails_nobody(gateway: Any) -> None:
    asked: list[bytes] = []

    async def one_answer_a_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for turn in range(2):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            if turn == 0:
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                asked.append(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok")
        writer.close()  # the second time without an answer

    server = await asyncio.start_server(one_answer_a_connection, "127.0.0.1", 0)
    c = gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    told = [await c.post("/x", {"turn": turn}) for turn in range(6)]
    assert [(one.status, one.body) for one in told] == [(200, b"ok")] * 6 and len(asked) == 6
    server.close()


async def test_a_request_that_a_server_dies_of_is_asked_of_each_server_once(gateway: Any) -> None:
    """It was twice where nothing had been asked before, as if a kept connection had been closed meanwhile."""
    asked: list[bytes] = []

    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    servers = [await asyncio.start_server(dies, "127.0.0.1", 0) for _ in range(2)]
    c = gateway(*(f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}" for one in servers))
    assert (await c.chat("hello")).status == 502 and len(asked) == 2
    for one in servers:
        one.close()


async def test_one_request_finds_out_whether_an_upstream_that_failed_is_well_again(
    gateway: Any, serving: Serving, upstream: Upstream
) -> None:
    """All that came meanwhile went there, too, and waited until it was clear that it was not."""
    asked: list[asyncio.StreamWriter] = []
    came = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(writer)
        came.set()
        if len(asked) > 1:
            writer.close()

    server = await asyncio.start_server(slow, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    c = gateway(url, serving(upstream).url, retry__cooldown=3600)
    failed, _ = c.app.behind.all
    failed.last_until = time.monotonic()
    trial = asyncio.ensure_future(c.chat("hello"))
    await came.wait()
    busy = [asyncio.ensure_future(c.chat({"say": f"{i}", "hold": "held"})) for i in range(2)]
    while len(upstream.requests) < 2:
        await asyncio.sleep(0.001)
    assert (await c.chat("hello, too")).status == 200 and len(asked) == 1  # of the busier one, which is well
    upstream.gate("held").set()
    assert [(await one).status for one in busy] == [200, 200]
    asked[0].write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
    assert (await trial).body == b"{}" and c.app.behind.order(None)[0] is failed
    server.close()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of a thousand connections are open files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
async def test_as_many_requests_as_there_are_reach_an_upstream_at_once(gateway: Any) -> None:
    many, arrived, answered = 1100, asyncio.Semaphore(0), asyncio.Event()

    async def patient(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.release()
        await answered.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(patient, "127.0.0.1", 0, backlog=many)
    c = gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    calls = [asyncio.ensure_future(c.post("/x", b"", method="GET")) for _ in range(many)]
    for _ in range(many):
        await asyncio.wait_for(arrived.acquire(), 60)
    answered.set()
    assert {(await call).status for call in calls} == {204}
    server.close()


async def test_models_of_all_upstreams_are_listed_and_requests_may_name_none(serving: Serving) -> None:
    parts = [{"url": serving(Upstream()).url, "models": models} for models in (["a", "b"], ["b", "c"])]
    for upstreams, listed in ((parts, ["a", "b", "c"]), ([parts[0], {"url": parts[1]["url"]}], None)):
        app = Gateway(load(None, {}, {"upstream": upstreams, "server.log": "off", "cache.semantic": "off"}))
        c = Client(app)
        answer = await c.post("/v1/models", b"", method="GET")
        if listed is None:
            assert (answer.status, answer.json()) == (
                400,
                {"error": {"message": "not JSON"}},
            )  # the upstream's
        else:
            assert [one["id"] for one in answer.json()["data"]] == listed
            assert (await c.chat("x", model="d")).status == 404
        assert (await c.post("/echo", b"--boundary")).body == b"--boundary"
        brackets = b'{"model":"d","x":[%b1]}' % (b"[]," * 1_500_000)
        assert (await c.post("/echo", brackets)).body == brackets  # the fixture measures the loop
        await app.behind.aclose()
