"""What an app answers to a request for embeddings: only vectors are kept, and a mixed answer has one framing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Answer, Client
from cachelayer.adapters.asgi import CacheLayerMiddleware

from cachelayer import CacheLayer

PATH = "/v1/embeddings"


def told(*vectors: Any, **more: Any) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": at, "embedding": vector, "instead": None}
        for at, vector in enumerate(vectors)
    ]
    return {"object": "list", "data": data, "model": "e", **more}


def client(layer: CacheLayer, answer: Any, *headers: tuple[bytes, bytes]) -> Client:
    """Of an app that says what `answer` makes of the inputs."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        given = json.loads((await receive())["body"])["input"]
        head = [(b"content-type", b"application/json"), *headers]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps(answer(given)).encode()})

    return Client(CacheLayerMiddleware(app, layer=layer))


async def asked(c: Client, *inputs: list[str]) -> list[Answer]:
    return [await c.post(PATH, {"model": "e", "input": given}) for given in inputs]


@pytest.mark.parametrize(("answer", "why"), [
    (told([None, None]), "kept:incomplete"), (told([0.5, None]), "kept:incomplete"),  # some servers' word for NaN
    (told([]), "kept:empty_answer"), (told(None), "kept:empty_answer"),
    (told([0.5], error={"message": "overloaded"}), "not-by-item"), (told([0.5], error="overloaded"), "not-by-item"),
])  # fmt: skip
async def test_what_is_no_vector_is_not_kept_and_it_is_said_why(
    layer: CacheLayer, answer: Any, why: str
) -> None:
    first, again = await asked(client(layer, lambda given: answer), ["a"], ["a"])
    assert not again.hit and first.json() == again.json() == answer
    assert why in first.header("cache-status")


async def test_a_bad_vector_leaves_its_neighbours_to_be_kept(layer: CacheLayer) -> None:
    c = client(layer, lambda given: told(*([None] if text == "bad" else [0.5] for text in given)))
    _, good, bad = await asked(c, ["good", "bad"], ["good"], ["bad"])
    assert (good.hit, bad.hit) == (True, False)


async def test_what_else_an_item_says_may_be_null(layer: CacheLayer) -> None:
    _, again = await asked(client(layer, lambda given: told([0.5])), ["a"], ["a"])
    assert again.hit


async def test_an_answer_of_known_and_new_items_says_nothing_of_a_part_of_it(layer: CacheLayer) -> None:
    """As apps do that pass a server's headers on: how its answer was framed, and what that adds up to."""
    part = [(b"Transfer-Encoding", b"chunked"), (b"ETag", b'"a"'), (b"Content-Digest", b"sha-256=:YQ==:")]
    c = client(layer, lambda given: told(*[[0.5]] * len(given)), *part, (b"X-Limit", b"7"))
    alone, mixed = await asked(c, ["a"], ["a", "b"])
    assert "items:1/2" in mixed.header("cache-status") and mixed.header("x-limit") == "7"
    for name, value in part:
        told_of = name.decode().lower()
        assert (alone.header(told_of), mixed.header(told_of)) == (value.decode(), "")
    assert mixed.header("content-length") == str(len(mixed.body))
