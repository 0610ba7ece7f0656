"""An answer that is too large to be kept: it is copied for those who wait for it, and for nobody else."""

from __future__ import annotations

import asyncio
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, Outcome, Policy, Reason, Source
from cachelayer.layer import engine_of
from cachelayer.testing import Gate

LARGE = [[i] for i in range(20_000)]


def tree(depth: int) -> Any:
    return {"left": tree(depth - 1), "right": tree(depth - 1)} if depth else [depth]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [[i] for i in range(50_000)],
        lambda: [{"id": i, "found": [i]} for i in range(20_000)],
        lambda: {i: [i] for i in range(50_000)},
        lambda: {"vectors": np.zeros(1_000_000), "model": "m"},
        lambda: list(range(1_000_000)),
        lambda: bytearray(10_000_000),
        lambda: tree(14),
    ],
    ids=["lists", "rows", "keyed", "array", "numbers", "buffer", "tree"],
)
async def test_nothing_is_copied_of_what_is_far_too_large_where_nobody_waits_for_it(
    make: Callable[[], Any],
) -> None:
    layer, large = CacheLayer(policy=Policy(max_item_bytes=10_000), semantic=False), make()

    @layer.cached
    async def ask(question: str) -> Any:
        await asyncio.sleep(0)
        return large

    await ask.outcome("before")
    tracemalloc.start()
    try:
        outcome = await ask.outcome("q")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome.answer is large and outcome.stored is Reason.OVERSIZE and peak < 300_000


async def test_who_waits_for_a_call_has_a_copy_of_its_answer_though_it_is_too_large_to_keep() -> None:
    gate, layer = Gate(), CacheLayer(policy=Policy(max_item_bytes=10_000), semantic=False)

    @layer.cached
    async def ask(question: str) -> Any:
        await gate(question)
        return LARGE

    tasks = [asyncio.create_task(ask.outcome("q")) for _ in range(3)]
    await gate.entered()
    await asyncio.sleep(0)
    tasks[0].cancel()  # whoever led: the others still wait
    await asyncio.sleep(0)
    gate.open()
    outcomes = await asyncio.gather(*tasks[1:])
    assert gate.calls == 1 and all(one.answer == LARGE for one in outcomes)
    assert all(one.source is Source.COALESCED for one in outcomes) and outcomes[0].answer is not LARGE


def test_who_waits_in_a_thread_has_a_copy_too() -> None:
    layer, began = CacheLayer(policy=Policy(max_item_bytes=10_000), semantic=False), threading.Event()
    flights, calls, made = engine_of(layer).flights, list[str](), list[Outcome]()

    @layer.cached
    def ask(question: str) -> Any:
        calls.append(question)
        began.set()
        while not any(flight.waiters for flight in flights._flights.values()):
            time.sleep(0.001)
        return LARGE

    threads = [threading.Thread(target=lambda: made.append(ask.outcome("q"))) for _ in range(2)]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    for thread in threads:
        thread.join(60)
    assert calls == ["q"] and [one.answer for one in made] == [LARGE, LARGE]
    assert {one.source for one in made} == {Source.BACKEND, Source.COALESCED}


async def test_an_answer_that_is_too_large_is_not_preceded_by_the_one_that_it_replaces() -> None:
    layer, answers = CacheLayer(policy=Policy(max_item_bytes=10_000), semantic=False), ["short", LARGE, LARGE]

    @layer.cached
    async def ask(question: str) -> Any:
        return answers.pop(0)

    assert await ask("q") == await ask("q") == "short"
    assert await ask.refresh("q") == LARGE
    assert await ask("q") == LARGE and not answers


async def test_of_an_answer_that_is_too_large_the_reason_is_told_that_any_other_would_have() -> None:
    policy = Policy(max_item_bytes=10_000, cache_if=lambda answer: len(answer) < 100)
    layer = CacheLayer(policy=policy, semantic=False)

    @layer.cached
    async def ask(question: str) -> Any:
        return LARGE

    assert (await ask.outcome("q")).stored is Reason.VETOED
