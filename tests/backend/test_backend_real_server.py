"""A real model behind a real OpenAI-style server on the CPU. Needs `transformers[serving]` and torch: soak
only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from cachelayer.adapters.tensorrt_llm import TensorRTLLM
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from transformers_server import transformers_server

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(address, model)."""
    with transformers_server(tmp_path_factory.mktemp("transformers"), "--continuous-batching") as started:
        yield started


async def connected(address: str, model: str, **options: object) -> TensorRTLLM:
    llm = TensorRTLLM.connect([f"trtllm://{address}"], model=model, fleet=options)
    async with asyncio.timeout(120):
        while not await llm.healthy():
            await asyncio.sleep(0.2)
    return llm


async def test_a_real_server_streams_and_answers_alike(server: tuple[str, str]) -> None:
    llm = await connected(*server)
    found = await llm.start()
    assert (found.kind, found.salt) == ("openai", False)
    ask = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 8, "temperature": 0.0}
    whole = (await llm(**ask))["choices"][0]
    chunks = [chunk async for chunk in await llm(**ask, stream=True)]
    text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks)
    assert (whole["finish_reason"], chunks[-1]["choices"][0]["finish_reason"]) == ("length", "length")
    # this server writes U+FFFD for a character cut in two in whole answers only
    assert text.replace("\ufffd", "") == whole["message"]["content"].replace("\ufffd", "")
    await llm.aclose()


async def test_a_burst_behind_the_limiter_is_served_without_an_error(server: tuple[str, str]) -> None:
    lanes = {"interactive": Lane(reserve=0, max_wait=600)}
    llm = await connected(*server, limit=LimitPolicy(initial=4, cap=8), lanes=lanes)

    async def one(number: int) -> int:
        messages = [
            {"role": "system", "content": "the order " * 60},
            {"role": "user", "content": str(number)},
        ]
        return len([chunk async for chunk in await llm(messages=messages, max_tokens=4, stream=True)])

    assert min(await asyncio.gather(*(one(i) for i in range(16)))) >= 2
    await llm.aclose()
