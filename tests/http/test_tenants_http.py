"""Whose answer it is: nobody sees another's, and nobody gets what the app behind would have refused him."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware, Header, JwtClaim, ScopeMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.testing import ManualClock, WordEmbedder

CHAT = "/v1/chat/completions"


class Whoami:
    """Answers with who asked, whole or streamed; refuses keys that are not in `keys`."""

    def __init__(self, keys: set[str]) -> None:
        self.keys, self.calls = keys, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = json.loads((await receive())["body"])
        who = dict(scope["headers"]).get(b"authorization", b"nobody").decode()
        if who not in self.keys:
            await Upstream._reply(
                send, 401, b'{"error":{"message":"go away"}}', [(b"content-type", b"application/json")]
            )
            return
        self.calls += 1
        await asyncio.sleep(0)
        told = Upstream()
        script = {"say": f"for {who}"}
        if not body.get("stream"):
            raw = json.dumps(told.whole(body, script, True)).encode()
            await Upstream._reply(send, 200, raw, [(b"content-type", b"application/json")])
            return
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for event in told.events(body, script, True):
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


def text_of(answer: Any) -> str:
    if answer.body.startswith(b"data:"):
        return str(answer.text())
    return str(answer.json()["choices"][0]["message"]["content"])


async def interleavings(rounds: int, seed: int) -> None:
    """Principals ask the same few questions at random, whole and streamed, some leaving early, some without a key."""
    rng = random.Random(seed)
    names = [f"Bearer {i}" for i in range(6)]
    app = Whoami({*names, "nobody"})
    clock = ManualClock()
    layer = CacheLayer(
        semantic=False, clock=clock, policy=Policy(max_bytes=2**20, stale_while_revalidate="1h")
    )
    client = Client(CacheLayerMiddleware(app, layer=layer), key=None)
    calls: list[tuple[str, Any]] = []
    for _ in range(rounds):
        who = rng.choice([*names, "nobody"])
        headers = {} if who == "nobody" else {"authorization": who}
        if rng.random() < 0.2:
            headers["cache_control"] = rng.choice(["no-cache", "no-store", "max-age=1", "only-if-cached"])
        body = ask(f"question {rng.randrange(4)}", stream=rng.random() < 0.5)
        calls.append((who, client.start(CHAT, body, **headers)))
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        if rng.random() < 0.1:
            calls[-1][1].leave()
        if rng.random() < 0.05:
            clock.advance(rng.choice([1.0, 400.0, 90_000.0]))
        if len(calls) > 20:
            await check(*calls.pop(rng.randrange(len(calls))))
    for one in calls:
        await check(*one)
    assert 0 < app.calls < rounds


async def check(who: str, call: Any) -> None:
    answer = await call.wait()
    if answer.complete and answer.status == 200:
        assert text_of(answer) == f"for {who}"


async def test_no_principal_ever_sees_another() -> None:
    await interleavings(600, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_ten_thousand_interleavings_give_nobody_another_s_answer(seed: int) -> None:
    await interleavings(1000, seed + 100)


@pytest.mark.parametrize("option", ["recheck", "callable", "async", "sub-app"])
async def test_a_primed_cache_answers_nobody_whom_the_app_refuses(option: str) -> None:
    app = Whoami({"Bearer good"})

    def let_in(scope: Any) -> bool:
        return dict(scope["headers"]).get(b"authorization", b"").decode() in app.keys

    async def lets_in(scope: Any) -> bool:
        return let_in(scope)

    async def sub_app(scope: Any, receive: Any, send: Any) -> None:
        await Upstream._reply(send, 204 if let_in(scope) else 403, b"", [])

    chosen = {"callable": let_in, "async": lets_in, "sub-app": sub_app}.get(option)
    client = Client(
        CacheLayerMiddleware(app, layer=CacheLayer(semantic=False), authorize=chosen, public=True), key=None
    )
    for stream in (False, True, False):
        assert (await client.chat("x", stream=stream, headers={"authorization": "Bearer good"})).status == 200
    assert app.calls == 1
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "bearer good"}):
        answer = await client.chat("x", headers=headers)
        assert answer.status == 401 and answer.json()["error"]["message"] == "go away"
    app.keys.clear()
    if option == "recheck":  # the app's first refusal of a key shuts it out
        assert (await client.chat("new", headers={"authorization": "Bearer good"})).status == 401
    assert (await client.chat("x", headers={"authorization": "Bearer good"})).status == 401


async def test_a_key_revoked_unseen_is_rechecked(upstream: Upstream) -> None:
    clock, app = ManualClock(), Whoami({"Bearer good"})
    layer = CacheLayer(semantic=False, clock=clock)
    client = Client(CacheLayerMiddleware(app, layer=layer, recheck="1m"), key="good")
    await client.chat("x")
    app.keys.clear()
    clock.advance(59)
    assert all([(await client.chat("x")).hit for _ in range(4)])
    clock.advance(2)
    assert (await client.chat("x")).status == 401
    app.keys.add("Bearer good")
    assert not (await client.chat("x")).hit
    assert all([(await client.chat("x")).hit for _ in range(4)])
    app.keys.clear()
    # one refusal by the app, and nobody with these credentials is known at sight any more
    assert (await client.chat("new")).status == 401
    assert (await client.chat("x")).status == 401


async def test_an_authorizer_that_fails_lets_nobody_in(upstream: Upstream, layer: CacheLayer) -> None:
    def broken(scope: Any) -> bool:
        raise KeyError("x")

    client = Client(CacheLayerMiddleware(upstream, layer=layer, authorize=broken))
    for _ in range(2):
        answer = await client.chat("x")
        assert answer.status == 200 and "unauthorized" in answer.header("cache-status")


async def test_requests_of_nobody_share_only_by_the_owners_word(
    layer: CacheLayer, upstream: Upstream
) -> None:
    client = Client(CacheLayerMiddleware(upstream, layer=layer), key=None)
    for _ in range(2):
        assert "no-principal" in (await client.chat("x")).header("cache-status")
    public = Client(CacheLayerMiddleware(upstream, layer=layer, public=True, name="p"), key=None)
    answers = [await public.chat("y") for _ in range(2)]
    assert len(upstream.requests) == 3
    assert [a.header("cache-status") for a in answers] == ["cachelayer"] * 2 and not answers[1].header("age")
    trusted = Client(CacheLayerMiddleware(upstream, layer=layer, public=True, trust=True, name="t"), key=None)
    await trusted.chat("y")
    assert (await trusted.chat("y")).hit
    keyed = Client(public.app, key="sk-1")
    assert not (await keyed.chat("y")).hit


async def test_cookies_and_api_keys_tell_callers_apart(upstream: Upstream, layer: CacheLayer) -> None:
    client = Client(CacheLayerMiddleware(upstream, layer=layer), key=None)
    told = [
        {"cookie": "s=1"},
        {"cookie": "s=2"},
        {"api_key": "1"},
        {"x_api_key": "1"},
        {"authorization": "1"},
    ]
    for headers in (*told, *told):
        await client.chat("x", headers=headers)
    assert len(upstream.requests) == len(told)


async def test_the_same_words_in_another_header_are_another_caller(layer: CacheLayer) -> None:
    names = ["authorization", "cookie", "api-key", "x-api-key"]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        by = next(name for name in names for told, _ in scope["headers"] if told.decode() == name)
        choice = {"index": 0, "message": {"content": f"by {by}"}, "finish_reason": "stop"}
        body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "choices": [choice]}
        await Upstream._reply(send, 200, json.dumps(body).encode(), [(b"content-type", b"application/json")])

    client = Client(CacheLayerMiddleware(app, layer=layer), key=None)
    for turn, name in itertools.product(range(5), names):  # a caller is recognized sooner from turn to turn
        answer = await client.chat("x", headers={name: "the same"})
        assert text_of(answer) == f"by {name}" and answer.hit is (turn > 0)


async def test_a_shared_scope_needs_the_apps_word_for_each_credential() -> None:
    app = Whoami({"Bearer a", "Bearer b"})
    layer = CacheLayer(semantic=False)
    client = Client(
        CacheLayerMiddleware(app, layer=layer, principal=Header("x-tenant"), trust=True), key=None
    )
    headers = {"x_tenant": "acme", "authorization": "Bearer a"}
    await client.chat("x", headers=headers)
    await client.chat("x", headers=headers)
    assert (await client.chat("x", headers=headers)).hit
    assert (await client.chat("x", headers={**headers, "authorization": "Bearer wrong"})).status == 401
    other = {**headers, "authorization": "Bearer b"}
    assert not (await client.chat("x", headers=other)).hit
    assert (await client.chat("x", headers=other)).hit
    assert not (await client.chat("x", headers={**headers, "x_tenant": "globex"})).hit


async def test_a_resolver_that_only_says_yes_makes_nobody_share(caplog: pytest.LogCaptureFixture) -> None:
    app = Whoami({"Bearer a", "Bearer b"})
    resolver: Any = lambda scope: True  # noqa: E731  # what its type forbids
    client = Client(CacheLayerMiddleware(app, layer=CacheLayer(semantic=False), principal=resolver), key=None)
    for who in ("Bearer a", "Bearer b") * 3:
        answer = await client.chat("x", headers={"authorization": who})
        assert text_of(answer) == f"for {who}" and not answer.hit
    told = "stage principal failed with NoName (it returned True: return the tenant's name, or None)"
    assert told in caplog.text


def test_what_processes_share_needs_one_secret(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = CacheLayer(semantic=False, store="redis://127.0.0.1:1/0")
    with pytest.raises(ConfigurationError, match="secret"):
        CacheLayerMiddleware(upstream, layer=layer)
    with pytest.raises(ConfigurationError, match="key"):
        JwtClaim("org", key="short")
    CacheLayerMiddleware(upstream, layer=layer, secret="s" * 16)


async def test_similar_answers_go_to_trusted_callers_of_shared_scopes_only(upstream: Upstream) -> None:
    asked = itertools.count()
    for trust in (True, False):
        layer = CacheLayer(embedder=WordEmbedder(), policy=Policy(max_error_rate=1.0))
        async with layer:
            app = CacheLayerMiddleware(upstream, layer=layer, public=True, trust=trust, name=f"{next(asked)}")
            client = Client(app, key=None)
            await client.chat("how do I return a product")
            await client.chat("how do I return a product")
            await client.chat("how do I return the product")
            (misses,) = [
                f["misses"].get("similar", {})
                for n, f in layer.stats()["functions"].items()
                if n.endswith(CHAT)
            ]
            assert ("off" in misses) is not trust


async def test_functions_inside_handlers_know_whose_request_they_serve(layer: CacheLayer) -> None:
    calls = []

    @layer.cached
    async def answer(question: str) -> str:
        calls.append(question)
        return f"answer {len(calls)}"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await Upstream._reply(send, 200, (await answer("q")).encode(), [])

    client = Client(ScopeMiddleware(app, layer=layer), key=None)

    async def got(**headers: str) -> str:
        return (await client.post("/", b"", **headers)).body.decode()

    assert await got(authorization="a") == await got(authorization="a") == "answer 1"
    assert await got(authorization="b") == "answer 2"
    assert await got() == "answer 3" and await got() == "answer 4"
    assert await got(authorization="a", cache_control="no-cache") == "answer 5"
    assert await got(authorization="a") == "answer 5"
