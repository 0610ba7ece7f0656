"""Which requests are answered by the shortest way, and that none is answered there otherwise than it asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer

PATH = "/v1/chat/completions"
STREAMED = '{"stream":false}'
"""A text that names it."""


@pytest.mark.parametrize(("fields", "compact", "short", "stream"), [
    ({}, True, True, False), ({"stream": False}, True, True, False), ({"stream": False}, False, True, False),
    ({"stream": None}, True, False, False), ({"stream": True}, True, False, True),
    ({"metadata": {"stream": False}}, True, True, False),
    ({"metadata": {"stream": False}, "stream": True}, True, False, True),
    ({"user": STREAMED, "stream": True}, True, False, True), ({"user": STREAMED}, True, False, False),
    ({'a"stream': False, "stream": True}, True, False, True),
    ({"stream": False, "stream_options": {"include_usage": True}}, True, False, False),
])  # fmt: skip
async def test_a_body_that_says_that_no_stream_is_wanted_takes_the_shortest_way(
    upstream: Upstream, layer: CacheLayer, fields: dict[str, Any], compact: bool, short: bool, stream: bool
) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer)
    hot, answered = app._served[PATH].hot, []
    assert hot is not None
    serve = hot.serve

    async def seen(*given: Any) -> Any:
        answered.append(left := await serve(*given))
        return left

    hot.serve = seen  # type: ignore[method-assign]
    raw = json.dumps(ask("hello", **fields), separators=(",", ":") if compact else (", ", ": ")).encode()
    answers = [await Client(app).post(PATH, raw) for _ in range(3)]
    assert [one.hit for one in answers] == [False, True, True] and (answered[-1] is None) is short
    assert {one.header("content-type")[:16] for one in answers} == {
        "text/event-strea" if stream else "application/json"
    }
    whole = await Client(app).post(PATH, ask("hello", **{n: v for n, v in fields.items() if n != "stream"}))
    assert whole.hit and whole.json()["choices"][0]["message"]["content"] == "You said: hello"
