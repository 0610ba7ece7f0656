"""Embeddings over ASGI: each item is cached, only unknown ones are asked for."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.asgi.embeddings import MAX_ITEMS
from hypothesis import given
from hypothesis import strategies as st
from upstream import Upstream

from cachelayer import CacheLayer, Policy

PATH = "/v1/embeddings"


def embed(given: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "e", "input": given, **fields}


async def test_of_a_hundred_with_ninety_known_ten_are_asked_for(c: Client, upstream: Upstream) -> None:
    known, unknown = [f"text {i}" for i in range(90)], [f"new {i}" * 3 for i in range(10)]
    await c.post(PATH, embed(known))
    both = [x for pair in zip(known[:10], unknown, strict=True) for x in pair] + known[10:]
    answer = await c.post(PATH, embed(both))
    assert upstream.requests[1]["input"] == unknown and len(upstream.requests) == 2
    data = answer.json()["data"]
    assert [d["index"] for d in data] == list(range(100))
    assert [d["embedding"][0] for d in data] == [float(len(text)) for text in both]
    assert answer.json()["usage"]["prompt_tokens"] == 10 and "items:90/100" in answer.header("cache-status")
    again = await c.post(PATH, embed(list(reversed(both))))
    assert again.hit and len(upstream.requests) == 2


async def test_a_first_batch_passes_as_the_app_answered_it(c: Client) -> None:
    alone = await Client(Upstream()).post(PATH, embed(["a", "b"]))
    behind = await c.post(PATH, embed(["a", "b"]))
    assert behind.body == alone.body and behind.header("x-request-id") == alone.header("x-request-id")


async def test_kept_vectors_are_in_the_language_that_the_app_told(
    upstream: Upstream, layer: CacheLayer
) -> None:
    async def told(scope: Any, receive: Any, send: Any) -> None:
        async def tell(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"content-language", b"de")]}
            await send(message)

        await upstream(scope, receive, tell)

    c = Client(CacheLayerMiddleware(told, layer=layer))
    answers = [await c.post(PATH, embed(["a", "b"])) for _ in range(2)]
    assert answers[1].hit and [one.header("content-language") for one in answers] == ["de", "de"]


@pytest.mark.parametrize("given", ["one", ["one"], [1, 2, 3], [[1, 2], [3]], ["twice", "twice"]])
async def test_every_form_of_input_hits(c: Client, upstream: Upstream, given: Any) -> None:
    first, again = [await c.post(PATH, embed(given)) for _ in range(2)]
    assert again.hit and len(upstream.requests) == 1
    assert "ttl=" not in again.header("cache-status")  # each item has its own
    assert first.json()["data"] == again.json()["data"]


async def test_what_changes_a_vector_keeps_items_apart(c: Client, upstream: Upstream) -> None:
    variants = [{}, {"dimensions": 8}, {"encoding_format": "base64"}, {"model": "f"}]
    for fields in variants:
        await c.post(PATH, {**embed("x"), **fields})
    await c.post(PATH, embed("x"), query=b"api-version=2")
    assert len(upstream.requests) == 5
    assert (await c.post(PATH, embed("x", user="me", encoding_format="float"))).hit


async def test_texts_that_are_embedded_as_parts_of_one_are_asked_for_together(
    c: Client, upstream: Upstream
) -> None:
    for batch in (["a", "b"], ["c", "b"]):
        answer = await c.post(PATH, embed(batch, late_chunking=True))
        assert answer.header("cache-status") == "cachelayer; fwd=bypass; detail=late_chunking"
        assert upstream.requests[-1]["input"] == batch


async def test_a_refused_batch_gets_the_apps_own_words_and_keeps_nothing(
    c: Client, upstream: Upstream
) -> None:
    await c.post(PATH, embed(["fine"]))
    for _ in range(2):
        answer = await c.post(PATH, embed(["fine", "bad item"]))
        assert answer.status == 400 and answer.json()["error"]["message"] == "bad item"


async def test_bursts_that_wait_for_each_other_do_not_stand_still(c: Client, upstream: Upstream) -> None:
    await c.post(PATH, embed("warm"))
    first = c.start(PATH, embed(["a", "b", "c"]))
    second = c.start(PATH, embed(["c", "b", "a"]))
    answers = [await asyncio.wait_for(call.wait(), 10) for call in (first, second)]
    assert [a.status for a in answers] == [200, 200]
    asked = [item for r in upstream.requests[1:] for item in r["input"]]
    assert sorted(asked) == ["a", "b", "c"]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=1, max_size=6))
def test_no_batch_ever_gets_anothers_vectors(batches: list[list[str]]) -> None:
    async def run() -> None:
        upstream = Upstream()
        c = Client(CacheLayerMiddleware(upstream, layer=CacheLayer(semantic=False)))
        calls = [c.start(PATH, embed([letter * (ord(letter) - 96) for letter in b])) for b in batches]
        for batch, call in zip(batches, calls, strict=True):
            data = (await call.wait()).json()["data"]
            assert [d["embedding"][0] for d in data] == [float(ord(letter) - 96) for letter in batch]

    asyncio.run(run())


async def test_only_if_cached_needs_every_item(c: Client) -> None:
    await c.post(PATH, embed(["a", "b"]))
    told = {"cache_control": "only-if-cached"}
    assert (await c.post(PATH, embed(["b"]), **told)).status == 200
    assert (await c.post(PATH, embed(["b", "c"]), **told)).status == 504


class Refusing:
    """Answers each batch in so many pieces, otherwise than with items that may be kept."""

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers, self.asked, self.at_work = status, headers, 0, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        self.asked, self.at_work = self.asked + 1, self.at_work + 1
        told = [
            (n.encode(), v.encode()) for n, v in {"content-type": "application/json", **self.headers}.items()
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": told})
        for _ in range(9):
            await send({"type": "http.response.body", "body": b"piece", "more_body": True})
        await send({"type": "http.response.body"})
        self.at_work -= 1


@pytest.mark.parametrize(("status", "headers"), [
    (429, {"retry-after": "3"}), (500, {}), (200, {"set-cookie": "a=b"}), (200, {"cache-control": "no-store"}),
    (200, {}),
])  # fmt: skip
async def test_what_an_app_refuses_is_asked_once_and_leaves_nothing_behind(
    layer: CacheLayer, status: int, headers: dict[str, str]
) -> None:
    faults: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, told: faults.append(told))
    app = Refusing(status, headers)
    c = Client(CacheLayerMiddleware(app, layer=layer))
    for asked, batch in enumerate((["a", "b"], "a"), 1):
        answer = await asyncio.wait_for(c.post(PATH, embed(batch)), 10)
        assert (answer.status, answer.body, app.asked, app.at_work) == (status, 9 * b"piece", asked, 0)
        assert all(answer.header(name) == value for name, value in headers.items())
    gc.collect()
    assert not faults


async def test_a_batch_may_be_larger_than_one_item() -> None:
    upstream = Upstream()
    layer = CacheLayer(semantic=False, policy=Policy(max_item_bytes=4096))
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    batch = [f"text {i}" for i in range(200)]
    first, again = [await c.post(PATH, embed(batch)) for _ in range(2)]
    assert len(first.body) > 4096 and again.hit and len(upstream.requests) == 1


@pytest.mark.parametrize(
    "order", [[0, 1, 2], [2, 0, 1], [0, 0, 1], [1, 2, 3], [0, 1], [0, 1, 2, 3], [0, 1, "2"]]
)
async def test_a_vector_is_kept_for_the_text_whose_index_it_bears_and_none_where_they_do_not_fit(
    layer: CacheLayer, order: list[Any]
) -> None:
    batches = list[list[str]]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        texts = json.loads((await receive())["body"])["input"]
        batches.append(texts)
        indexes = order if len(texts) == 3 else range(len(texts))
        data = [
            {"object": "embedding", "index": at, "embedding": [ord(texts[int(at) % len(texts)])]}
            for at in indexes
        ]
        body = json.dumps(
            {"object": "list", "model": "e", "data": data, "usage": {"total_tokens": 1}}
        ).encode()
        told = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": told})
        await send({"type": "http.response.body", "body": body})

    c = Client(CacheLayerMiddleware(app, layer=layer))
    first = json.loads((await c.post(PATH, embed(["a", "b", "c"]))).body)["data"]
    assert [item["index"] for item in first] == order  # as the app said it
    for text in "abc":
        (item,) = json.loads((await c.post(PATH, embed([text]))).body)["data"]
        assert item["embedding"] == [ord(text)]
    fits = order in ([0, 1, 2], [2, 0, 1])
    assert batches == [["a", "b", "c"], *([] if fits else [["a"], ["b"], ["c"]])]


async def test_the_app_is_told_how_long_the_rest_of_a_batch_is(layer: CacheLayer) -> None:
    upstream, lengths = Upstream(), list[tuple[int, int]]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        lengths.append((int(dict(scope["headers"])[b"content-length"]), len(message["body"])))

        async def again() -> Any:
            return message

        await upstream(scope, again, send)

    c = Client(CacheLayerMiddleware(app, layer=layer))
    for batch in (["a", "b"], ["a", "something longer", "b"]):
        body = json.dumps(embed(batch)).encode()
        assert (await c.post(PATH, body, content_length=str(len(body)))).status == 200
    assert len(lengths) == 2 and all(said == sent for said, sent in lengths)
    assert upstream.requests[-1]["input"] == ["something longer"]


@pytest.mark.parametrize(
    ("batch", "beside"),
    [(["a", "b \ud83d"], {}), ("\udc00", {}), (["a", "b"], {"user": "\ud83d"}), (["a", "b"], {"x": 300}),
     (["a", {"text": "b"}], {}), (["a"] * (MAX_ITEMS + 1), {})],
)  # fmt: skip
async def test_what_cannot_be_written_again_reaches_the_app_as_it_came(
    c: Client, upstream: Upstream, batch: Any, beside: dict[str, Any]
) -> None:
    """Half a character, which JSON can spell and UTF-8 cannot, what is nested deeper than orjson writes, items of
    another form, and too many of them."""
    await c.post(PATH, embed(["a"]))
    body = json.dumps({**embed(batch), **beside}).encode().replace(b"300", b"[" * 300 + b"]" * 300)
    answer = await c.post(PATH, body)
    assert answer.status == 200 and upstream.requests[-1] == json.loads(body)
    assert len(answer.json()["data"]) == len(batch if isinstance(batch, list) else [batch])
