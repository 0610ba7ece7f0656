"""A judge may take its time: what is stored does not wait for it, and what it holds up is bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.tiers.learning import AT_ONCE


class Judge:
    """Takes no two answers for one, once it is told to say so; counts who asked and who was called off."""

    def __init__(self) -> None:
        self.gate = Gate(lambda pair: False)

    async def __call__(self, known: str, answer: str) -> bool:
        return bool(await self.gate(answer))


def asking(judge: Judge, **settings: Any) -> tuple[CacheLayer, Any]:
    layer = CacheLayer(policy=Policy(max_error_rate=0.05, shadow=0), embedder=WordEmbedder(), **settings)
    answers = Gate(lambda question: f"what is to be said of {question}", opened=True)
    return layer, layer.wrap(answers, name="ask", judge=judge)


async def begun(layer: CacheLayer, ask: Any, judge: Judge) -> None:
    """Two answers, of which the second one is being judged."""
    await ask("how do I reset the old hub")
    await layer.flush()
    await ask("when do you send the old parcel")
    await judge.gate.entered()


async def test_what_is_kept_is_on_the_disk_though_the_judge_hangs(tmp_path: Path) -> None:
    judge = Judge()
    layer, ask = asking(judge, index=tmp_path)
    async with layer:
        await begun(layer, ask, judge)
        await ask("who pays for the old lamp")
        assert await layer._tiers.writeback.drain(10)
        await layer.aclose(timeout=0.001)
    layer, ask = asking(judge, index=tmp_path)
    async with layer:
        for question in ("when do you send the old parcel", "who pays for the old lamp"):
            assert (await ask.outcome(question)).source is Source.MEMORY


async def test_what_is_on_the_disk_already_survives_as_findable_once_it_is(tmp_path: Path) -> None:
    judge = Judge()
    layer, ask = asking(judge, index=tmp_path)
    async with layer:
        await begun(layer, ask, judge)
        assert await layer._tiers.writeback.drain(10) and layer.stats()["similar"]["entries"] == 1
        judge.gate.open()
        await layer.flush()
    layer, ask = asking(judge, index=tmp_path)
    async with layer:
        assert layer.stats()["similar"]["entries"] == 2


async def test_a_flush_waits_for_the_judge_and_several_answers_are_judged_at_once() -> None:
    judge = Judge()
    layer, ask = asking(judge)
    async with layer:
        await begun(layer, ask, judge)
        for number in range(AT_ONCE):
            await ask(f"what does the old w{number} cost")
        flushed = asyncio.ensure_future(layer.flush())
        assert await layer._tiers.writeback.drain(10) and not flushed.done()
        judge.gate.open()
        await flushed
        assert layer.stats()["similar"]["entries"] == 2 + AT_ONCE
        assert layer.stats()["learning"] == {"queued": 0, "dropped": 0, "done": 2 + AT_ONCE}


async def test_answers_wait_for_the_judge_side_by_side() -> None:
    judge = Judge()
    layer, ask = asking(judge)
    async with layer:
        await ask("how do I reset the old hub")
        await layer.flush()
        await asyncio.gather(*(ask(f"what does the old w{number} cost") for number in range(AT_ONCE)))
        assert [await judge.gate.entered() for _ in range(AT_ONCE)] == list(range(1, AT_ONCE + 1))
        judge.gate.open()


async def test_what_finds_no_room_before_the_judge_is_stored_and_counted() -> None:
    judge = Judge()
    layer, ask = asking(judge)
    async with layer:
        await begun(layer, ask, judge)
        layer._tiers.learning.queue.capacity = 0
        await ask("who pays for the old lamp")
        judge.gate.open()
        await layer.flush()
        assert layer.stats()["learning"]["dropped"] == 1
        assert layer.stats()["similar"]["entries"] == 2
        assert (await ask.outcome("who pays for the old lamp")).source is Source.MEMORY
        assert not layer._tiers.inflight and not layer._tiers.learning._waiting


async def test_the_judge_hears_nothing_of_what_left_before_its_turn() -> None:
    judge = Judge()
    layer, ask = asking(judge)
    async with layer:
        await begun(layer, ask, judge)
        with layer.scope(tenant="acme"):
            await ask("who pays for the old lamp")
            await ask("who pays for the old lamp now")
        assert await layer._tiers.writeback.drain(10)
        await layer.erase(tenant="acme")
        assert len(layer._tiers.learning._waiting) == 1 == len(layer._tiers.inflight)
        judge.gate.open()
        await layer.flush()
        assert judge.gate.calls == 1


async def test_a_close_calls_off_a_judge_that_hangs_and_holds_nothing() -> None:
    judge = Judge()
    layer, ask = asking(judge)
    async with layer:
        await begun(layer, ask, judge)
        await layer.aclose(timeout=0.001)
        assert judge.gate.cancelled == 1 and not layer._tiers.learning._waiting
        assert layer.stats()["learning"]["dropped"] == 1


async def test_an_answer_that_is_never_findable_keeps_none_judged_with_it_from_the_disk(
    tmp_path: Path,
) -> None:
    def answered(question: str) -> Any:
        message = {"role": "assistant", "content": None, "tool_calls": [{"type": "function"}]}
        called = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        return called if "weather" in question else f"what is to be said of {question}"

    judge = Judge()
    for made in (True, False):
        layer = CacheLayer(policy=Policy(shadow=0), embedder=WordEmbedder(), index=tmp_path)
        ask = layer.wrap(Gate(answered, opened=True), name="ask", judge=judge)
        async with layer:
            if made:
                await asyncio.gather(ask("what is the weather in Rome"), ask("who pays for the old lamp"))
                await layer.flush()
            assert layer.stats()["similar"]["entries"] == 1
