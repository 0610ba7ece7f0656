"""What each request at a replica leaves in the fleet's books, and what callers learn of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import Overloaded, TensorRTLLM, Unavailable
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from cachelayer.adapters.tensorrt_llm.attempt import met
from cachelayer.adapters.tensorrt_llm.events import Capabilities, Delta, End, Event, Start, Usage
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.request import Request
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy
from turns import cancelled, turns
from until import until

WHOLE: list[Event] = [Start("1", "m", 0), Delta(text="yes", finish_reason="stop"), End("stop")]
LONG = "You are a patient assistant. " * 60


class Scripted:
    """A replica that says `events`, and at an Event of asyncio waits for it."""

    def __init__(self, name: str, *events: Any, **able: Any) -> None:
        self.name, self.told, self.asked, self.well, self.lost = name, events or WHOLE, 0, True, False
        self.capabilities = Capabilities("openai", models=("m",), **able)
        self.ready = asyncio.Event()
        self.ready.set()

    async def start(self) -> Capabilities:
        await self.ready.wait()
        if self.lost:
            raise Unavailable("lost")
        return self.capabilities

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        self.asked += 1
        for event in self.told:
            if isinstance(event, asyncio.Event):
                await event.wait()
            elif isinstance(event, Exception):
                raise event
            elif callable(event):
                event()
            else:
                yield event

    async def healthy(self) -> bool:
        return self.well

    async def aclose(self) -> None:
        """Nothing is connected."""


def fleet_of(*replicas: Scripted, **options: Any) -> tuple[Fleet, TensorRTLLM]:
    fleet = Fleet(replicas, **{"seed": 1, "lanes": None} | options)
    return fleet, TensorRTLLM(fleet)


async def said(llm: TensorRTLLM, prompt: str = "?", **fields: Any) -> Any:
    answer = await llm(prompt=prompt, **fields)
    return [chunk async for chunk in answer] if fields.get("stream") else answer


@pytest.fixture
def put_ahead(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[float], None]]:
    """Puts the loop's clock forward."""
    ahead = [0.0]
    real = asyncio.BaseEventLoop.time
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda loop: real(loop) + ahead[0])

    def put(seconds: float) -> None:
        ahead[0] += seconds

    return put  # type: ignore[return-value]


async def test_a_fleet_can_do_what_all_of_its_replicas_can_and_is_well_where_one_that_is_asked_is() -> None:
    one, other = Scripted("one"), Scripted("other", streaming=False, chat=True, salt=True)
    fleet, _ = fleet_of(one, other)
    able = await fleet.start()
    assert (able.streaming, able.chat, able.salt) == (False, False, False)
    one.well = False
    assert await fleet.healthy()
    fleet.drain("other")
    assert not await fleet.healthy()


async def test_a_fleet_that_is_started_again_takes_the_model_that_all_replicas_have_now() -> None:
    one, other = Scripted("one"), Scripted("other")
    fleet, _ = fleet_of(one, other)
    assert (await fleet.start()).models == ("m",)
    for replica in (one, other):
        replica.capabilities = Capabilities("openai", models=("newer",))
    assert (await fleet.start()).models == ("newer",)


async def test_a_fleet_that_is_drained_whole_says_so_at_once() -> None:
    fleet, llm = fleet_of(Scripted("one"), lanes={"interactive": Lane(reserve=0, max_wait=30)})
    await said(llm)
    fleet.drain("one")
    with pytest.raises(Unavailable, match="one is drained"):
        await said(llm)


async def test_an_answer_that_is_begun_anew_has_one_beginning() -> None:
    broken = Scripted("broken", WHOLE[0], Unavailable("lost"))
    _, llm = fleet_of(broken, Scripted("well"))
    while not broken.asked:
        chunks = [chunk async for chunk in llm.events(llm.request({"prompt": "?", "stream": True}))]
        assert [type(chunk) for chunk in chunks] == [Start, Delta, End]


async def test_what_a_replica_refuses_halves_its_limit_and_one_without_an_end_is_passed_over() -> None:
    full, cut = Scripted("full", Overloaded("full")), Scripted("cut", WHOLE[0], Delta(text="ye"), End("stop"))
    fleet, llm = fleet_of(full, cut, Scripted("well"), router=RouterPolicy(failures=1, cooldown=600.0))
    for _ in range(30):
        assert (await said(llm))["choices"][0]["text"] == "yes"
    told = fleet.signals()["replicas"]
    assert told["full"]["concurrency_limit"] < 8 == told["well"]["concurrency_limit"]
    assert (told["full"]["up"], told["cut"]["up"]) == (1, 0), "who has too much to do is not down"


async def test_a_replica_at_its_limit_is_asked_last_though_it_holds_the_prompt() -> None:
    go = asyncio.Event()
    holding, other = Scripted("holding", WHOLE[0], go, *WHOLE[1:]), Scripted("other")
    fleet, llm = fleet_of(holding, other, limit=LimitPolicy(initial=1, cap=1))
    fleet.drain("other")
    first = asyncio.ensure_future(said(llm, LONG))
    await until(lambda: holding.asked)
    fleet.drain("other", False)
    assert (await said(llm, LONG))["choices"][0]["text"] == "yes" and other.asked == 1
    go.set()
    await first


async def test_seconds_a_token_are_those_of_streams_after_the_first_token(
    put_ahead: Callable[[float], None],
) -> None:
    pieces: list[Any] = [
        WHOLE[0], Delta(text="a"), lambda: put_ahead(100.0), Delta(text="b c d", finish_reason="stop"),
        Usage(completion_tokens=5), End("stop"),
    ]  # fmt: skip
    fleet, llm = fleet_of(Scripted("one", *pieces))
    await said(llm)
    assert sum(fleet.signals()["replicas"]["one"]["itl_seconds"].counts) == 0
    await said(llm, stream=True)
    assert fleet.signals()["replicas"]["one"]["itl_seconds"].total == pytest.approx(100 / 4, abs=1)


async def test_a_replica_that_goes_on_telling_one_caller_is_not_silent_to_another() -> None:
    go, never = asyncio.Event(), asyncio.Event()
    one = Scripted("one", WHOLE[0], Delta(text="a"), go, *WHOLE[1:])
    fleet, llm = fleet_of(one)
    first = asyncio.ensure_future(said(llm, stream=True))
    await until(lambda: one.asked == 1)
    one.told = [never]
    second = asyncio.ensure_future(said(llm, stream=True))
    await until(lambda: one.asked == 2)
    replica = fleet.members["one"].replica
    assert replica.quiet is not None
    go.set()
    await first
    assert replica.quiet is None
    await cancelled(second)


def test_a_caller_is_told_when_to_come_back_by_whoever_says_so() -> None:
    fleet, _ = fleet_of(Scripted("one"), Scripted("other"))
    later, now = Unavailable("later", retry_after=7.0), Overloaded("full")
    one, other = (member.replica for member in fleet.members.values())
    for tried in ({one: later, other: now}, {one: now, other: later}):
        assert met("fleet", fleet.members.values(), tried) is later


async def test_nobody_waits_for_the_trial_of_a_replica_that_is_drained_meanwhile() -> None:
    replica = Scripted("one")
    fleet, llm = fleet_of(replica, router=RouterPolicy(failures=1, cooldown=600.0))
    await said(llm)
    fleet.members["one"].replica.failures = 1
    replica.ready.clear()
    first = asyncio.ensure_future(said(llm))
    await turns(20)
    fleet.drain("one")
    with pytest.raises(Unavailable, match="one is drained"):
        await asyncio.wait_for(said(llm), 4)
    replica.ready.set()
    await first


async def test_each_who_waits_for_a_trial_that_fails_is_raised_a_fault_of_its_own() -> None:
    replica = Scripted("one", Unavailable("lost"))
    _, llm = fleet_of(replica, router=RouterPolicy(failures=1, cooldown=600.0))
    with pytest.raises(Unavailable):
        await said(llm)
    replica.lost = True
    replica.ready.clear()
    asked = [asyncio.ensure_future(said(llm)) for _ in range(3)]
    await turns(20)
    replica.ready.set()
    faults = await asyncio.gather(*asked, return_exceptions=True)
    assert replica.asked == 1 and len({id(fault) for fault in faults}) == 3
    assert {str(fault) for fault in faults} == {"lost"}


async def test_of_a_replica_that_is_begun_anew_nothing_is_known() -> None:
    fleet, llm = fleet_of(Scripted("one"))
    await said(llm, LONG)
    member = fleet.members["one"]
    assert len(member.flight._index)
    member.flight.held = 3
    await member.begin((), 0.0)
    assert not len(member.flight._index) and fleet.signals()["replicas"]["one"]["prefix_held_total"] == 3


async def test_a_turn_that_comes_as_its_caller_leaves_is_the_next_ones() -> None:
    go = asyncio.Event()
    one = Scripted("one", WHOLE[0], Delta(text="y"), go, *WHOLE[1:])
    fleet, llm = fleet_of(
        one, limit=LimitPolicy(initial=1, cap=1), lanes={"interactive": Lane(reserve=0, max_wait=30)}
    )
    stream = await llm(prompt="?", stream=True)
    second, third = (asyncio.ensure_future(said(llm)) for _ in range(2))
    await turns(20)
    one.told = WHOLE
    await stream.aclose()  # its slot is the second's
    await cancelled(second)
    assert (await asyncio.wait_for(third, 4))["choices"][0]["text"] == "yes"
    assert fleet.gate is not None and fleet.gate.inflight() == 0
