"""trtllm-serve over HTTP against a stand-in that shows its awkward parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import (
    Cancelled,
    DeadlineExceeded,
    Interrupted,
    Overloaded,
    ProtocolFault,
    RequestRejected,
    TensorRTLLM,
    Unavailable,
)
from script import prompt
from serve_server import ServeStandin
from until import open_gate, until

from cachelayer.errors import ConfigurationError

Connect = Callable[..., TensorRTLLM]


def ask(say: str, **keys: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt(say, **keys)}]


def text_of(chunks: list[dict[str, Any]], index: int = 0) -> str:
    parts = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
    return "".join(c["delta"].get("content", "") for c in parts)


async def test_connect_finds_version_models_and_salt(connect: Connect, serve: ServeStandin) -> None:
    found = await connect(serve).start()
    assert (found.kind, found.version, found.models, found.salt) == (
        "trtllm-serve",
        "1.2.1",
        ("tiny-llama",),
        True,
    )


async def test_a_server_of_another_make_is_served_without_trtllm_extras(connect: Connect) -> None:
    server = ServeStandin(owner="someone", knows_salt=False)
    await server.start()
    found = await connect(server).start()
    assert (found.kind, found.salt) == ("openai", False)
    assert server.requests == []
    await server.crash()


async def test_an_unhealthy_server_is_unavailable(connect: Connect, serve: ServeStandin) -> None:
    serve.healthy = False
    llm = connect(serve)
    assert not await llm.healthy()
    with pytest.raises(Unavailable):
        await llm(messages=ask("x"))
    serve.healthy = True
    assert (await llm(messages=ask("x")))["choices"][0]["message"]["content"] == "x"


async def test_schema_errors_and_run_time_errors_both_say_what_the_server_said(
    connect: Connect, serve: ServeStandin
) -> None:
    llm = connect(serve)
    with pytest.raises(RequestRejected, match="prompt too long"):
        await llm(messages=ask("x", runtime="prompt too long"))
    with pytest.raises(RequestRejected, match="Extra inputs"):
        await llm(messages=ask("x"), reasoning_effort="high")  # the stand-in's schema lacks it


async def test_a_salt_travels_with_chat_and_is_refused_elsewhere(
    connect: Connect, serve: ServeStandin
) -> None:
    llm = connect(serve)
    await llm(messages=ask("x"), cache_salt="acme")
    assert serve.requests[-1]["cache_salt"] == "acme"
    before = len(serve.requests)
    with pytest.raises(RequestRejected, match="salt"):
        await llm(prompt="x", cache_salt="acme")
    assert len(serve.requests) == before


async def test_a_required_salt_is_required_of_requests_and_of_servers(connect: Connect) -> None:
    old = ServeStandin(knows_salt=False)
    await old.start()
    with pytest.raises(ConfigurationError, match="salt"):
        await connect(old, salt="required").start()
    with pytest.raises(RequestRejected, match="salt"):
        await connect(old)(messages=ask("x"), cache_salt="acme")
    await connect(old, salt="ignore")(messages=ask("x"), cache_salt="acme")
    assert "cache_salt" not in old.requests[-1]
    await old.crash()


async def test_the_tenant_callable_gives_the_salt(connect: Connect, serve: ServeStandin) -> None:
    tenant: str | None = None
    llm = connect(serve, salt="required", tenant=lambda: tenant)
    with pytest.raises(RequestRejected, match="salt"):
        await llm(messages=ask("x"))
    tenant = "globex"
    await llm(messages=ask("x"))
    assert serve.requests[-1]["cache_salt"] == "globex"


@pytest.mark.parametrize("keys", [{}, {"cut": 1}, {"cut": 7}, {"crlf": True, "cut": 5}, {"cut": 100_000}])
async def test_framing_never_shows_in_the_chunks(
    connect: Connect, serve: ServeStandin, keys: dict[str, Any]
) -> None:
    stream = await connect(serve)(messages=ask("Grüße, 世界! 🎉", **keys), stream=True)
    chunks = [chunk async for chunk in stream]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text_of(chunks) == "Grüße, 世界! 🎉"
    assert [c["choices"][0]["finish_reason"] for c in chunks].count("stop") == 1
    assert all(c["choices"] for c in chunks), "no usage chunk unless asked for"


async def test_usage_comes_when_asked_for_and_missing_details_stay_unknown(
    connect: Connect, serve: ServeStandin
) -> None:
    llm = connect(serve)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *_, last = [chunk async for chunk in await llm(messages=ask("abcdef"), **options)]
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    *_, last = [chunk async for chunk in await llm(messages=ask("abcdef", details=False), **options)]
    assert "prompt_tokens_details" not in last["usage"]
    assert last["usage"]["total_tokens"] == 9


async def test_a_stream_that_breaks_is_retryable_before_its_first_delta_and_never_after(
    connect: Connect,
    serve: ServeStandin,
) -> None:
    llm = connect(serve)
    stream = await llm(messages=ask("abcdef", drop_after=1), stream=True)
    with pytest.raises(Unavailable) as early:
        [chunk async for chunk in stream]
    assert early.value.retryable
    stream = await llm(messages=ask("abcdef", drop_after=4), stream=True)
    got = ""
    with pytest.raises(Interrupted) as late:
        async for chunk in stream:
            got += text_of([chunk])
    assert got and not late.value.retryable


async def test_a_stream_cut_just_before_done_is_no_answer(connect: Connect, serve: ServeStandin) -> None:
    """Every token and the finish chunk arrived; without [DONE] it is still an error."""
    stream = await connect(serve)(messages=ask("abc", drop_after=4), stream=True)
    with pytest.raises(Interrupted):
        [chunk async for chunk in stream]


async def test_a_server_that_exits_is_unavailable_and_comes_back(
    connect: Connect, serve: ServeStandin
) -> None:
    llm = connect(serve)
    await llm.start()
    with pytest.raises(Unavailable):
        await llm(messages=ask("x", crash=True))
    with pytest.raises(Unavailable):
        await llm(messages=ask("x"))
    assert not await llm.healthy()
    await serve.start()
    assert (await llm(messages=ask("x")))["choices"][0]["message"]["content"] == "x"


async def test_a_connection_that_went_stale_in_the_pool_is_replaced_without_an_error(
    connect: Connect,
    serve: ServeStandin,
) -> None:
    llm = connect(serve)
    await llm(messages=ask("x"))
    await serve.crash()
    await serve.start()
    assert (await llm(messages=ask("y")))["choices"][0]["message"]["content"] == "y"


async def test_connections_are_kept(connect: Connect, serve: ServeStandin) -> None:
    llm = connect(serve)
    for _ in range(5):
        await llm(messages=ask("x"))
        [chunk async for chunk in await llm(messages=ask("x"), stream=True)]
    assert serve.connections == 1


@pytest.mark.parametrize(
    ("finish", "error"), [("timeout", DeadlineExceeded), ("cancelled", Cancelled), ("odd", ProtocolFault)]
)
async def test_an_answer_that_did_not_end_well_is_an_error(
    connect: Connect, serve: ServeStandin, finish: str, error: type[Exception]
) -> None:
    llm = connect(serve)
    with pytest.raises(error):
        await llm(messages=ask("abc", finish=finish))
    with pytest.raises(error):
        [chunk async for chunk in await llm(messages=ask("abc", finish=finish), stream=True)]


async def test_a_full_server_says_when_to_come_back(connect: Connect, serve: ServeStandin) -> None:
    with pytest.raises(Unavailable) as busy:
        await connect(serve)(messages=ask("x", status=503, retry_after=7))
    assert (busy.value.retryable, busy.value.retry_after) == (True, 7.0)
    assert not isinstance(busy.value, Overloaded)


@pytest.mark.parametrize(
    ("until", "now", "wait"),
    [
        ("Fri, 02 Jan 2032 00:01:30 GMT", "Fri, 02 Jan 2032 00:00:00 GMT", 90.0),
        ("Fri Jan  2 00:01:30 2032", "Fri, 02 Jan 2032 00:00:00 GMT", 90.0),
        ("Thu, 01 Jan 2032 00:00:00 GMT", "Fri, 02 Jan 2032 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2099 00:00:00 GMT", "no date", 3600.0),
        ("9" * 400, "no date", 3600.0),
        ("in a while", "Fri, 02 Jan 2032 00:00:00 GMT", None),
    ],
)
async def test_when_to_come_back_may_be_a_date_by_the_servers_own_clock_and_is_within_the_hour(
    connect: Connect, serve: ServeStandin, until: str, now: str, wait: float | None
) -> None:
    with pytest.raises(Unavailable) as busy:
        await connect(serve)(messages=ask("x", status=503, retry_after=until, date=now))
    assert busy.value.retry_after == wait


async def test_a_missing_route_is_the_callers_fault(connect: Connect, serve: ServeStandin) -> None:
    with pytest.raises(RequestRejected) as missing:
        await connect(serve)(messages=ask("x", status=404))
    assert missing.value.status == 404


async def test_the_model_of_the_server_fills_requests_that_name_none(
    connect: Connect, serve: ServeStandin
) -> None:
    await connect(serve)(messages=ask("x"))
    assert serve.requests[-1]["model"] == "tiny-llama"


async def test_several_choices_keep_to_their_index(connect: Connect, serve: ServeStandin) -> None:
    llm = connect(serve)
    chunks = [chunk async for chunk in await llm(messages=ask("abcdef"), n=2, stream=True)]
    assert (text_of(chunks, 0), text_of(chunks, 1)) == ("abcdef", "abcdef")
    answer = await llm(messages=ask("abcdef"), n=2)
    assert [c["index"] for c in answer["choices"]] == [0, 1]


async def test_reasoning_and_tool_calls_pass_in_order_and_merge(
    connect: Connect, serve: ServeStandin
) -> None:
    calls = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}},
        {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": ": 1}"}},
    ]
    llm = connect(serve)
    keys = {"reasoning": ["let me ", "think"], "calls": calls, "finish": "tool_calls"}
    deltas = [c["choices"][0]["delta"] async for c in await llm(messages=ask("abc", **keys), stream=True)]
    assert [d["reasoning_content"] for d in deltas if "reasoning_content" in d] == ["let me ", "think"]
    assert [d["tool_calls"][0] for d in deltas if "tool_calls" in d] == calls
    request = llm.request({"messages": ask("abc", **keys), "stream": True})
    from cachelayer.adapters.tensorrt_llm.wire import collect

    message = (await collect(llm.events(request), request))["choices"][0]["message"]
    assert message["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    ]
    assert message["reasoning_content"] == "let me think"


async def test_headers_are_not_the_first_token(connect: Connect, serve: ServeStandin, gate: Path) -> None:
    """The role chunk comes at once; a delta only when the model spoke."""
    stream = await connect(serve)(messages=ask("abc", hold=str(gate)), stream=True)
    assert (await anext(stream))["choices"][0]["delta"]["role"] == "assistant"
    waiting = asyncio.ensure_future(anext(stream))
    await until(lambda: serve.running)
    assert not waiting.done()
    open_gate(gate)
    assert (await waiting)["choices"][0]["delta"] == {"content": "abc"}
    await stream.aclose()


async def test_iteration_statistics_are_drained_by_reading_and_never_read_here(
    connect: Connect, serve: ServeStandin
) -> None:
    """One reader only: the adapter leaves /metrics to whoever scrapes it."""
    llm = connect(serve)
    await llm(messages=ask("x"))
    assert serve._drain() != []
