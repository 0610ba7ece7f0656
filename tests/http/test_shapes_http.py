"""Answers in the shapes of servers that are not OpenAI's: a form made of the other is what the app itself would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer

WEATHER = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"in": "Rome"}'}}
TIME = {"index": 0, "id": "c2", "function": {"name": "time", "arguments": '{"in": "Oslo"}'}}
CUT = [{"index": 0, "function": {"arguments": piece}} for piece in ('{"in": ', '"Rome"}')]


def chunk(delta: Any, finish: str | None = None, created: int = 1_700_000_000, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": created, "model": "m", "choices": [choice],
    }  # fmt: skip


def calling(*calls: Any) -> list[dict[str, Any]]:
    """A chunk each."""
    return [chunk({"tool_calls": [call]}) for call in calls] + [chunk({}, "tool_calls")]


class App:
    """Answers streams with `chunks`, all at once or `one_by_one`, and the rest with `whole`."""

    def __init__(self, chunks: list[Any], whole: Any, one_by_one: bool = False) -> None:
        self.chunks, self.whole, self.one_by_one, self.asked = chunks, whole, one_by_one, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = json.loads((await receive())["body"])
        self.asked += 1
        if not wanted.get("stream"):
            head = [(b"content-type", b"application/json")]
            await Upstream._reply(send, 200, json.dumps(self.whole).encode(), head)
            return
        events = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in self.chunks]
        events.append(b"data: [DONE]\n\n")
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        for piece in events if self.one_by_one else [b"".join(events)]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def whole(message: Any, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **more,
    }


async def asked(app: App, layer: CacheLayer, *streams: bool) -> list[Any]:
    c = Client(CacheLayerMiddleware(app, layer=layer))
    return [await c.post("/v1/chat/completions", ask("hello", stream=stream)) for stream in streams]


@pytest.mark.parametrize(("chunks", "ids"), [
    (calling(WEATHER, TIME), ["c1", "c2"]),  # Google's
    ([chunk({"tool_calls": [WEATHER, TIME]}), chunk({}, "tool_calls")], ["c1", "c2"]),
    (calling(WEATHER, {**TIME, "index": 1}), ["c1", "c2"]),
    (calling({**WEATHER, "function": {"name": "weather", "arguments": ""}}, *CUT), ["c1"]),
    (calling({**WEATHER, "function": {"name": "weather", "arguments": ""}},
             *[{**piece, "id": "c1", "function": {"name": "weather", **piece["function"]}} for piece in CUT]), ["c1"]),
    (calling({**WEATHER, "function": {"name": "weather", "arguments": ""}},
             *[{**piece, "id": f"new-{at}"} for at, piece in enumerate(CUT)]), ["c1"]),  # vLLM's, until 2025
])  # fmt: skip
async def test_tool_calls_under_one_index_stay_apart(
    layer: CacheLayer, chunks: list[Any], ids: list[str]
) -> None:
    app = App(chunks, None)
    _, made = await asked(app, layer, True, False)
    calls = made.json()["choices"][0]["message"]["tool_calls"]
    told = {"c1": ("weather", {"in": "Rome"}), "c2": ("time", {"in": "Oslo"})}
    assert made.hit and app.asked == 1 and [call["id"] for call in calls] == ids
    for call in calls:
        function = call["function"]
        assert (function["name"], json.loads(function["arguments"])) == told[call["id"]]


@pytest.mark.parametrize(("chunks", "message"), [
    ([chunk({"function_call": {"name": "f", "arguments": ""}}), *[chunk({"function_call": {"arguments": piece}})
      for piece in ('{"in": ', '"Rome"}')], chunk({}, "function_call")],
     {"content": None, "function_call": {"name": "f", "arguments": '{"in": "Rome"}'}}),
    ([chunk({"content": piece}, message={"content": so_far}) for piece, so_far in (("a", "a"), (" b", "a b"))]
     + [chunk({}, "stop")], {"content": "a b"}),  # Perplexity's
    ([chunk({"content": "a", "tool_calls": []}), chunk({"content": " b", "tool_calls": []}, "stop")],
     {"content": "a b"}),
])  # fmt: skip
async def test_a_stream_of_a_rarer_form_adds_up(
    layer: CacheLayer, chunks: list[Any], message: dict[str, Any]
) -> None:
    app = App([chunk({"role": "assistant"}), *chunks], None)
    _, made = await asked(app, layer, True, False)
    assert made.hit and made.json()["choices"][0]["message"] == {"role": "assistant", **message}


THOUGHT = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}


@pytest.mark.parametrize("chunks", [
    calling({**WEATHER, "id": ""}, {**TIME, "id": ""}),
    [chunk({"tool_calls": WEATHER}), chunk({}, "stop")],  # TGI's, until 3.0
    [chunk(THOUGHT), chunk({"content": "word"}), chunk({}, "stop")],  # Mistral's, where they think
    [chunk({"content": "word"}), chunk({}, "stop"), {"choices": [None]}],
    [chunk({"content": "word", "tool_calls": [None]}), chunk({}, "stop")],
    [chunk({"content": "word", "tool_calls": [{"function": "f"}]}), chunk({}, "stop")],
    [chunk({"content": "word"}, index="0"), chunk({}, "stop")],
    [chunk({"content": "word"}, logprobs=[1]), chunk({}, "stop")],
    [chunk("word"), chunk({"content": "word"}, "stop")],
    [{**chunk({}), "choices": [{"message": {"content": so_far}, "finish_reason": "stop"}]} for so_far in ("a", "a b")],
])  # fmt: skip
async def test_a_stream_of_another_form_is_made_no_whole_answer_of(
    layer: CacheLayer, chunks: list[Any]
) -> None:
    app = App(chunks, whole({"role": "assistant", "content": "as the app says it"}))
    _, once, again = await asked(app, layer, True, False, False)
    assert [one.json()["choices"] == app.whole["choices"] for one in (once, again)] == [True, True]
    assert again.hit and app.asked == 2


@pytest.mark.parametrize("told", [
    whole({"role": "assistant", "content": "word", "tool_calls": WEATHER}),
    whole({"role": "assistant", "content": "word", "tool_calls": ["f"]}),
    {**whole(None), "choices": {"0": {"message": {"content": "word"}}}},
    {"object": "chat.completion", "message": {"role": "assistant"}, "content": "word"},
])  # fmt: skip
async def test_a_whole_answer_of_another_form_is_made_no_stream_of(layer: CacheLayer, told: Any) -> None:
    app = App([chunk({"content": "as the app says it"}), chunk({}, "stop")], told)
    _, once, again = await asked(app, layer, False, True, True)
    assert [one.text() for one in (once, again)] == ["as the app says it"] * 2
    assert again.hit and app.asked == 2


async def test_a_completion_without_choices_is_not_kept(layer: CacheLayer) -> None:
    app = App([], {**whole(None), "choices": None})
    assert [one.hit for one in await asked(app, layer, False, False)] == [False, False]


@pytest.mark.parametrize("one_by_one", [True, False])
async def test_events_that_were_made_one_after_the_other_are_all_made_now(
    layer: CacheLayer, one_by_one: bool
) -> None:
    """As Ollama, llama.cpp and TGI date them."""
    chunks = [
        chunk({"content": word, "created": 5}, created=1_700_000_000 + at)
        for at, word in enumerate(["a", " b", ' "created":1,'])
    ]
    app = App([*chunks, chunk({}, "stop", created=1_700_000_009)], None, one_by_one)
    _, replayed = await asked(app, layer, True, True)
    events = [one for one in replayed.events() if one]
    assert replayed.hit and len({one["created"] for one in events}) == 1
    assert events[0]["created"] > 1_700_000_009 and replayed.text() == 'a b "created":1,'
    assert {one["choices"][0]["delta"].get("created", 5) for one in events} == {5}


async def test_what_is_kept_in_another_form_asks_nobody_for_who_wants_nothing_else(layer: CacheLayer) -> None:
    app = App([chunk(THOUGHT), chunk({"content": "word"}), chunk({}, "stop")], None)
    c = Client(CacheLayerMiddleware(app, layer=layer))
    await c.post("/v1/chat/completions", ask("hello", stream=True))
    answer = await c.post("/v1/chat/completions", ask("hello"), cache_control="only-if-cached")
    assert (answer.status, app.asked) == (504, 1)
