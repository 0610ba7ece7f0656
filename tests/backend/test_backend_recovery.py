"""Replicas that are lost and come back: who can be served is served, and nobody is shed for what is not there."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from answering import started
from cachelayer.adapters.tensorrt_llm import Shed, TensorRTLLM, Unavailable
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from cachelayer.adapters.tensorrt_llm.attempt import Member
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy
from script import prompt
from serve_server import ServeStandin
from turns import given_up
from until import open_gate, until

ONE = LimitPolicy(initial=1, cap=1)
NO_QUEUE = {"interactive": Lane(reserve=0, max_wait=30, max_queue=0)}
QUEUE = {"interactive": Lane(reserve=0, max_wait=30)}
FOR_LONG = RouterPolicy(failures=1, cooldown=600.0)


class Slow(ServeStandin):
    """Answers nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()
        self.may.set()
        self.asked = 0

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.asked += not self.may.is_set()
        await self.may.wait()
        return await super()._one(reader, writer)


@pytest.fixture
async def servers() -> AsyncIterator[list[Slow]]:
    found = [Slow() for _ in range(3)]
    async with started(*found):
        yield found
        for server in found:
            server.may.set()


def fleet_of(servers: list[Slow], **options: Any) -> TensorRTLLM:
    return TensorRTLLM.connect([f"trtllm://{s.address}" for s in servers], fleet={"seed": 1} | options)


async def said(llm: TensorRTLLM, say: str, *, stream: bool = True, **keys: Any) -> str:
    messages = [{"role": "user", "content": prompt(say, **keys)}]
    answer = await llm(messages=messages, stream=stream)
    if not stream:
        return str(answer["choices"][0]["message"]["content"])
    return "".join([c["choices"][0]["delta"].get("content", "") async for c in answer])


def parts(llm: TensorRTLLM) -> tuple[Fleet, list[Member]]:
    assert isinstance(llm.transport, Fleet)
    return llm.transport, list(llm.transport.members.values())


async def held_at(llm: TensorRTLLM, server: ServeStandin, gate: Path) -> asyncio.Future[str]:
    """A stream that runs at one server."""
    _, members = parts(llm)
    others = [m for m in members if m.replica.name != f"http://{server.address}"]
    for other in others:
        other.replica.draining = True
    running = asyncio.ensure_future(said(llm, "held", hold=str(gate)))
    await until(lambda: server.running)
    for other in others:
        other.replica.draining = False
    return running


@pytest.mark.parametrize("how", ["drained", "lost"])
async def test_what_runs_at_a_replica_that_is_sent_nothing_takes_no_other_replicas_room(
    servers: list[Slow], gate: Path, how: str
) -> None:
    """Its streams went on in slots that were the others': they stood idle, and requests were shed."""
    llm = fleet_of(servers[:2], limit=ONE, lanes=NO_QUEUE)
    await llm.start()
    running = await held_at(llm, servers[0], gate)
    fleet, (first, _) = parts(llm)
    if how == "drained":
        fleet.drain(first.replica.name)
    else:
        first.replica.failures, first.replica.open_until = 3, math.inf
    assert await said(llm, "served") == "served"
    open_gate(gate)
    assert await running == "held"
    await llm.aclose()


async def test_a_full_fleet_lets_one_request_through_to_a_replica_that_is_due_to_be_tried(
    servers: list[Slow], gate: Path
) -> None:
    """Where all slots were held by streams that go on for long, a replica that was back stayed idle."""
    llm = fleet_of(servers[:2], limit=ONE, lanes=NO_QUEUE)
    await llm.start()
    running = await held_at(llm, servers[0], gate)
    _, (_, second) = parts(llm)
    second.replica.failures = 3
    assert await said(llm, "tried") == "tried" and second.replica.failures == 0
    open_gate(gate)
    await running
    await llm.aclose()


async def test_who_waits_is_served_by_a_replica_that_is_back_before_anybody_else_ends(
    servers: list[Slow], gate: Path
) -> None:
    """The queue moved only when a request ended, and behind it everybody who came was shed."""
    llm = fleet_of(servers[:2], limit=ONE, lanes=QUEUE)
    await llm.start()
    running = await held_at(llm, servers[0], gate)
    fleet, (_, second) = parts(llm)
    fleet.drain(second.replica.name)
    waits = asyncio.ensure_future(said(llm, "waits"))
    await until(lambda: fleet.gate is not None and fleet.gate.queued() == 1)
    fleet.drain(second.replica.name, False)
    assert await said(llm, "comes") == "comes"
    assert await waits == "waits"
    open_gate(gate)
    await running
    await llm.aclose()


async def test_of_replicas_that_were_all_lost_the_one_that_is_back_serves_every_request(
    servers: list[Slow],
) -> None:
    """Each request tried one of them, and two in three met one that was not back."""
    llm = fleet_of(servers, router=FOR_LONG)
    await llm.start()
    for server in servers:
        await server.crash()
    for _ in range(2):
        with pytest.raises(Unavailable):
            await said(llm, "x")
    await servers[2].start()
    assert [await said(llm, f"answer {i}") for i in range(6)] == [f"answer {i}" for i in range(6)]
    await llm.aclose()


async def test_who_comes_while_the_only_server_is_tried_waits_for_what_that_brings(
    servers: list[Slow],
) -> None:
    """'no replica can be asked' was what all but one of them got, from a server that was well."""
    llm = fleet_of(servers[:1], router=FOR_LONG)
    await llm.start()
    _, (only,) = parts(llm)
    await servers[0].crash()
    with pytest.raises(Unavailable):
        await said(llm, "x")
    servers[0].may.clear()
    await servers[0].start()
    burst = [asyncio.ensure_future(said(llm, "back", stream=i % 2 == 0)) for i in range(6)]
    await until(lambda: servers[0].asked)
    assert only.replica.probing and servers[0].asked == 1
    servers[0].may.set()
    assert await asyncio.gather(*burst) == ["back"] * 6
    assert only.limit.value >= LimitPolicy().initial, "what it refused while it was away says nothing"
    await servers[0].crash()
    with pytest.raises(Unavailable):
        await said(llm, "x")
    faults = await asyncio.gather(*(said(llm, "x") for _ in range(6)), return_exceptions=True)
    assert {type(fault) for fault in faults} == {Unavailable}
    assert not any("can be asked" in str(fault) for fault in faults), "they are told what the trial met"
    await llm.aclose()


async def test_a_start_goes_on_though_its_caller_leaves(servers: list[Slow]) -> None:
    """One replica that hangs and callers with less patience than its five seconds: each began anew, and nobody was ever
    served."""
    llm = fleet_of(servers[:1])
    servers[0].may.clear()
    leaves = asyncio.ensure_future(said(llm, "x"))
    await until(lambda: servers[0].asked)
    await given_up(leaves)
    servers[0].may.set()
    await until(lambda: llm.capabilities is not None)
    await llm.aclose()


async def test_those_who_wait_for_a_start_that_fails_are_told_so_by_the_one(servers: list[Slow]) -> None:
    """They tried again one after another: at a server that hangs, the hundredth waited for minutes."""
    llm = fleet_of(servers[:1])
    servers[0].healthy = False
    servers[0].may.clear()
    many = [asyncio.ensure_future(said(llm, "x")) for _ in range(5)]
    await until(lambda: servers[0].asked)
    servers[0].may.set()
    before = servers[0].connections
    faults = await asyncio.gather(*many, return_exceptions=True)
    assert {str(fault) for fault in faults} == {str(faults[0])} and "503" in str(faults[0])
    assert servers[0].connections == before
    servers[0].healthy = True
    assert await said(llm, "x") == "x"
    await llm.aclose()


async def test_a_replica_that_was_away_at_the_start_is_not_tried_by_the_first_request(
    servers: list[Slow],
) -> None:
    """Where it hangs, its first caller waited for it once more."""
    llm = fleet_of(servers[:2], router=FOR_LONG)
    servers[1].healthy = False
    await llm.start()
    before = servers[1].connections
    for i in range(4):
        assert await said(llm, f"answer {i}") == f"answer {i}"
    assert servers[1].connections == before
    await llm.aclose()


async def test_closing_tells_who_waits_for_the_start(servers: list[Slow]) -> None:
    llm = fleet_of(servers[:1])
    servers[0].may.clear()
    waits = asyncio.ensure_future(said(llm, "x"))
    await until(lambda: servers[0].asked)
    await llm.aclose()
    with pytest.raises(Unavailable, match="closed"):
        await waits


async def test_a_request_that_is_shed_says_why_in_words(servers: list[Slow], gate: Path) -> None:
    llm = fleet_of(servers[:1], limit=ONE, lanes=NO_QUEUE)
    await llm.start()
    running = await held_at(llm, servers[0], gate)
    with pytest.raises(Shed, match="lane 'interactive': queue, as many as its lane allows wait already"):
        await said(llm, "x")
    open_gate(gate)
    await running
    await llm.aclose()


async def test_a_retry_is_another_attempt_and_not_a_failure(servers: list[Slow]) -> None:
    llm = fleet_of(servers[:2], lanes=None)
    fleet, _ = parts(llm)
    await llm.start()
    with pytest.raises(Unavailable):
        await said(llm, "x", status=503)
    assert fleet.signals()["retries"] == 1
    assert sum(replica["failures_total"] for replica in fleet.signals()["replicas"].values()) == 2
    await llm.aclose()
