"""Replicas as one backend: nobody sees an error on a stream that had sent nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from answering import started
from cachelayer.adapters.tensorrt_llm import (
    BackendError,
    Interrupted,
    RequestRejected,
    Shed,
    TensorRTLLM,
    Unavailable,
)
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy
from cachelayer.adapters.tensorrt_llm.signals import prometheus
from script import prompt
from serve_server import ServeStandin
from turns import given_up
from until import open_gate, until

from cachelayer.errors import ConfigurationError

LONG = "You are a patient assistant. " * 60


@pytest.fixture
async def servers() -> AsyncIterator[list[ServeStandin]]:
    found = [ServeStandin() for _ in range(3)]
    async with started(*found):
        yield found


@pytest.fixture
async def made() -> AsyncIterator[list[TensorRTLLM]]:
    """Clients to close after the test; every book must balance by then."""
    clients: list[TensorRTLLM] = []
    yield clients
    for client in clients:
        fleet = client.transport
        assert isinstance(fleet, Fleet)
        for member in fleet.members.values():
            r = member.replica
            assert (r.inflight, r.waiting, r.pending, r.queued, member.flight._leaders) == (0, 0, 0, 0, {})
        assert not fleet._waiting and (fleet.gate is None or fleet.gate.inflight() == 0)
        await client.aclose()


def fleet_of(made: list[TensorRTLLM], servers: list[ServeStandin], **options: Any) -> TensorRTLLM:
    options = {"seed": 1} | options
    made.append(TensorRTLLM.connect([f"trtllm://{s.address}" for s in servers], fleet=options))
    return made[-1]


def ask(say: str, system: str = "", **keys: Any) -> list[dict[str, str]]:
    user = {"role": "user", "content": prompt(say, **keys)}
    return [{"role": "system", "content": system}, user] if system else [user]


async def text(llm: TensorRTLLM, messages: list[dict[str, str]], **options: Any) -> str:
    stream = await llm(messages=messages, stream=True, **options)
    return "".join([c["choices"][0]["delta"].get("content", "") async for c in stream])


def counts(servers: list[ServeStandin]) -> list[int]:
    return [sum("cache_salt" not in r or r["cache_salt"] != "" for r in s.requests) for s in servers]


async def test_requests_with_a_shared_prefix_meet_at_one_replica(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    llm = fleet_of(made, servers)
    for i in range(6):
        assert await text(llm, ask(f"answer {i}", LONG)) == f"answer {i}"
    assert sorted(counts(servers)) == [0, 0, 6]


async def test_tenants_do_not_share_a_prefix(made: list[TensorRTLLM], servers: list[ServeStandin]) -> None:
    llm = fleet_of(made, servers)
    fleet = llm.transport
    assert isinstance(fleet, Fleet)
    await text(llm, ask("a", LONG), cache_salt="acme")
    before = {n: len(m.replica.index) for n, m in fleet.members.items()}
    await text(llm, ask("a", LONG), cache_salt="globex")
    assert sum(len(m.replica.index) for m in fleet.members.values()) == 2 * sum(before.values())


async def test_a_replica_that_comes_late_and_knows_no_salts_is_sent_none_of_a_tenants_prompts(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    late, servers = ServeStandin(knows_salt=False), servers[:1]
    await late.start()
    await late.crash()
    llm = fleet_of(made, [*servers, late], router=RouterPolicy(cooldown=0.0, failures=1))
    assert (await llm.start()).salt
    await late.start()
    for i in range(6):
        assert await text(llm, ask(f"answer {i}"), cache_salt="acme") == f"answer {i}"
    asked = [r.get("cache_salt") for r in late.requests]
    assert asked and set(asked) == {""}, "whether it knows salts is all that it was asked"
    await late.crash()


async def test_a_dead_replica_costs_no_client_an_error_and_serves_again_when_it_is_back(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    llm = fleet_of(made, servers, router=RouterPolicy(cooldown=0.0, failures=2))
    await llm.start()
    dead = servers[1]
    await dead.crash()
    for i in range(12):
        assert await text(llm, ask(f"answer {i}")) == f"answer {i}"
    assert llm.transport.signals()["retries"] > 0  # type: ignore[attr-defined]
    await dead.start()
    before = counts(servers)[1]
    for i in range(12):
        assert await text(llm, ask(f"back {i}")) == f"back {i}"
    assert counts(servers)[1] > before


async def test_a_stream_cut_before_its_first_delta_is_retried_elsewhere_and_later_it_is_not(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    """A prompt that every server cuts: each is tried once before the first delta, one only after it."""
    llm = fleet_of(made, servers, lanes=None)
    await llm.start()
    with pytest.raises(Unavailable):
        await text(llm, ask("abcdef", drop_after=1))
    assert counts(servers) == [1, 1, 1]
    with pytest.raises(Interrupted):
        await text(llm, ask("abcdef", drop_after=4))
    assert sum(counts(servers)) == 4


async def test_a_rejected_request_is_nobodys_fault_and_not_retried(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    llm = fleet_of(made, servers)
    with pytest.raises(BackendError, match="too long"):
        await text(llm, ask("x", runtime="too long"))
    assert sum(counts(servers)) == 1
    assert all(m["failures_total"] == 0 for m in llm.transport.signals()["replicas"].values())  # type: ignore[attr-defined]


async def test_no_replica_at_all_is_unavailable(made: list[TensorRTLLM], servers: list[ServeStandin]) -> None:
    llm = fleet_of(made, servers)
    for server in servers:
        await server.crash()
    with pytest.raises(Unavailable, match="no replica"):
        await llm(messages=ask("x"))
    await servers[0].start()
    assert await text(llm, ask("x")) == "x"


async def test_a_drained_replica_gets_nothing_new_and_finishes_what_it_has(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:2])
    fleet = llm.transport
    assert isinstance(fleet, Fleet)
    running = asyncio.ensure_future(text(llm, ask("abc", hold=str(gate))))
    await until(lambda: any(s.running for s in servers[:2]))
    busy = next(i for i, s in enumerate(servers) if s.running)
    fleet.drain(f"http://{servers[busy].address}")
    for _ in range(4):
        await text(llm, ask("x"))
    assert counts(servers)[busy] == 1
    open_gate(gate)
    assert await running == "abc"


async def test_a_burst_with_a_new_prefix_waits_for_the_one_that_computes_it(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:1], limit=LimitPolicy(initial=64))
    await llm.start()
    burst = [asyncio.ensure_future(text(llm, ask("abc", LONG, hold=str(gate)))) for _ in range(8)]
    member = llm.transport.members[f"http://{servers[0].address}"]  # type: ignore[attr-defined]
    await until(lambda: member.flight.held == 7 and servers[0].running)
    assert len(servers[0].running) == 1
    open_gate(gate)
    assert await asyncio.gather(*burst) == ["abc"] * 8


async def test_declared_prefixes_are_computed_at_the_start_and_after_a_restart(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    warm = {"messages": [{"role": "system", "content": LONG}, {"role": "user", "content": "."}]}
    llm = fleet_of(made, servers[:1], warm=[warm], router=RouterPolicy(cooldown=0.0, failures=1))
    await llm.start()
    assert [r["max_tokens"] for r in servers[0].requests if "stream" in r] == [1]
    await servers[0].crash()
    with pytest.raises(Unavailable):
        await text(llm, ask("x"))
    await servers[0].start()
    assert await text(llm, ask("x")) == "x"
    assert sum(r.get("max_tokens") == 1 and "stream" in r for r in servers[0].requests) == 2


NARROW = {"interactive": Lane(reserve=0, max_wait=30, max_queue=1)}


async def test_what_exceeds_the_limit_waits_and_what_exceeds_the_queue_is_shed_with_a_retry_time(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:1], limit=LimitPolicy(initial=1, cap=1), lanes=NARROW)
    first = asyncio.ensure_future(text(llm, ask("one", hold=str(gate))))
    await until(lambda: servers[0].running)
    second = asyncio.ensure_future(text(llm, ask("two")))
    await until(lambda: llm.transport.gate.queued() == 1)  # type: ignore[attr-defined]
    with pytest.raises(Shed) as shed:
        await text(llm, ask("three"))
    assert (shed.value.reason, shed.value.status, shed.value.retry_after) == ("queue", 503, 1.0)
    assert len(servers[0].running) == 1
    open_gate(gate)
    assert await asyncio.gather(first, second) == ["one", "two"]


async def test_a_caller_who_leaves_the_queue_takes_no_slot(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:1], limit=LimitPolicy(initial=1, cap=1), lanes=NARROW)
    first = asyncio.ensure_future(text(llm, ask("one", hold=str(gate))))
    await until(lambda: servers[0].running)
    second = asyncio.ensure_future(text(llm, ask("two")))
    await until(lambda: llm.transport.gate.queued() == 1)  # type: ignore[attr-defined]
    await given_up(second)
    open_gate(gate)
    assert await first == "one"
    assert await text(llm, ask("three")) == "three"
    assert sum(counts(servers)) == 2


async def test_a_deadline_in_the_queue_ends_the_wait(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:1], limit=LimitPolicy(initial=1, cap=1), lanes=NARROW)
    first = asyncio.ensure_future(text(llm, ask("one", hold=str(gate))))
    await until(lambda: servers[0].running)
    with pytest.raises(BackendError) as late:
        await text(llm, ask("two"), timeout=0.1)
    assert late.value.status in (503, 504)
    open_gate(gate)
    await first


async def test_a_stream_left_half_way_gives_its_slot_back(
    made: list[TensorRTLLM], servers: list[ServeStandin], gate: Path
) -> None:
    llm = fleet_of(made, servers[:1], limit=LimitPolicy(initial=1, cap=1))
    stream = await llm(messages=ask("abcdef", hold=str(gate), hold_after=1), stream=True)
    await anext(stream)
    await anext(stream)
    await stream.aclose()
    assert await text(llm, ask("next")) == "next"


async def test_signals_name_replicas_lanes_and_reasons_in_the_format_of_prometheus(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    llm = fleet_of(made, servers)
    await text(llm, ask("abcdef"))
    with pytest.raises(RequestRejected, match="lane: give one of interactive, generation, embedding, batch"):
        await text(llm, ask("x"), lane="nothing")
    lines = prometheus(llm.transport.signals()).splitlines()  # type: ignore[attr-defined]
    assert not [line for line in lines if "nothing" in line]  # who asks names no label
    assert 'cachelayer_backend_queue_depth{lane="interactive"} 0.0' in lines
    served = [line for line in lines if line.startswith("cachelayer_backend_prefix_cached_tokens_total{")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in served) == 4
    ttft = [line for line in lines if line.startswith("cachelayer_backend_ttft_seconds_count")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in ttft) == 1


async def test_a_salt_is_honoured_only_where_every_replica_does(
    made: list[TensorRTLLM], servers: list[ServeStandin]
) -> None:
    old = ServeStandin(knows_salt=False)
    await old.start()
    llm = fleet_of(made, [servers[0], old])
    assert not (await llm.start()).salt
    with pytest.raises(BackendError, match="salt"):
        await text(llm, ask("x"), cache_salt="acme")
    await old.crash()


def test_a_fleet_names_each_replica_once() -> None:
    with pytest.raises(ConfigurationError, match="replicas"):
        TensorRTLLM.connect(["trtllm://a", "trtllm://a"])
