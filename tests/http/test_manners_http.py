"""HTTP manners: request directives tighten, Cache-Status tells why, and only what may be kept is kept."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware, JsonRoute
from cachelayer.adapters.asgi.directives import DIRECTIVES, allowed, asked
from hypothesis import given
from hypothesis import strategies as st
from upstream import Upstream

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.testing import ManualClock, WordEmbedder

CHAT = "/v1/chat/completions"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def made(upstream: Any, clock: ManualClock, policy: dict[str, Any] | None = None, **options: Any) -> Client:
    settings = Policy(**{"ttl": "1h", "ttl_jitter": 0, **(policy or {})})
    layer = CacheLayer(semantic=False, clock=clock, policy=settings)
    return Client(CacheLayerMiddleware(upstream, layer=layer, recheck="10h", **options))


@pytest.fixture
def c(upstream: Upstream, clock: ManualClock) -> Client:
    return made(upstream, clock)


async def test_status_and_age_tell_how_an_answer_came_to_be(c: Client, clock: ManualClock) -> None:
    first = await c.chat("hello")
    assert first.header("cache-status").startswith("cachelayer; fwd=uri-miss; fwd-status=200; stored;")
    assert "memory:absent" in first.header("cache-status") and first.header("age") == ""
    clock.advance(100)
    again = await c.chat("hello")
    assert again.header("cache-status") == "cachelayer; hit; ttl=3500; detail=memory"
    assert again.header("age") == "100"
    clock.advance(3600)
    assert "fwd=stale" in (await c.chat("hello")).header("cache-status")


async def test_hits_in_a_row_tell_their_age_to_the_second_and_never_share_an_identity(
    c: Client, clock: ManualClock
) -> None:
    await c.chat("hello")
    ids = set()
    for step in range(1, 25):
        clock.advance(0.25)
        answer = await c.chat("hello")
        passed = step / 4
        assert answer.header("age") == f"{int(passed)}"
        assert answer.header("cache-status") == f"cachelayer; hit; ttl={int(3600 - passed)}; detail=memory"
        assert len(answer.body) == int(answer.header("content-length"))
        ids.add(answer.json()["id"])
    assert len(ids) == 24


async def test_a_caller_may_ask_for_fresh_answers(c: Client, upstream: Upstream, clock: ManualClock) -> None:
    async def calls(**headers: str) -> int:
        before = len(upstream.requests)
        await c.chat("hello", headers=headers)
        return len(upstream.requests) - before

    await c.chat("hello")
    clock.advance(50)
    assert await calls(cache_control="max-age=60") == 0
    assert await calls(cache_control="min-fresh=4000") == 1
    clock.advance(50)
    assert await calls(cache_control="max-age=20") == 1
    assert await calls(cache_control="max-age=20") == 0
    assert await calls(cache_control="no-cache") == 1
    assert await calls(pragma="no-cache") == 1
    clock.advance(1)
    assert await calls(cache_control="max-age=nonsense") == 1
    assert await calls() == 0


async def test_a_similar_answer_has_to_be_as_fresh_as_asked(upstream: Upstream) -> None:
    async with CacheLayer(embedder=WordEmbedder(), policy=Policy(max_error_rate=1.0, ttl="1h")) as layer:
        c = Client(CacheLayerMiddleware(upstream, layer=layer))
        await c.chat("how do I return a product")
        await layer.flush()
        for fresh, status in ((60, 200), (7200, 504)):
            told = {"cache_control": f"only-if-cached, min-fresh={fresh}"}
            assert (await c.chat("how do I return the product", headers=told)).status == status


async def test_no_store_keeps_nothing(c: Client, upstream: Upstream) -> None:
    for _ in range(2):
        told = await c.chat("hello", headers={"cache_control": "no-store"})
        assert "stored" not in told.header("cache-status").split("; ")
    assert not (await c.chat("hello")).hit and len(upstream.requests) == 3


@pytest.mark.parametrize("stream", [True, False])
async def test_only_if_cached_never_reaches_the_app(c: Client, upstream: Upstream, stream: bool) -> None:
    only = {"headers": {"cache_control": "only-if-cached"}, "stream": stream}
    assert (await c.chat("hello", **only)).status == 504
    await c.chat("other")
    assert (await c.chat("hello", **only)).status == 504 and len(upstream.requests) == 1
    await c.chat("hello", stream=stream)
    assert (await c.chat("hello", **only)).hit
    assert (await c.post(CHAT, b"{", cache_control="only-if-cached")).status == 504


@pytest.mark.parametrize("stream", [True, False])
async def test_a_lifetime_of_the_owner_s_that_is_none_costs_the_keeping_and_not_the_answer(
    upstream: Upstream, clock: ManualClock, stream: bool
) -> None:
    c = made(upstream, clock, {"ttl": lambda answer: "soon"})
    for _ in range(2):
        answer = await c.chat("hello", stream=stream)
        assert answer.status == 200 and not answer.hit
    assert c.app.layer.stats()["faults"]["ttl:ConfigurationError"] == 2


async def test_a_stale_answer_stands_in_for_a_failing_app(upstream: Upstream, clock: ManualClock) -> None:
    app = Switch(upstream)
    c = made(app, clock, {"stale_if_error": 600})
    await c.chat("hello")
    clock.advance(3700)
    app.status = 503
    assert (await c.chat("hello")).json()["choices"][0]["message"]["content"] == "You said: hello"
    app.status = 429
    assert (await c.chat("hello")).status == 429
    app.status = 503
    clock.advance(3700)
    assert (await c.chat("hello")).status == 503


class Switch:
    """An app that fails when told to."""

    def __init__(self, app: Any) -> None:
        self.app, self.status, self.asked = app, 200, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        if self.status == 200:
            return await self.app(scope, receive, send)
        await Upstream._reply(
            send, self.status, b'{"error":{"message":"down"}}', [(b"content-type", b"application/json")]
        )
        return None


@pytest.mark.parametrize("headers", [
    {"set-cookie": "a=b"}, {"cache-control": "private"}, {"cache-control": "no-store"}, {"vary": "*"},
    {"vary": "x-flavour"}, {"trailer": "x"}, {"cache-control": "max-age=0"}, {"cache-control": "no-cache, max-age=0"},
    {"cache-control": "max-age=-1"}, {"cache-control": "max-age=soon"}, {"cache-control": "max-age=0, max-age=60"},
    {"expires": "0"}, {"expires": "Thu, 01 Jan 1970 00:00:00 GMT"},
])  # fmt: skip
@pytest.mark.parametrize("stream", [True, False])
async def test_what_a_response_forbids_is_not_kept(
    c: Client, upstream: Upstream, headers: dict[str, str], stream: bool
) -> None:
    script = {"say": "a b", "headers": headers}
    first, again = [await c.chat(script, stream=stream) for _ in range(2)]
    assert len(upstream.requests) == 2 and not again.hit
    (name,) = headers
    assert first.header(name) == headers[name] and first.complete


async def test_only_type_and_language_are_replayed(c: Client, upstream: Upstream) -> None:
    kept = {"content-language": "de", "x-ratelimit-remaining": "3", "vary": "Accept-Encoding, Origin"}
    script = {"say": "a", "headers": kept}
    first, again = [await c.chat(script) for _ in range(2)]
    assert first.header("x-ratelimit-remaining") == "3" and first.header("x-request-id")
    names = {name for name, _ in again.headers}
    assert names == {b"content-type", b"content-language", b"content-length", b"cache-status", b"age"}
    assert again.header("content-language") == "de"


async def test_a_response_may_shorten_its_own_life(c: Client, clock: ManualClock) -> None:
    script = {"say": "a", "headers": {"cache-control": "public, max-age=10"}}
    await c.chat(script)
    assert (await c.chat(script)).hit
    clock.advance(11)
    assert not (await c.chat(script)).hit


async def test_a_date_of_expiry_counts_where_no_lifetime_is_told(c: Client, clock: ManualClock) -> None:
    for more, left in (({}, 100), ({"cache-control": "max-age=500"}, 500)):
        headers = {"expires": formatdate(time.time() + 100, usegmt=True), **more}
        script = {"say": "a", "headers": headers}
        await c.chat(script)
        clock.advance(left - 50)
        assert (await c.chat(script)).hit
        clock.advance(51)
        assert not (await c.chat(script)).hit


@pytest.mark.parametrize(("age", "left"), [("50", 10), ("60", 0), ("soon", 60), ("9" * 500, 0)])
async def test_what_another_cache_kept_for_a_while_lives_that_much_shorter(
    c: Client, clock: ManualClock, age: str, left: int
) -> None:
    script = {"say": "a", "headers": {"cache-control": "max-age=60", "age": age}}
    await c.chat(script)
    assert (await c.chat(script)).hit is (left > 0)
    clock.advance(left + 1)
    assert not (await c.chat(script)).hit


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("stream", [True, False])
async def test_the_age_of_an_answer_counts_its_time_in_other_caches(
    c: Client, clock: ManualClock, stored: bool, stream: bool
) -> None:
    script = {"say": "a", "headers": {"age": "100"}}
    await c.chat(script, stream=stored)
    clock.advance(20)
    fields = {"stream": True} if stream else {}
    again = [await c.chat(script, **fields) for _ in range(4)]  # the later ones by shorter ways
    assert [one.header("age") for one in again] == ["120"] * 4
    for limit, hit in ((121, True), (119, False)):
        told = {"cache-control": f"max-age={limit}"}
        assert (await c.chat(script, stream=stream, headers=told)).hit is hit


async def test_the_owner_says_what_headers_may_ask(upstream: Upstream, clock: ManualClock) -> None:
    c = made(upstream, clock, allow=["max-age"])
    await c.chat("hello")
    assert (await c.chat("hello", headers={"cache_control": "no-cache"})).hit
    with pytest.raises(ConfigurationError, match="no-cash"):
        allowed(["no-cash"])


async def test_what_differs_beside_the_body_keeps_answers_apart(c: Client, upstream: Upstream) -> None:
    await c.post(CHAT, ask("x"))
    await c.post(CHAT, ask("x"), query=b"api-version=1")
    await c.post(CHAT, ask("x"), openai_organization="acme")
    await c.post(CHAT, ask("x"), accept_language="de")
    assert len(upstream.requests) == 4
    assert (await c.post(CHAT, ask("x"), accept_language="de")).hit
    assert (await c.post(CHAT, ask("x", user="u", metadata={"a": "b"}))).hit


@pytest.mark.parametrize("stream", [True, False])
async def test_an_owner_who_keeps_nothing_is_told_so(
    upstream: Upstream, clock: ManualClock, stream: bool
) -> None:
    c = made(upstream, clock, {"ttl": 0})
    told = [(await c.chat("hello", stream=stream)).header("cache-status") for _ in range(2)]
    assert all("fwd=uri-miss" in one and "stored" not in one for one in told)


async def test_any_json_api_can_be_cached(upstream: Upstream, clock: ManualClock) -> None:
    calls = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        calls.append(json.loads((await receive())["body"]))
        await Upstream._reply(send, 200, b'{"scores":[1]}', [(b"content-type", b"application/json")])

    c = made(app, clock, routes=[JsonRoute("/rerank", text="query")])
    for body in ({"query": "a"}, {"query": "a"}, {"query": "a", "stream": True}):
        assert (await c.post("/rerank", body)).body == b'{"scores":[1]}'
    assert len(calls) == 2


@given(st.text(max_size=60), st.text(max_size=30), st.sets(st.sampled_from(DIRECTIVES)))
def test_no_header_ever_loosens_or_fails(control: str, own: str, allow: set[str]) -> None:
    found = asked(control.encode("utf-8", "replace"), own.encode("utf-8", "replace"), frozenset(allow))
    tighter = found.tightening()
    assert set(tighter) <= {"no_cache", "no_store", "max_age", "no_similar", "max_error_rate"}
    layer = CacheLayer(semantic=False)
    with layer.tighten(max_error_rate=0.0, max_age=0.0, no_cache=True):
        tighter.pop("max_error_rate", None), tighter.pop("max_age", None)
        with layer.tighten(**tighter):
            pass
