"""Streams and whole answers over ASGI: recorded as they pass, replayed as they were, made of each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from turns import turns
from upstream import Upstream

from cachelayer import CacheLayer

CHAT = "/v1/chat/completions"


def without_identity(answer: Any) -> Any:
    events = answer.events() if b"data:" in answer.body else [answer.json()]
    return [{k: v for k, v in e.items() if k not in ("id", "created")} if e else e for e in events]


SCRIPTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"say": "plain words here"}, {}),
    ({"say": "counted words", "reasoning": "let me think of it"}, {"n": 3}),
    ({"say": "", "calls": [{"name": "f", "arguments": '{"a": 1}'}, {"name": "g", "arguments": "{}"}]}, {}),
    ({"say": "with chances"}, {"logprobs": True}),
    ({"say": "in dribbles", "cut": 1}, {}),
    ({"say": "in pieces that fit nothing", "cut": 37}, {}),
    ({"say": "with carriage returns", "crlf": True, "cut": 11}, {"n": 2}),
    ({"say": "with usage"}, {"stream_options": {"include_usage": True}}),
]


@pytest.mark.parametrize(("script", "fields"), SCRIPTS)
async def test_a_stream_is_replayed_event_by_event_under_a_fresh_identity(
    c: Client, upstream: Upstream, script: Any, fields: Any
) -> None:
    first, again, third = [await c.chat(script, stream=True, **fields) for _ in range(3)]
    assert len(upstream.requests) == 1 and not first.hit and again.hit and third.hit
    assert without_identity(first) == without_identity(again) == without_identity(third)
    ids = [{e["id"] for e in answer.events() if e} for answer in (first, again, third)]
    assert all(len(one) == 1 for one in ids) and len(set.union(*ids)) == 3
    assert all(i.startswith("chatcmpl-") for one in ids for i in one)
    assert all(e["created"] > 1_700_000_000 for e in again.events() if e)


@pytest.mark.parametrize(("script", "fields"), SCRIPTS)
async def test_a_first_stream_passes_byte_by_byte_as_the_app_sent_it(
    c: Client, upstream: Upstream, script: Any, fields: Any
) -> None:
    alone = await Client(Upstream()).chat(script, stream=True, **fields)
    behind = await c.chat(script, stream=True, **fields)
    assert [p for p in behind.parts if p] == [p for p in alone.parts if p]


@pytest.mark.parametrize(("script", "fields"), SCRIPTS)
async def test_a_stored_stream_answers_a_request_for_the_whole(
    c: Client, upstream: Upstream, script: Any, fields: Any
) -> None:
    await c.chat(script, stream=True, **fields)
    fields = {k: v for k, v in fields.items() if k != "stream_options"}
    whole = (await c.chat(script, **fields)).json()
    true = (await Client(Upstream()).chat(script, **fields)).json()
    if "usage" not in whole:
        del true["usage"]
    for body in (whole, true):
        del body["id"], body["created"]
        for choice in body["choices"]:
            choice["message"].pop("refusal", None)
    assert whole == true and len(upstream.requests) == 1


@pytest.mark.parametrize(("script", "fields"), SCRIPTS)
async def test_a_stored_whole_answers_a_request_for_a_stream(
    c: Client, upstream: Upstream, script: Any, fields: Any
) -> None:
    from cachelayer.adapters.openai_wire import body_of

    whole = (await c.chat(script, **{k: v for k, v in fields.items() if k != "stream_options"})).json()
    stream = await c.chat(script, stream=True, **fields)
    chunks = stream.events()
    assert stream.header("content-type").startswith("text/event-stream") and chunks[-1] is None
    wants_usage = "stream_options" in fields
    assert [c for c in chunks[:-1] if not c["choices"]] == ([chunks[-2]] if wants_usage else [])
    made = body_of(chunks[:-1])
    for body in (whole, made):
        del body["id"], body["created"]
        if not wants_usage:
            body.pop("usage", None)
        for choice in body["choices"]:
            choice["message"].pop("refusal", None)
    assert made == whole and len(upstream.requests) == 1


@pytest.mark.parametrize("script", [
    {"say": "a b c", "no_done": True, "finish": None}, {"say": "a b c", "error_after": 3},
    {"say": "a b c", "finish": "length"},
    {"say": "a b c", "finish": "content_filter"}, {"say": ""},
])  # fmt: skip
@pytest.mark.parametrize("stream", [True, False])
async def test_what_did_not_end_well_is_delivered_and_never_kept(
    c: Client, upstream: Upstream, script: Any, stream: bool
) -> None:
    if not stream:
        script = {k: v for k, v in script.items() if k not in ("no_done", "error_after")} | {
            "finish": "length"
        }
    first, again = [await c.chat(script, stream=stream) for _ in range(2)]
    assert len(upstream.requests) == 2 and first.complete and not again.hit
    assert without_identity(first) == without_identity(again)


async def test_a_server_that_never_says_done_is_cached_where_every_choice_says_why_it_ended(
    c: Client, upstream: Upstream
) -> None:
    script = {"say": "a b c", "no_done": True}
    first, again = [await c.chat(script, stream=True, n=2) for _ in range(2)]
    assert again.hit and without_identity(first) == without_identity(again) and b"[DONE]" not in again.body
    whole = await c.chat(script, n=2)
    assert [choice["message"]["content"] for choice in whole.json()["choices"]] == ["a b c", "a b c #1"]
    assert whole.hit and len(upstream.requests) == 1


async def test_a_stream_that_breaks_off_breaks_off_for_its_readers_and_is_not_kept(
    c: Client, upstream: Upstream
) -> None:
    for _ in range(2):
        call = c.chatting({"say": "a b c d", "drop_after": 3}, stream=True)
        with pytest.raises(ConnectionError):
            await call.wait()
        assert len(call.answer.events()) == 3 and not call.answer.complete
    assert len(upstream.requests) == 2


async def test_the_first_byte_waits_for_nothing(c: Client, upstream: Upstream) -> None:
    call = c.chatting({"say": "a b c d", "hold": "g", "hold_after": 2}, stream=True)
    await call.parts(2)
    assert len(call.answer.events()) == 2 and not call.answer.complete
    upstream.gate("g").set()
    assert (await call.wait()).text() == "a b c d"


async def test_late_readers_get_the_recorded_part_then_the_live_tail(c: Client, upstream: Upstream) -> None:
    script = {"say": "a b c d", "hold": "g", "hold_after": 3}
    first = c.chatting(script, stream=True)
    await first.parts(3)
    late = c.chatting(script, stream=True)
    whole = c.chatting(script)
    await late.parts(1)
    assert len(late.answer.events()) >= 1
    upstream.gate("g").set()
    answers = [await first.wait(), await late.wait()]
    assert without_identity(answers[0]) == without_identity(answers[1])
    assert (await whole.wait()).json()["choices"][0]["message"]["content"] == "a b c d"
    assert len(upstream.requests) == 1 and "collapsed" in late.answer.header("cache-status")


async def test_a_caller_who_leaves_hurts_nobody(c: Client, upstream: Upstream) -> None:
    script = {"say": "a b c d", "hold": "g", "hold_after": 2}
    first = c.chatting(script, stream=True)
    await first.parts(2)
    late = c.chatting(script, stream=True)
    await late.parts(1)
    first.leave()
    await first.wait()
    upstream.gate("g").set()
    assert (await late.wait()).text() == "a b c d" and len(upstream.requests) == 1
    assert (await c.chat(script, stream=True)).hit


async def test_the_last_ones_leaving_tells_the_app_and_keeps_nothing(c: Client, upstream: Upstream) -> None:
    script = {"say": "a b c d", "hold": "g", "hold_after": 2}
    call = c.chatting(script, stream=True)
    await call.parts(2)
    call.leave()
    await call.wait()
    await turns(20)
    assert upstream.left == 1
    upstream.gate("g").set()
    assert not (await c.chat(script, stream=True)).hit and len(upstream.requests) == 2


@pytest.mark.parametrize("raises", [True, False])
async def test_the_owner_may_have_recordings_finished(
    upstream: Upstream, layer: CacheLayer, raises: bool
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer, on_leave="finish"))
    script = {"say": "a b c d", "hold": "g", "hold_after": 2}
    call = c.chatting(script, stream=True)
    await call.parts(2)
    call.raises = raises
    call.leave()
    upstream.gate("g").set()
    await call.wait()
    assert (await c.chat(script, stream=True)).hit


async def test_a_slow_reader_slows_the_app_down(c: Client, upstream: Upstream) -> None:
    call = c.chatting({"say": " ".join("w" * 500)}, stream=True)
    call.window = asyncio.Semaphore(1)
    await call.parts(1)
    await turns(200)
    assert upstream.sent < 50
    call.window = None if call.window is None else call.window
    for _ in range(600):
        call.window.release()
    assert len((await call.wait()).events()) == 503


async def test_usage_that_a_stored_stream_lacks_is_asked_for(c: Client, upstream: Upstream) -> None:
    wants = {"stream": True, "stream_options": {"include_usage": True}}
    await c.chat("hello", stream=True)
    asked = await c.chat("hello", **wants)
    assert asked.events()[-2]["usage"]["total_tokens"] == 12 and len(upstream.requests) == 2
    without = await c.chat("hello", stream=True)
    assert without.hit and not any("usage" in e for e in without.events() if e)
    assert (await c.chat("hello", **wants)).hit and len(upstream.requests) == 2


async def test_replays_can_be_paced(upstream: Upstream, layer: CacheLayer) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer, pace=0.0))
    await c.chat("one two three", stream=True)
    replay = await c.chat("one two three", stream=True)
    assert replay.hit and len([p for p in replay.parts if p]) == len(replay.events())


async def test_completions_are_cached_and_converted_too(c: Client, upstream: Upstream) -> None:
    body = {"model": "m", "prompt": "go on", "n": 2}
    first = await c.post("/v1/completions", body)
    stream = await c.post("/v1/completions", {**body, "stream": True})
    texts = {0: "", 1: ""}
    for chunk in stream.events()[:-1]:
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["text"]
    assert (
        list(texts.values()) == [ch["text"] for ch in first.json()["choices"]] and len(upstream.requests) == 1
    )
    assert (await c.post("/v1/completions", ask("x", prompt="go on"))).status == 200


async def test_an_event_is_with_its_caller_before_the_app_goes_on(layer: CacheLayer) -> None:
    seen, call = [], None
    head = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"text/event-stream")],
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(head)
        for number in range(40):
            if number < 3:  # the first goes out while its caller's answer is still in its flight
                await turns(10)
            await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
            assert call is not None
            seen.append(len(call.answer.parts))
        await send({"type": "http.response.body", "body": b""})

    call = Client(CacheLayerMiddleware(app, layer=layer)).chatting("tell", stream=True)
    answer = await call.wait()
    assert seen[3:] == list(range(4, 41)) and answer.body == b"".join(b"data: %d\n\n" % n for n in range(40))


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
async def test_a_stream_whose_last_event_lacks_its_blank_line_is_replayed_to_its_end(
    layer: CacheLayer, ending: bytes
) -> None:
    head = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"text/event-stream")],
    }
    choice = b'{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}'
    calls = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal calls
        calls += 1
        await receive()
        await send(head)
        await send({"type": "http.response.body", "body": b"data: %b\n\ndata: [DONE]%b" % (choice, ending)})

    c = Client(CacheLayerMiddleware(app, layer=layer))
    first, again = [await c.chat("hello", stream=True) for _ in range(2)]
    assert again.hit and calls == 1
    assert [one.body.endswith(b"data: [DONE]" + ending) for one in (first, again)] == [True, True]
