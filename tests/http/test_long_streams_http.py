"""Streams of thousands of words over ASGI: kept, replayed to the last byte, and read as what they say."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.openai_wire import DONE, NotAnAnswer, body_of, chunks_in, joined
from hypothesis import example, given, settings
from hypothesis import strategies as st
from upstream import USAGE, Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.exact.answers.admission import admit, text_of
from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.answers.tape import Tape
from cachelayer.keep.streams import short, stream_of

HEAD = (
    b'data: {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": ['
)
PLACES = [
    b'{"index": 0, "delta": {"content": "%b"}, "logprobs": null, "finish_reason": null}',
    b'{"index": 0, "delta": {"content": null, "reasoning_content": "%b"}}',
    b'{"index": 0, "delta": {"content": "", "reasoning_content": "%b"}, "finish_reason": null}',
    b'{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "%b"}}]}}',
    b'{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "%b"}}]}}',
    b'{"index": 0, "text": "%b"}',
    b'{"index": 0, "delta": {"content": "x"}, "stop_reason": "%b"}',
    b'{"index": 0, "delta": {"content": "x", "role": "%b"}}',
    b'{"index": 0, "delta": {"content": "x"}, "finish_reason": "%b"}',
    b'{"index": 0, "delta": {"content": "%b"}}, {"index": 1, "delta": {"content": "x"}}',
]
END = HEAD + b'{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
pieces = st.lists(
    st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False)[1:-1].encode())
    | st.sampled_from([
        b" word", b"\\", b'\\"', b'"', b',"b', b"\\u00e9", b"\\u00", b"\\ud83d", b"\\ude00", "\u00e9".encode()[:1],
        b"\t",         b"stop", b"length", b"content_filter", b"here stands a piece", b"",
    ]),
    min_size=2, max_size=9,
)  # fmt: skip


class Slow:
    """Answers with these events, one by one."""

    def __init__(self, events: list[bytes], gate: asyncio.Event | None = None) -> None:
        self.events, self.asked, self.gate = events, 0, gate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        await send({
            "type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")],
        })  # fmt: skip
        for i, event in enumerate(self.events):
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if i % 500 == 499:
                await asyncio.sleep(0)  # as a server does that sends faster than its socket
        if self.gate is not None:
            await self.gate.wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def events_of(place: bytes, said: list[bytes]) -> list[bytes]:
    return [HEAD + place.replace(b"%b", piece) + b"]}\n\n" for piece in said] + [END, DONE]


def read(stream: bytes) -> Any:
    try:
        chunks = chunks_in(stream)
    except NotAnAnswer:
        return None
    return body_of(chunks), admit(chunks), text_of(chunks)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(PLACES), pieces)
@example(PLACES[0], [b"a\\", b',"b'])
@example(PLACES[8], [b"stop", b"length"])
def test_a_stream_that_is_kept_reads_as_all_its_events(place: bytes, said: list[bytes]) -> None:
    events = events_of(place, said)
    stream = stream_of([*map(Tape(Freezer().freeze).freeze, events)], plain=False)
    assert read(b"".join(short(stream, joined))) == read(b"".join(events))


@pytest.mark.parametrize("place", PLACES[:4] + PLACES[5:6])
def test_thousands_of_events_are_read_as_a_few(place: bytes) -> None:
    events = events_of(place, [b" word%d \\n" % i for i in range(3_000)])
    stream = stream_of([*map(Tape(Freezer().freeze).freeze, events)], plain=False)
    assert len(short(stream, joined)) < 9


@pytest.mark.parametrize("place", PLACES[:4])
async def test_a_stream_of_ten_thousand_words_is_kept_and_replayed_as_it_was(
    layer: CacheLayer, place: bytes
) -> None:
    events = events_of(place, [b" word%d" % i for i in range(10_000)])
    app = Slow([*events[:-2], *events_of(PLACES[0], [b"so"])])
    c = Client(CacheLayerMiddleware(app, layer=layer))
    first, again = [await c.chat("tell me all", stream=True) for _ in range(2)]
    assert again.hit and app.asked == 1 and first.body == b"".join(app.events)
    known = re.compile(rb'"id": "[^"]*"|"created": ?[0-9]+')
    assert known.sub(b"", again.body) == known.sub(b"", first.body)
    told = await asyncio.to_thread(lambda: body_of(chunks_in(first.body)))  # no callback's work
    whole = await c.chat("tell me all")
    assert whole.hit and whole.json()["choices"] == told["choices"] and app.asked == 1


@pytest.mark.parametrize("live", [False, True])
async def test_a_long_replay_takes_turns_with_all_others(layer: CacheLayer, live: bool) -> None:
    gate = asyncio.Event()
    app = Slow(events_of(PLACES[0], [b" word%d" % i for i in range(3_000)]), gate)
    c = Client(CacheLayerMiddleware(app, layer=layer))
    first = c.chatting("tell me all", stream=True)
    await first.parts(len(app.events))
    if not live:
        gate.set()
        await first.wait()
    turn, sent = 0, Counter[int]()
    again = c.chatting("tell me all", stream=True)
    again.note = lambda message: sent.update({turn: len(message.get("body", b""))})
    while not again.task.done():
        turn += 1
        if len(again.answer.body) >= len(first.answer.body):
            gate.set()
        await asyncio.sleep(0)
    assert (await first.wait()).complete and again.answer.complete
    assert app.asked == 1 and max(sent.values()) < 40_000


async def test_an_owner_who_looks_at_streams_sees_every_chunk() -> None:
    seen: list[int] = []
    policy = Policy(cache_if=lambda chunks: seen.append(len(chunks)) or True)
    async with CacheLayer(semantic=False, policy=policy) as layer:
        app = Slow(events_of(PLACES[0], [b" word%d" % i for i in range(500)]))
        await Client(CacheLayerMiddleware(app, layer=layer)).chat("tell me all", stream=True)
    assert seen == [501]


@pytest.mark.parametrize("cut", [None, 700, 4096])
async def test_a_stream_too_long_to_be_kept_is_paid_however_it_is_cut(cut: int | None) -> None:
    layer = CacheLayer(semantic=False, policy=Policy(max_item_bytes=3000))
    ledger = layer.account({"models": {"m": {"prompt": 1, "completion": 2}}})
    c = Client(CacheLayerMiddleware(Upstream(), layer=layer))
    script = {"say": " ".join(f"word{at}" for at in range(400)), "cut": cut}
    await c.chat(script, stream=True, stream_options={"include_usage": True})
    await layer.flush()
    paid = ledger.stats()["models"]["m"]
    assert (paid["prompt"], paid["completion"]) == (USAGE["prompt_tokens"], USAGE["completion_tokens"])
