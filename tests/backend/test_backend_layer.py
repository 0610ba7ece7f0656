"""The backend behind the layer: what is complete is kept, what is not never is."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import BackendError, RequestRejected, TensorRTLLM
from script import prompt
from serve_server import ServeStandin

from cachelayer import CacheLayer, Source

Connect = Callable[..., TensorRTLLM]


def ask(say: str, **keys: Any) -> dict[str, Any]:
    return {"model": "tiny-llama", "messages": [{"role": "user", "content": prompt(say, **keys)}]}


async def text(stream: Any) -> str:
    return "".join([c["choices"][0]["delta"].get("content", "") async for c in stream])


@pytest.mark.parametrize("stream", [True, False])
async def test_a_complete_answer_is_asked_for_once(
    connect: Connect, serve: ServeStandin, stream: bool
) -> None:
    async with CacheLayer(semantic=False) as layer:
        llm = layer.wrap(connect(serve), name="llm")
        arguments = ask("hello there") | {"stream": stream, "max_tokens": 40}
        first = await llm.outcome(**arguments)
        answers = [await text(first.answer) if stream else first.answer]
        await layer.flush()
        again = await llm.outcome(**arguments)
        answers.append(await text(again.answer) if stream else again.answer)
        assert (first.source, again.source) == (Source.BACKEND, Source.MEMORY)
        assert answers[0] == answers[1]
    assert sum("messages" in r and r.get("cache_salt") != "" for r in serve.requests) == 1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({"finish": "timeout"}, {}),
        ({"finish": "cancelled"}, {}),
        ({"finish": "length"}, {}),
        ({}, {"max_tokens": 1}),
        ({"drop_after": 4}, {}),
        ({"hold_after": 1}, {"timeout": 0.2}),
    ],
)
async def test_what_is_not_complete_is_asked_for_again(
    connect: Connect,
    serve: ServeStandin,
    gate: Path,
    stream: bool,
    keys: dict[str, Any],
    options: dict[str, Any],
) -> None:
    if "hold_after" in keys:
        keys = keys | {"hold": str(gate)}
    if "drop_after" in keys and not stream:
        keys = {"status": 503}
    async with CacheLayer(semantic=False) as layer:
        llm = layer.wrap(connect(serve), name="llm")
        arguments = {"stream": stream, "max_tokens": 40} | ask("abcdefghi", **keys) | options
        sources, failed = [], 0
        for _ in range(2):
            try:
                outcome = await llm.outcome(**arguments)
                sources.append(outcome.source)
                if stream:
                    await text(outcome.answer)
            except BackendError:
                failed += 1
            await layer.flush()
        assert set(sources) <= {Source.BACKEND} and (failed == 2 or len(sources) == 2)
    generated = [r for r in serve.requests if r.get("cache_salt") != "" and "messages" in r]
    assert len(generated) >= 2


async def test_what_a_request_says_of_its_way_is_no_part_of_what_it_asks(
    connect: Connect, serve: ServeStandin
) -> None:
    """Else each conversation (`session`) and each time that is left (`timeout`) had answers of its own."""
    ways: list[dict[str, Any]] = [
        {},
        {
            "timeout": 9.5,
            "priority": 0.9,
            "lane": "batch",
            "session": "s",
            "user": "u",
            "metadata": {"a": "b"},
        },
        {"retention": [(0, None, 50, None)], "store": True},
    ]
    async with CacheLayer(semantic=False) as layer:
        llm = layer.wrap(connect(serve), name="llm", ignore=["seed"])
        answers = [await llm(**ask("hello"), max_tokens=40, seed=1, **way) for way in ways]
        assert answers == answers[:1] * 3
        await llm(**ask("hello"), max_tokens=41)
    assert len([r for r in serve.requests if "messages" in r and r.get("cache_salt") != ""]) == 2


async def test_tenants_that_connect_is_told_of_share_no_answer(connect: Connect, serve: ServeStandin) -> None:
    """Bob was answered with what Ann had asked for, since no argument tells them apart; so was who named nobody."""
    who = ContextVar[str | None]("who", default=None)
    async with CacheLayer(semantic=False) as layer:
        llm = layer.wrap(connect(serve, tenant=who.get, salt="required"), name="llm")
        sources = []
        for name in ("ann", "bob", "ann"):
            who.set(name)
            sources.append((await llm.outcome(**ask("hello"), max_tokens=40)).source)
        who.set(None)
        with pytest.raises(RequestRejected, match="requires a tenant salt"):
            await llm(**ask("hello"), max_tokens=40)
    assert sources == [Source.BACKEND, Source.BACKEND, Source.MEMORY]
    assert [r["cache_salt"] for r in serve.requests if r.get("cache_salt")] == ["ann", "bob"]


def test_models_that_only_connect_names_have_answers_of_their_own() -> None:
    """A deployment with another model found the answers of the one before it in Redis."""
    told = {
        "trtllm://host:8000/v1/": "",
        "trtllm://host:8000/models/llama": "/models/llama",
        "local:/models/x": "/models/x",
        "triton://host:8001/ensemble": "/ensemble",
    }
    for url, version in told.items():
        assert TensorRTLLM.connect(url).cachelayer_version == version
    keys = set()
    for model in ("small", "large"):
        llm = CacheLayer(semantic=False).wrap(TensorRTLLM.connect("trtllm://host:8000", model=model))
        keys.add(llm.handle.now((), {"prompt": "hi"}).identity.canonical)
    assert len(keys) == 2
