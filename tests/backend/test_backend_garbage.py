"""Servers that answer nonsense: an error of the tree for who asked one server, nothing at all for who asks several."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from cachelayer.adapters.tensorrt_llm import ProtocolFault, TensorRTLLM
from cachelayer.adapters.tensorrt_llm.sse import MAX_EVENT, EventParser
from serve_server import ServeStandin

MESSAGES = [{"role": "user", "content": "x"}]
GARBAGE = [
    "<html>", "null", "5", '"error"', "[]", '{"choices": 5}', '{"choices": ["x"]}',
    '{"choices": [{"index": 0, "PART": {"content": 5}, "finish_reason": "stop"}]}',
    '{"choices": [{"index": 0, "PART": {"tool_calls": ["x"]}, "finish_reason": "stop"}]}',
    '{"created": "now", "choices": [{"index": 0, "PART": {"content": "x"}, "finish_reason": "stop"}]}',
]  # fmt: skip


class Garbage:
    """Healthy, and no model."""

    def __init__(self) -> None:
        self.says = ""
        self.asked = 0
        self.address = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.path != "/v1/chat/completions":
            return web.Response(text="{}")
        self.asked += 1
        if not (await request.json()).get("stream"):
            return web.Response(text=self.says.replace("PART", "message"))
        return web.Response(text=f"data: {self.says.replace('PART', 'delta')}\n\ndata: [DONE]\n\n")


@pytest.fixture
async def garbage() -> AsyncIterator[Garbage]:
    server, app = Garbage(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.address = f"127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


async def asked(llm: TensorRTLLM, stream: bool) -> Any:
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


async def test_a_replica_that_answers_nonsense_is_passed_over_and_then_left_alone(garbage: Garbage) -> None:
    sound, garbage.says = ServeStandin(), "<html>"
    await sound.start()
    urls = [f"trtllm://{garbage.address}", f"trtllm://{sound.address}"]
    llm = TensorRTLLM.connect(urls, fleet={"seed": 1})
    for place in range(20):
        assert await asked(llm, stream=place % 2 == 0)
    assert 0 < garbage.asked <= 3
    await llm.aclose()
    await sound.crash()


def test_an_event_of_endlessly_many_lines_is_refused() -> None:
    parser, lines = EventParser(), b"data: x\n" * 2**17
    with pytest.raises(ProtocolFault):
        for _ in range(2 * MAX_EVENT // len(lines)):
            parser.feed(lines)
