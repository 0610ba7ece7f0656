"""Replicas serve one model: half of the answers of two would be the other's, and be kept as this one's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from answering import started
from cachelayer.adapters.tensorrt_llm import TensorRTLLM
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy
from script import prompt
from serve_server import ServeStandin

from cachelayer.errors import ConfigurationError


@pytest.fixture
async def servers() -> AsyncIterator[list[ServeStandin]]:
    found = [ServeStandin(model="small"), ServeStandin(model="large")]
    async with started(*found):
        yield found


def fleet_of(servers: list[ServeStandin], **options: Any) -> TensorRTLLM:
    return TensorRTLLM.connect([f"trtllm://{s.address}" for s in servers], fleet={"seed": 1} | options)


async def said(llm: TensorRTLLM, say: str) -> str:
    answer = await llm(messages=[{"role": "user", "content": prompt(say)}], max_tokens=40)
    return str(answer["choices"][0]["message"]["content"])


async def test_replicas_of_two_models_are_refused_and_each_is_named(servers: list[ServeStandin]) -> None:
    llm = fleet_of(servers)
    with pytest.raises(ConfigurationError, match=r"serves small; .* serves large"):
        await llm.start()
    servers[1].model = "small"
    assert (await llm.start()).models == ("small",)
    await llm.aclose()


async def test_a_replica_that_comes_back_with_another_model_is_sent_nothing(
    servers: list[ServeStandin],
) -> None:
    servers[1].model = "small"
    llm = fleet_of(servers, router=RouterPolicy(cooldown=0.0, failures=1))
    await llm.start()
    await servers[1].crash()
    for i in range(6):
        assert await said(llm, f"one {i}") == f"one {i}"
    servers[1].model = "large"
    await servers[1].start()
    sent = len(servers[1].requests)
    for i in range(6):
        assert await said(llm, f"two {i}") == f"two {i}"
    assert len([r for r in servers[1].requests[sent:] if r.get("cache_salt") != ""]) == 0
    await llm.aclose()
