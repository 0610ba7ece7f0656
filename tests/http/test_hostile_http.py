"""Requests that were made to break it, and what owners get wrong, harm nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware, Header, Route, ScopeMiddleware
from cachelayer.adapters.asgi.routes import MOST_NESTED, Unreadable, parse
from starlette.applications import Starlette
from starlette.routing import Mount
from upstream import Upstream

from cachelayer import CacheLayer, ConfigurationError

CHAT = "/v1/chat/completions"
DIRECTIVES = [
    name + 60_000 * filler + "!"
    for name, filler in (("", "a"), ("", " "), ("max-age", " "), ("max-age=", " "), ("a", "-"))
]


@pytest.mark.parametrize("header", ["cache_control", "cachelayer"])
@pytest.mark.parametrize("value", DIRECTIVES)
async def test_a_long_header_holds_up_nobody(
    upstream: Upstream, layer: CacheLayer, header: str, value: str
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    assert (await c.chat("x", headers={header: value})).status == 200  # the fixture measures the loop


@pytest.mark.parametrize(
    "unit", [b"[],", b"{}, ", b"[" * 200 + b"]" * 200 + b",", b'{"a":' * 99 + b"1" + b"}" * 99 + b","]
)
async def test_a_body_of_nothing_but_brackets_holds_up_nobody(layer: CacheLayer, unit: bytes) -> None:
    asked = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append((await receive())["body"])
        await Upstream._reply(send, 200, b"{}", [(b"content-type", b"application/json")])

    c = Client(CacheLayerMiddleware(app, layer=layer))
    body = b'{"x":[%b1]}' % (unit * (4_000_000 // len(unit)))
    told = await c.post(CHAT, body)  # the fixture measures the loop
    assert told.header("cache-status") == 'cachelayer; fwd=bypass; detail="too many lists and objects"'
    assert told.status == 200 and asked == [body]


def test_a_body_may_hold_as_many_lists_as_a_prompt_needs() -> None:
    most = json.dumps({"x": [[]] * (MOST_NESTED - 2)}).encode()
    assert len(parse(most)["x"]) == MOST_NESTED - 2
    with pytest.raises(Unreadable, match="too many"):
        parse(most.replace(b"{", b'{"y":{},'))


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize("depth", [200, 400, 800])
async def test_a_body_nested_deeply_is_answered_each_time(
    upstream: Upstream, layer: CacheLayer, depth: int
) -> None:
    body = json.dumps(ask("x")).replace("{", '{"x":' + '{"a":' * depth + "1" + "}" * depth + ",", 1).encode()
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    assert [(await c.post(CHAT, body)).status for _ in range(3)] == [200] * 3


async def test_a_first_body_of_any_depth_is_answered() -> None:
    """Where the parser just manages it, and what makes the key, which has a little more on its stack, does not."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await Upstream._reply(send, 200, b"{}", [(b"content-type", b"application/json")])

    for depth in range(880, 1000):
        layer = CacheLayer(semantic=False)
        c = Client(CacheLayerMiddleware(app, layer=layer, routes=[Route(CHAT, openai=True)]))
        body = json.dumps(ask("x")).replace("{", '{"x":' + "[" * depth + "]" * depth + ",", 1).encode()
        assert (await c.post(CHAT, body)).status == 200


@pytest.mark.parametrize("name", ["self", "fields", "call", "_", "args", "kwargs", "ask", "tenant"])
async def test_any_name_may_stand_in_a_body(upstream: Upstream, layer: CacheLayer, name: str) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    assert (await c.post(CHAT, {**ask("x"), name: 1})).status == 200
    items = {"model": "m", "input": ["a", "b"], name: 1}
    assert (await c.post("/v1/embeddings", items)).status == 200


@pytest.mark.parametrize("spelled", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
async def test_what_is_not_written_in_utf_8_passes_uncached(
    upstream: Upstream, layer: CacheLayer, spelled: str
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    body = json.dumps(ask("x", stream=True)).encode(spelled)
    for _ in range(3):
        told = await c.post(CHAT, body)
        assert "fwd=bypass" in told.header("cache-status")
        assert told.header("content-type").startswith("text/event-stream")


async def test_numbers_that_no_float_holds_are_not_all_the_same(
    upstream: Upstream, layer: CacheLayer
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    for number in (b"1e400", b"1e999", b"-1e400"):
        told = await c.post(CHAT, json.dumps(ask("x", seed=0)).encode().replace(b": 0", b": " + number))
        assert "beyond 64 bits" in told.header("cache-status")


@pytest.mark.parametrize(
    "number", ["1E400", "-1e+309", "1.5e0400", f"{10**309}.5", str(2**64), str(-(2**63) - 1)]
)
@pytest.mark.parametrize(
    "form", ['{{"seed":{0}}}', '{{ "seed": {0} }}', '{{ "a": [0, {{"b": [1.5, {0}]}}] }}']
)
def test_a_number_beyond_64_bits_is_seen_in_whatever_form_and_place(number: str, form: str) -> None:
    with pytest.raises(Unreadable, match="beyond 64 bits"):
        parse(form.format(number).encode())


@pytest.mark.parametrize(
    "number", ["1e-400", "1e0005", "1E+99", str(2**63 - 1), str(-(2**63)), "0." + 30 * "3"]
)
def test_a_number_within_64_bits_is_read_in_whatever_form(number: str) -> None:
    assert parse(f'{{ "seed": {number} }}'.encode()) == {"seed": json.loads(number)}


@pytest.mark.parametrize("why", [{"key": None}, {"range": "bytes=0-1"}, {"content_encoding": "gzip"}])
async def test_only_if_cached_never_reaches_the_app_by_another_way(
    upstream: Upstream, layer: CacheLayer, why: dict[str, Any]
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer), **why)
    assert (await c.chat("x", headers={"cache_control": "only-if-cached"})).status == 504
    assert not upstream.requests


@pytest.mark.parametrize("header", ["cookie", "authorization", "x-api-key"])
async def test_an_answer_that_differs_by_credentials_is_not_shared_in_a_tenant(
    upstream: Upstream, header: str
) -> None:
    script = {"say": "x", "headers": {"vary": header}}
    for principal, kept in ((Header("x-tenant"), False), (None, True)):
        app = CacheLayerMiddleware(
            upstream, layer=CacheLayer(semantic=False), principal=principal, authorize=lambda scope: True
        )
        before = len(upstream.requests)
        for who in ("one", "other", "one"):
            await Client(app, key=None, x_tenant="t", **{header: who}).chat(script)
        assert len(upstream.requests) - before == (2 if kept else 3)


def broken(scope: Any) -> Any:
    raise RuntimeError("the owner's database is away")


async def distrusts(scope: Any) -> bool:
    return False


@pytest.mark.parametrize("trust", [broken, distrusts])
async def test_nobody_is_trusted_by_mistake(upstream: Upstream, layer: CacheLayer, trust: Any) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer, public=True, trust=trust), key=None)
    for _ in range(2):
        assert (await c.chat("x")).header("cache-status") == "cachelayer"
    with pytest.raises(ConfigurationError, match="trust"):
        CacheLayerMiddleware(upstream, layer=layer, trust="yes", name="other")  # type: ignore[arg-type]


async def test_a_resolver_that_fails_makes_requests_nobodys(upstream: Upstream, layer: CacheLayer) -> None:
    for app in (
        CacheLayerMiddleware(upstream, layer=layer, principal=broken),
        ScopeMiddleware(upstream, layer=layer, principal=broken),
    ):
        told = await Client(app).chat("x")
        assert told.status == 200 and not told.hit
    assert len(upstream.requests) == 2


async def test_a_tenant_whose_name_no_utf_8_holds_is_one_like_others(
    upstream: Upstream, layer: CacheLayer
) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer, trust=True, principal=lambda scope: "\ud800")
    told = [await Client(app).chat("x") for _ in range(3)]
    assert [(one.status, one.hit) for one in told] == [(200, False), (200, False), (200, True)]


@pytest.mark.parametrize(
    "body",
    [b"[1]", b'"x"', b"7", b"null", b"{}", b'{"status":"loading"}']
    + [
        b'{"choices":%b}' % choices
        for choices in (b"null", b'"x"', b"{}", b"[null]", b"[[]]", b"[{}]", b"[7]")
    ]
    + [b'{"content":null}', b'{"output":[]}', b'{"choices":[{"text":null}]}'],
)
async def test_json_that_is_no_answer_is_not_kept(layer: CacheLayer, body: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await Upstream._reply(send, 200, body, [(b"content-type", b"application/json")])

    c = Client(CacheLayerMiddleware(app, layer=layer))
    told = [await c.chat("hello", stream=stream) for stream in (False, False, True)]
    assert [(one.body, one.hit) for one in told] == [(body, False)] * 3


@pytest.mark.parametrize("said", [
    {"detail": "not found"}, {"status": "loading"}, {"choices": None}, {"choices": []}, {"choices": [{"index": 0}]},
    {"choices": "x", "content": "y"}, {"choices": ["x"]},
])  # fmt: skip
async def test_events_that_are_no_answer_are_not_kept(layer: CacheLayer, said: dict[str, Any]) -> None:
    body = b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(said).encode()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await Upstream._reply(send, 200, body, [(b"content-type", b"text/event-stream")])

    c = Client(CacheLayerMiddleware(app, layer=layer))
    told = [await c.chat("hello", stream=True) for _ in range(2)]
    assert [(one.body, one.hit) for one in told] == [(body, False)] * 2


async def test_no_trailer_changes_an_answer_for_others(layer: CacheLayer) -> None:
    seen: list[Any] = []

    async def persona(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]).get(b"x-persona"))
        await Upstream()(scope, receive, send)

    inner = CacheLayerMiddleware(persona, layer=layer, public=True, trust=True, vary=["x-persona"])

    async def as_uvicorn(scope: Any, receive: Any, send: Any) -> None:
        headers = scope["headers"]

        async def late() -> Any:
            message = await receive()
            if not message.get("more_body", False):
                headers.append((b"x-persona", b"pirate"))  # a trailer
            return message

        await inner(scope, late, send)

    await Client(as_uvicorn, key=None).chat("hello")
    assert (await Client(inner, key=None).chat("hello")).hit and seen == [None]


async def test_a_mounted_app_is_cached_apart_at_each_place(upstream: Upstream, layer: CacheLayer) -> None:
    inner = CacheLayerMiddleware(upstream, layer=layer)
    app = Starlette(routes=[Mount("/{tenant}", inner)])
    for place in ("/one", "/other"):
        first, again = [await Client(app).post(place + CHAT, ask("x")) for _ in range(2)]
        assert "stored" in first.header("cache-status") and again.hit
    assert upstream.paths == ["/one" + CHAT, "/other" + CHAT]
    assert (await Client(inner).chat("x")).status == 200 and len(upstream.requests) == 3


async def test_an_app_may_write_into_the_scope_where_a_request_went(
    upstream: Upstream, layer: CacheLayer
) -> None:
    """As Litestar does below a root path: who was let in is known by the path that came."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["path"] = scope["path"].removeprefix(scope["root_path"])
        await upstream(scope, receive, send)

    mounted = Client(Starlette(routes=[Mount("/sub", CacheLayerMiddleware(app, layer=layer))]))
    for body in (ask("x"), {**ask("y"), "store": True}, ask("x")):
        last = await mounted.post("/sub" + CHAT, body)
    assert last.hit and upstream.paths == [CHAT] * 2


@pytest.mark.parametrize("name", ["authorization", "api-key", "x-api-key", "cookie"])
@pytest.mark.parametrize("blank", ["", " ", "Bearer", "Bearer "])
async def test_a_blank_credential_is_nobodys(
    upstream: Upstream, layer: CacheLayer, name: str, blank: str
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer), key=None)
    for _ in range(3):
        answer = await c.chat("x", headers={name: blank})
        assert "no-principal" in answer.header("cache-status")
