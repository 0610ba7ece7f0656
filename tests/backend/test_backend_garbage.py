"""Servers that answer nonsense: an error of the tree for who asked one server, nothing at all for who asks several."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from answering import answering
from cachelayer.adapters.tensorrt_llm import Interrupted, ProtocolFault, TensorRTLLM, Unavailable
from cachelayer.adapters.tensorrt_llm.sse import MAX_EVENT, EventParser
from script import prompt
from serve_server import ServeStandin
from until import open_gate

from cachelayer import CacheLayer

MESSAGES = [{"role": "user", "content": "x"}]
GARBAGE = [
    "<html>", "null", "5", '"error"', "[]", '{"choices": 5}', '{"choices": ["x"]}',
    '{"choices": [{"index": 0, "PART": {"content": 5}, "finish_reason": "stop"}]}',
    '{"choices": [{"index": 0, "PART": {"tool_calls": ["x"]}, "finish_reason": "stop"}]}',
    '{"choices": [{"index": [0], "PART": {"content": "x"}, "finish_reason": "stop"}]}',
    '{"choices": [{"index": 0, "PART": {"content": "x"}, "finish_reason": "abort"}]}',
    '{"choices": [{"PART": {"tool_calls": [{"index": [1]}]}, "finish_reason": "tool_calls"}]}',
    '{"created": "now", "choices": [{"index": 0, "PART": {"content": "x"}, "finish_reason": "stop"}]}',
]  # fmt: skip


class Garbage:
    """Healthy, and no model."""

    def __init__(self) -> None:
        self.says, self.status = "", 200
        self.asked = 0
        self.address = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.path != "/v1/chat/completions":
            return web.Response(text="{}")
        self.asked += 1
        if not (await request.json()).get("stream"):
            return web.Response(text=self.says.replace("PART", "message"), status=self.status)
        told = f"data:\n\ndata: {self.says.replace('PART', 'delta')}\n\ndata: [DONE]\n\n"
        return web.Response(text=told, status=self.status)


@pytest.fixture
async def garbage() -> AsyncIterator[Garbage]:
    server = Garbage()
    async with answering(server.answer) as server.address:
        yield server


async def asked(llm: Any, stream: bool) -> Any:
    answer = await llm(messages=MESSAGES, stream=stream)
    return [chunk async for chunk in answer] if stream else answer


@pytest.mark.parametrize("says", GARBAGE)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_another_form_is_a_protocol_fault(
    garbage: Garbage, says: str, stream: bool
) -> None:
    llm, garbage.says = TensorRTLLM.connect(f"trtllm://{garbage.address}"), says
    with pytest.raises(ProtocolFault):
        await asked(llm, stream)
    await llm.aclose()


@pytest.mark.parametrize("status", [201, 204, 302])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_status_that_neither_answers_nor_refuses_is_a_protocol_fault_of_its_own_status(
    garbage: Garbage, status: int, stream: bool
) -> None:
    """A gateway that took it over would tell its caller that all is well."""
    llm, garbage.says, garbage.status = TensorRTLLM.connect(f"trtllm://{garbage.address}"), "told", status
    with pytest.raises(ProtocolFault, match=f"status {status}") as fault:
        await asked(llm, stream)
    assert fault.value.status == 502 and "told" not in str(fault.value)
    await llm.aclose()


@pytest.mark.parametrize("field", ["refusal", "reasoning"])
async def test_what_a_model_says_beside_its_text_reaches_the_caller(garbage: Garbage, field: str) -> None:
    llm = TensorRTLLM.connect(f"trtllm://{garbage.address}")
    garbage.says = (
        f'{{"choices": [{{"PART": {{"content": null, "{field}": "I"}}, "finish_reason": "stop"}}]}}'
    )
    told = {"refusal": "refusal", "reasoning": "reasoning_content"}[field]
    assert (await asked(llm, False))["choices"][0]["message"][told] == "I"
    assert (await asked(llm, True))[-1]["choices"][0]["delta"][told] == "I"  # an empty event came before it
    await llm.aclose()


async def test_a_whole_answer_without_an_end_did_not_break_as_a_stream_does(garbage: Garbage) -> None:
    llm = TensorRTLLM.connect(f"trtllm://{garbage.address}")
    garbage.says = '{"choices": [{"PART": {"content": "x"}, "finish_reason": null}]}'
    with pytest.raises(Unavailable, match=r"^1 of 1 choices never finished"):
        await asked(llm, False)
    with pytest.raises(Interrupted):
        await asked(llm, True)
    await llm.aclose()


UNFINISHED = '{"choices": [{"PART": {}, "finish_reason": "abort"}]}'
NO_MESSAGE = '{"choices": [{"PART": null, "finish_reason": null}]}'


@pytest.mark.parametrize("says", ["<html>", "[DONE]", UNFINISHED, NO_MESSAGE])
async def test_a_replica_that_answers_nonsense_is_passed_over_and_then_left_alone(
    garbage: Garbage, says: str
) -> None:
    sound, garbage.says = ServeStandin(), says
    await sound.start()
    urls = [f"trtllm://{garbage.address}", f"trtllm://{sound.address}"]
    llm = TensorRTLLM.connect(urls, fleet={"seed": 1})
    for place in range(20):
        assert await asked(llm, stream=place % 2 == 0)
    assert 0 < garbage.asked <= 3
    await llm.aclose()
    await sound.crash()


async def test_a_replica_whose_streams_end_in_nonsense_is_left_alone_too(garbage: Garbage) -> None:
    """Its callers have had text: they are told. Who comes later is spared."""
    sound, begun = ServeStandin(), '{"choices": [{"PART": {"content": "x"}}]}'
    garbage.says = f"{begun}\n\ndata: {UNFINISHED}"
    await sound.start()
    urls = [f"trtllm://{garbage.address}", f"trtllm://{sound.address}"]
    llm = TensorRTLLM.connect(urls, fleet={"seed": 1})
    faults = 0
    for _ in range(20):
        try:
            await asked(llm, stream=True)
        except ProtocolFault:
            faults += 1
        assert await asked(llm, stream=False), "of an answer that is no stream nobody has had anything"
    assert 0 < faults <= garbage.asked <= 3
    await llm.aclose()
    await sound.crash()


async def test_a_whole_answer_without_a_message_is_none(garbage: Garbage) -> None:
    garbage.says = '{"choices": [{"index": 0, "message": null, "finish_reason": "stop"}]}'
    llm = TensorRTLLM.connect(f"trtllm://{garbage.address}")
    with pytest.raises(ProtocolFault, match="message"):
        await asked(llm, stream=False)
    await llm.aclose()


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_nothing_reaches_its_caller_and_is_not_kept(
    garbage: Garbage, stream: bool
) -> None:
    """A model may have nothing to say; another time it has."""
    garbage.says = '{"choices": [{"PART": {"content": ""}, "finish_reason": "stop"}], "error": null}'
    async with CacheLayer(semantic=False) as layer:
        backend = TensorRTLLM.connect(f"trtllm://{garbage.address}")
        llm = layer.wrap(backend, name="llm")
        for _ in range(2):
            assert await asked(llm, stream)
            await layer.flush()
        assert garbage.asked == 2
        await backend.aclose()


def test_an_event_of_endlessly_many_lines_is_refused() -> None:
    parser, lines = EventParser(), b"data: x\n" * 2**17
    with pytest.raises(ProtocolFault):
        for _ in range(2 * MAX_EVENT // len(lines)):
            parser.feed(lines)


async def test_a_stream_is_whole_at_its_done_though_the_body_goes_on(gate: Path) -> None:
    """A proxy that keeps the body open held up whoever had the whole answer, for ever or to the deadline."""
    server = ServeStandin()
    await server.start()
    llm = TensorRTLLM.connect(f"trtllm://{server.address}")
    messages = [{"role": "user", "content": prompt("whole", linger=str(gate))}]
    chunks = [chunk async for chunk in await llm(messages=messages, stream=True)]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    open_gate(gate)
    await llm.aclose()
    await server.crash()


@pytest.mark.parametrize(("maker", "whole"), [("tensorrt_llm", False), ("another", True)])
async def test_without_its_last_word_a_stream_is_whole_where_servers_of_its_kind_say_none(
    maker: str, whole: bool
) -> None:
    """And a server that does not tell its version in JSON is one all the same."""
    models = {"data": [{"id": "m", "owned_by": maker}]}
    said = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/v1/models":
            return web.json_response(models)
        if request.path != "/v1/chat/completions":
            return web.Response(text="<html>")
        return web.Response(text=f"data: {json.dumps(said)}\n\n")

    async with answering(answer) as address:
        llm = TensorRTLLM.connect(f"trtllm://{address}")
        if whole:
            assert (await asked(llm, stream=True))[-1]["choices"][0]["finish_reason"] == "stop"
        else:
            with pytest.raises(Interrupted, match="without"):
                await asked(llm, stream=True)
        await llm.aclose()
