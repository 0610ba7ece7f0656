"""What owners and requests may do: refresh, invalidate, tighten, explain, report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cachelayer import CacheLayer, LooseningError, Policy, Reason, Source
from cachelayer.keep.holdings import STEP
from cachelayer.testing import Gate, ManualClock


def make(clock: ManualClock | None = None, **policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(ttl_jitter=0, **policy), semantic=False, clock=clock)


async def test_refresh_replaces_bypass_does_not_and_invalidate_forgets() -> None:
    gate = Gate(opened=True)
    ask = make().wrap(gate, name="ask")
    await ask("q")
    assert await ask.bypass("q") == "answer 2" and await ask("q") == "answer 1"
    assert await ask.refresh("q") == "answer 3" and await ask("q") == "answer 3"
    assert await ask.invalidate("q") == 1 and await ask.invalidate("q") == 0
    assert await ask("q") == "answer 4"


@pytest.mark.parametrize("anew", ["refresh", "no_cache"])
async def test_a_call_that_a_refresh_overtook_does_not_replace_what_the_refresh_brought(anew: str) -> None:
    clock, calls, gates = ManualClock(), 0, [asyncio.Event(), asyncio.Event()]
    layer = make(clock)

    @layer.cached
    async def ask(question: str) -> int:
        nonlocal calls
        calls += 1
        mine = calls
        await gates[mine - 1].wait()
        return mine

    async def answered(task: asyncio.Task[int], gate: asyncio.Event) -> int:
        clock.advance(1)
        gate.set()
        return await task

    async def again() -> int:
        if anew == "refresh":
            return int(await ask.refresh("q"))
        with layer.tighten(no_cache=True):
            return await ask("q")

    slow = asyncio.create_task(ask("q"))
    while calls < 1:
        await asyncio.sleep(0)
    clock.advance(1)
    fresh = asyncio.create_task(again())
    while calls < 2:
        await asyncio.sleep(0)
    assert (await answered(fresh, gates[1]), await answered(slow, gates[0])) == (2, 1)
    assert await ask("q") == 2


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("anew", [{"no_cache": True}, {"max_age": 5}])
@pytest.mark.parametrize(
    ("newer", "then"),
    [
        *((newer, "newest") for newer in (None, [], object(), "vetoed", "now")),
        ({"error": {"message": "overloaded"}}, "old"),
    ],
)
async def test_what_was_asked_for_anew_takes_the_older_answer_with_it_though_it_is_not_kept_unless_it_failed(
    plain: bool, anew: Any, newer: Any, then: str
) -> None:
    said: list[Any] = ["old"]
    kept: dict[str, Any] = {
        "cache_if": lambda answer: answer != "vetoed",
        "ttl": lambda answer: 60 * (answer != "now"),
    }

    def ask(question: str) -> Any:
        return said[-1]

    async def asked(question: str) -> Any:
        return said[-1]

    clock = ManualClock()
    layer = make(clock)
    cached = layer.wrap(ask, **kept).aio if plain else layer.wrap(asked, **kept)
    assert await cached("q") == "old"
    said.append(newer)
    clock.advance(6)
    with layer.tighten(**anew):
        assert await cached("q") is newer
    said.append("newest")
    assert await cached("q") == then


async def test_tags_are_templates_over_the_arguments_and_a_dry_run_counts() -> None:
    layer = make()

    @layer.cached(tags=["kb", "kb:{topic}"])
    async def ask(question: str, topic: str = "none") -> str:
        return f"{question} {topic}"

    for topic in ("returns", "returns", "billing"):
        for question in ("a", "b"):
            await ask(question, topic)
    assert await layer.invalidate(tags=["kb:returns"], dry_run=True) == 2
    assert await layer.invalidate(tags=["kb:returns"]) == 2
    assert (await ask.outcome("a", "returns")).source is Source.BACKEND
    assert (await ask.outcome("a", "billing")).source is Source.MEMORY
    assert await layer.invalidate(scope={"function": ask.function.name}) == 3
    await ask("a")
    assert await layer.erase() == 1 and layer.stats()["entries"] == 0


async def test_a_dry_run_leaves_the_loop_to_others() -> None:
    layer, turns = CacheLayer(semantic=False), 0
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
    for number in range(3 * STEP):
        await ask(f"question {number}")

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    assert await layer.invalidate(tags=["kb"], dry_run=True) == 3 * STEP
    task.cancel()
    assert turns >= 3


async def test_an_answer_begun_before_an_invalidation_is_not_kept_after_it() -> None:
    gate = Gate()
    layer = make()
    ask = layer.wrap(gate, name="ask", tags=["kb"])
    before = asyncio.create_task(ask.outcome("q"))
    await gate.entered()
    await layer.invalidate(tags=["kb"])
    gate.open()
    assert (await before).stored is Reason.INVALIDATED
    assert await ask("q") == "answer 2"


async def test_variants_are_collected_and_then_served() -> None:
    gate = Gate(opened=True)
    ask = make(variants=3).wrap(gate, name="ask")
    answers = {await ask("q") for _ in range(200)}
    assert len(answers) == 3 == gate.calls


async def test_what_is_refreshed_stands_for_all_variants() -> None:
    gate = Gate(opened=True)
    layer = make(variants=3)
    ask = layer.wrap(gate, name="ask")
    plain = layer.wrap(lambda question: f"{question} {layer.stats()['entries']}", name="plain")
    for _ in range(100):
        await ask("q")
        plain("q")
    assert layer.stats()["entries"] == 6
    assert await ask.refresh("q") == "answer 4" and layer.stats()["entries"] == 4
    assert plain.refresh("q") == "q 4" and layer.stats()["entries"] == 2
    assert {await ask("q") for _ in range(100)} == {"answer 4", "answer 5", "answer 6"}


async def test_requests_may_tighten_and_never_loosen() -> None:
    gate = Gate(opened=True)
    layer = make()
    ask = layer.wrap(gate, name="ask")
    await ask("q")
    with layer.tighten(no_cache=True):
        assert (await ask.outcome("q")).misses["memory"] is Reason.NO_CACHE
        with pytest.raises(LooseningError, match="no_cache"), layer.tighten(no_cache=False):
            pass
    with layer.tighten(no_store=True):
        assert (await ask.outcome("new")).stored is Reason.NO_STORE
    with layer.tighten(max_error_rate=0), pytest.raises(LooseningError), layer.tighten(max_error_rate=0.001):
        pass
    with pytest.raises(LooseningError, match="max_error_rate"), layer.tighten(max_error_rate=0.5):
        pass
    assert (await ask.outcome("new")).source is Source.BACKEND


async def test_sampled_answers_are_not_cached_where_the_policy_says_so() -> None:
    gate = Gate(opened=True)
    layer = make(sampled=False)

    @layer.cached
    async def ask(question: str, temperature: float = 0.0) -> Any:
        return await gate(question)

    assert (await ask.outcome("q", 0.7)).misses["memory"] is Reason.SAMPLED
    await ask("q")
    assert (await ask.outcome("q")).source is Source.MEMORY


async def test_explain_says_why_and_changes_nothing() -> None:
    gate = Gate(opened=True)
    ask = make().wrap(gate, name="ask")
    before = await ask.explain("q")
    assert before.verdict == "miss" and "compared exactly: 'q'" in str(before)
    await ask("q")
    told = await ask.explain("q")
    assert told.verdict == "exact hit" and "exact hit" in str(told) and gate.calls == 1
    assert "compared exactly: 'q'" in str(told)


async def test_a_notebook_shows_the_text_of_an_explanation() -> None:
    class Printer:
        shown = ""

        def text(self, given: str) -> None:
            self.shown += given

    printer, told = Printer(), await make().wrap(Gate(opened=True), name="ask").explain("q")
    told._repr_pretty_(printer, False)
    assert printer.shown == str(told)


async def test_stats_name_the_scope_field_that_differs_most() -> None:
    layer = make()

    @layer.cached
    async def ask(question: str, today: str = "") -> str:
        return question

    for day in range(40):
        await ask("q", today=f"2026-11-{day}")
    assert layer.stats()["functions"][ask.function.name]["scope_field_that_differs_most"] == "today"
    assert "today" in str(await ask.explain("q", today="now"))


async def test_a_wrong_answer_that_is_reported_is_gone() -> None:
    gate = Gate(opened=True)
    layer = make()
    ask = layer.wrap(gate, name="ask")
    outcome = await ask.outcome("q")
    assert await layer.report_wrong(outcome) and not await layer.report_wrong(outcome.id)
    assert await ask("q") == "answer 2"


async def test_a_stream_that_is_reported_after_its_end_is_gone() -> None:
    layer, calls = make(), 0

    @layer.cached
    async def ask(question: str) -> AsyncIterator[str]:
        nonlocal calls
        calls += 1
        yield f"answer {calls}"

    @layer.cached
    def plain(question: str) -> Iterator[str]:
        yield from ("answer", question)

    outcome, again = await ask.outcome("q"), plain.outcome("q")
    assert [chunk async for chunk in outcome.answer] == ["answer 1"] and list(again.answer)
    while layer.stats()["flights"]:
        await asyncio.sleep(0)
    assert (await ask.outcome("q")).id == outcome.id
    assert await layer.report_wrong(outcome) and await layer.report_wrong(again)
    assert [chunk async for chunk in ask("q")] == ["answer 2"]


async def test_another_layer_and_a_forked_child_give_other_ids() -> None:
    ids = set()
    for forked in (False, True, False, True):
        layer = make()
        ask = layer.wrap(Gate(opened=True), name="ask")
        if forked:
            layer._keeper.reset()
        ids |= {(await ask.outcome(question)).id for question in ("q", "r")}
    assert len(ids) == 8


async def test_all_variants_of_an_answer_are_invalid_together() -> None:
    gate = Gate(opened=True)
    ask = make(variants=3).wrap(gate, name="ask")
    old = {await ask("q") for _ in range(100)}
    assert len(old) == 3 and await ask.invalidate("q") == 3
    assert old.isdisjoint({await ask("q") for _ in range(100)})


async def test_what_is_explained_is_what_a_call_would_meet() -> None:
    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask")
    await ask("q")
    for tightened, reason in (({"no_cache": True}, Reason.NO_CACHE), ({"max_age": 0}, Reason.EXPIRED)):
        with layer.tighten(**tightened):
            told = await ask.explain("q")
            assert (told.verdict, told.reasons["memory"]) == ("miss", reason)
            assert (await ask.outcome("q")).misses["memory"] is reason
    assert (await ask.explain("q")).verdict == "exact hit"
