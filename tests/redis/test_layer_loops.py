"""A layer that several loops use, one after the other, hears what others invalidate or holds nothing."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Reason, Source
from cachelayer.testing import Gate

T = TypeVar("T")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What loops that were closed leave open is found now, and warned of in no other test."""
    yield
    gc.collect()


def test_what_is_invalidated_between_two_runs_of_a_loop_is_served_by_none(server: Server) -> None:
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])

    async def asked() -> Outcome:
        outcome = await ask.outcome("q")
        await layer.flush()
        return outcome

    async def elsewhere() -> None:
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])

    assert asyncio.run(asked()).source is Source.BACKEND
    assert asyncio.run(asked()).source is Source.REDIS
    asyncio.run(elsewhere())
    assert asyncio.run(asked()).source is Source.BACKEND
    asyncio.run(layer.aclose())


def closed_without_a_word(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
    """As older programs do it: the loop's tasks are left where they are."""
    loop = loop or asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


@pytest.mark.filterwarnings("ignore")  # asyncio's own, of what was left there
def test_a_loop_that_is_closed_with_its_tasks_takes_what_it_vouched_for_along(server: Server) -> None:
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])

    async def asked() -> Outcome:
        outcome = await ask.outcome("q")
        await layer.flush()
        return outcome

    async def elsewhere() -> None:
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])

    assert closed_without_a_word(asked()).source is Source.BACKEND
    for thread in threading.enumerate():  # what it held goes in a thread
        if thread.name == "cachelayer-end":
            thread.join()
    asyncio.run(elsewhere())
    assert closed_without_a_word(asked()).source is Source.BACKEND


@pytest.mark.filterwarnings("ignore")
def test_of_loops_that_are_closed_with_their_tasks_no_connection_counts(server: Server) -> None:
    """After twenty of them no other was opened, for as long as the process lived."""
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(Gate(opened=True), name="ask")

    async def asked(question: str) -> Outcome:
        outcome = await ask.outcome(question)
        await layer.flush()
        return outcome

    for number in range(30):
        assert closed_without_a_word(asked(str(number))).misses["redis"] is Reason.ABSENT
    gc.collect()
    assert closed_without_a_word(asked("0")).source is Source.REDIS
    assert len(layer._background._lasting) <= 2
    gc.collect()
    assert server.do("CLIENT", "LIST").count(b"\n") < 20


@pytest.mark.filterwarnings("ignore")
def test_a_loop_that_stands_still_listens_for_no_other(server: Server) -> None:
    """As where `run_until_complete` warms a layer up before a server's own loop begins."""
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])

    async def served() -> None:
        await ask("q")
        await layer.flush()
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])
        async with asyncio.timeout(30):
            while layer.stats()["entries"]:
                await asyncio.sleep(0.001)
        assert (await ask.outcome("warm")).source is Source.BACKEND
        await layer.aclose()

    standing = asyncio.new_event_loop()
    standing.run_until_complete(layer.start())
    standing.run_until_complete(ask("warm"))
    asyncio.run(served())
    closed_without_a_word(layer.aclose(), standing)


class Late:
    """A layer whose calls are made in one loop while another listens, which ends before they do."""

    def __init__(self, server: Server) -> None:
        self.layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
        self.gate = Gate()
        self.ask = self.layer.wrap(self.gate, name="ask", tags=["kb"])

    async def begun(self) -> asyncio.Task[Outcome]:
        task = asyncio.create_task(self.ask.outcome("q"))
        await self.gate.entered()
        return task

    async def answered(self, task: asyncio.Task[Outcome]) -> Outcome:
        self.gate.open()
        return await task


@contextmanager
def another_loop() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """A loop that runs in a thread, and ends as `asyncio.run` ends it; what runs something on it."""
    begun, over = Future[asyncio.AbstractEventLoop](), asyncio.Event()

    async def goes_on() -> None:
        begun.set_result(asyncio.get_running_loop())
        await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(goes_on()))
    thread.start()
    loop = begun.result()
    yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result()
    loop.call_soon_threadsafe(over.set)
    thread.join()


async def elsewhere(server: Server) -> Outcome:
    """As another process is answered."""
    settings = {"semantic": False, "policy": Policy(budgets=Budgets(store="2s"))}
    async with CacheLayer(store=server.url, **settings) as layer:
        return await layer.wrap(Gate(opened=True), name="ask", tags=["kb"]).outcome("q")


def test_an_answer_goes_to_redis_though_the_loop_that_listened_ended_meanwhile(server: Server) -> None:
    """With a loop per request in each of eight threads, more than half of the answers were kept nowhere."""
    late = Late(server)
    with asyncio.Runner() as other:
        with another_loop() as listening:
            listening(late.layer.start())
            task = other.run(late.begun())
        assert other.run(late.answered(task)).source is Source.BACKEND
        assert late.layer.stats()["entries"] == 0  # what was invalidated meanwhile was heard by nobody
        other.run(late.layer.flush())
    assert asyncio.run(elsewhere(server)).source is Source.REDIS


def test_an_answer_that_waits_to_be_written_goes_to_redis_though_memory_is_emptied(server: Server) -> None:
    late = Late(server)
    late.gate.open()
    with asyncio.Runner() as other:
        with another_loop() as listening:
            listening(late.layer.start())
            other.run(late.ask("q"))  # what it made is to be written by this loop, which then stands still
            assert late.layer.stats()["write_back"]["done"] == 0
        assert late.layer.stats()["entries"] == 0
        other.run(late.layer.flush())
    assert asyncio.run(elsewhere(server)).source is Source.REDIS


def test_what_was_invalidated_here_goes_nowhere_whoever_listens(server: Server) -> None:
    late = Late(server)
    with asyncio.Runner() as other:
        with another_loop() as listening:
            listening(late.layer.start())
            task = other.run(late.begun())
            listening(late.layer._keeper.forget(tags=frozenset(["kb"])))  # and Redis could not be told
        other.run(late.answered(task))
        other.run(late.layer.flush())
    assert asyncio.run(elsewhere(server)).source is Source.BACKEND
