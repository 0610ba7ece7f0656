"""What is learned from and forgotten in great numbers is so in steps, between which the loop is others'."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from verifiers import SameWords

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.testing import WordEmbedder

MANY = 300


class Noting(PackedIndex):
    """Remembers how many were removed at once."""

    def __init__(self) -> None:
        super().__init__(64)
        self.steps: list[int] = []

    def remove(self, ids: Any) -> int:
        self.steps.append(len(ids))
        return super().remove(ids)


async def test_an_invalidation_of_all_and_an_erasure_hold_up_nobody() -> None:
    """The next answer that was kept waited for all of them, and with it the loop: seconds where they are thousands."""
    index = Noting()
    policy = Policy(max_error_rate=0.05, shadow=0)
    layer = CacheLayer(index=index, embedder=WordEmbedder(), verifier=SameWords(), policy=policy)

    @layer.cached(tags=["kb"])
    async def ask(question: str) -> str:
        return f"about {question}"

    async def fill(topic: str) -> None:
        for number in range(MANY):
            await ask(f"{topic} {number}")
        await layer.flush()

    async with layer:
        await fill("garden")
        assert await layer.invalidate(tags=["kb"]) == MANY
        await ask("another")
        await layer.flush()
        assert max(index.steps) <= 64 and len(index) <= 64
        await fill("engine")
        turns, erasing = 0, asyncio.ensure_future(layer.erase())
        while not erasing.done():
            await asyncio.sleep(0)
            turns += 1
        assert max(index.steps) <= 64 and len(index) == 0 and turns > MANY / 64


async def test_of_many_answers_that_are_made_at_once_few_are_learned_from_in_one_turn() -> None:
    """Fifty misses at a time held the loop for fifty milliseconds and more."""

    class Turns(PackedIndex):
        def __init__(self) -> None:
            super().__init__(64)
            self.turns, self.added = 0, Counter[int]()

        def add(self, *given: Any) -> None:
            self.added[self.turns] += 1
            super().add(*given)

    index = Turns()
    layer = CacheLayer(index=index, embedder=WordEmbedder(), verifier=SameWords(), policy=Policy(shadow=0))

    @layer.cached
    async def ask(question: str) -> str:
        return f"about {question}"

    async def turn() -> None:
        while True:
            await asyncio.sleep(0)
            index.turns += 1

    async with layer:
        turning = asyncio.ensure_future(turn())
        await asyncio.gather(*(ask(f"garden {number}") for number in range(50)))
        await layer.flush()
        turning.cancel()
    assert index.added.total() == 50 and max(index.added.values()) <= 8
