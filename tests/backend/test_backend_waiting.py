"""Requests that wait before a fleet: a surge reaches it slowly, and nobody waits for longer than the lane allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import Shed
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from cachelayer.adapters.tensorrt_llm.brownout import BrownoutPolicy
from cachelayer.adapters.tensorrt_llm.client import TensorRTLLM
from cachelayer.adapters.tensorrt_llm.events import Capabilities, Delta, End, Event, Start
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.guard import Deadline
from cachelayer.adapters.tensorrt_llm.request import Request
from cachelayer.adapters.tensorrt_llm.signals import prometheus
from turns import cancelled, turns


class Quick:
    """A replica that answers at once."""

    name, capabilities = "quick", Capabilities("openai", models=("m",))

    def __init__(self) -> None:
        self.served = 0
        self.open = asyncio.Event()
        self.open.set()

    async def start(self) -> Capabilities:
        return self.capabilities

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        self.served += 1
        await self.open.wait()
        yield Start("1", "m", 0)
        yield Delta(text="yes", finish_reason="stop")
        yield End("stop")

    async def healthy(self) -> bool:
        return True

    async def aclose(self) -> None:
        """Nothing is connected."""


class Clock:
    """The loop's, which can be put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop, self.ahead = asyncio.get_running_loop(), 0.0
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self.ahead)


async def test_a_surge_waits_or_is_shed_and_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, replica = Clock(monkeypatch), Quick()
    fleet = Fleet([replica], brownout=BrownoutPolicy(recent=5.0, least=1.0))
    llm = TensorRTLLM(fleet)

    def asked() -> Any:
        return llm(model="m", messages=[{"role": "user", "content": "?"}])

    for _ in range(30):
        await asked()
        clock.ahead += 2.0
    assert not fleet.signals()["brownout"]
    surge = [asyncio.ensure_future(asked()) for _ in range(12)]
    await turns(20)
    served = replica.served
    assert fleet.signals()["brownout"] and served < 42
    clock.ahead += 1.0
    await asyncio.wait(surge)
    shed: list[Any] = [one.exception() for one in surge if one.exception() is not None]
    assert all(isinstance(one, Shed) and one.reason == "brownout" and one.retry_after for one in shed)
    assert replica.served == 42 - len(shed) > served
    lines = prometheus(fleet.signals()).splitlines()
    assert f'cachelayer_backend_shed_total{{lane="interactive",reason="brownout"}} {len(shed)}' in lines
    assert "cachelayer_backend_brownout 1" in lines
    assert max(one.retry_after for one in shed) < 2, "who was shed takes nobody's turn"
    await llm.aclose()


async def test_who_has_no_time_to_wait_for_his_turn_in_a_surge_is_shed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, policy = Clock(monkeypatch), BrownoutPolicy(recent=5.0, least=1.0)
    fleet = Fleet([Quick()], brownout=policy, lanes={"interactive": Lane(reserve=0, max_wait=60)})
    llm = TensorRTLLM(fleet)

    def asked(**fields: Any) -> Any:
        return llm(model="m", messages=[{"role": "user", "content": "?"}], **fields)

    for _ in range(30):
        await asked()
        clock.ahead += 2.0
    surge = [asyncio.ensure_future(asked()) for _ in range(12)]
    await turns(20)
    with pytest.raises(Shed, match="brownout"):
        await asked(timeout=2.0)
    clock.ahead += 20.0
    assert all(one["choices"] for one in await asyncio.gather(*surge))
    await llm.aclose()


async def test_who_waited_as_long_as_the_lane_allows_is_told_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, replica = Clock(monkeypatch), Quick()
    fleet = Fleet([replica], limit=LimitPolicy(initial=1, cap=1))
    llm = TensorRTLLM(fleet)
    replica.open.clear()
    first, second = (
        asyncio.ensure_future(llm(model="m", messages=[{"role": "user", "content": "?"}])) for _ in range(2)
    )
    await turns(20)
    assert fleet.signals()["lanes"]["interactive"]["queue_depth"] == 1
    clock.ahead += 2.0
    with pytest.raises(Shed) as shed:
        await second
    assert shed.value.reason == "expired" and shed.value.retry_after
    assert fleet.signals()["shed"] == {("interactive", "expired"): 1}
    replica.open.set()
    assert (await first)["choices"][0]["finish_reason"] == "stop"
    await llm.aclose()


async def test_who_is_cancelled_as_his_time_is_up_is_cancelled() -> None:
    loop = asyncio.get_running_loop()
    limit = Deadline(loop.time() + 600)

    async def waits() -> None:
        with limit:
            await asyncio.Event().wait()

    task = asyncio.ensure_future(waits())
    await turns()
    limit._expire()
    await cancelled(task)
    limit.close()


async def test_no_clock_goes_on_for_a_request_that_is_over() -> None:
    loop: Any = asyncio.get_running_loop()
    llm = TensorRTLLM(Quick())
    for stream in (False, True):
        answer = await llm(prompt="?", timeout=5_000, stream=stream)
        assert not stream or [chunk async for chunk in answer]
    assert not [one for one in loop._scheduled if one.when() > loop.time() + 1_000 and not one.cancelled()]
