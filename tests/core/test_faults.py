"""Law 1 and 4: no fault of the cache reaches a caller, cancellation is safe everywhere, nothing stalls or grows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from turns import given_up

from cachelayer import Budgets, CacheLayer, CacheLayerError, Policy, Reason, Source
from cachelayer.exact.memory.invariants import check
from cachelayer.flow.loops import running_loop
from cachelayer.testing import Gate, WordEmbedder


def layer_with(embedder: Any = None, **policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(**policy), embedder=embedder or WordEmbedder())


class Broken(WordEmbedder):
    """Fails, hangs or answers nonsense, as told."""

    mode = "fail"

    async def embed(self, texts: Any) -> Any:
        if self.mode == "fail":
            raise RuntimeError("the secret prompt")
        if self.mode == "hang":
            await asyncio.Event().wait()
        made = await super().embed(texts)
        if self.mode == "nan":
            made.vectors[:] = float("nan")
        return made


@pytest.mark.parametrize(
    ("mode", "reason"), [("fail", Reason.FAULT), ("hang", Reason.BUDGET), ("nan", Reason.BAD_VECTOR)]
)
async def test_a_broken_embedder_costs_a_reason_and_no_answer(
    mode: str, reason: Reason, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Broken()
    embedder.mode = mode
    layer = layer_with(embedder)
    await layer.start()
    ask = layer.wrap(Gate(opened=True), name="ask")
    outcome = await ask.outcome("a question")
    assert outcome.answer == "answer 1" and outcome.misses["similar"] is reason
    assert (await ask.outcome("a question")).source is Source.MEMORY
    await layer.aclose("10ms")  # what hangs is waited for no longer than that
    assert "secret" not in caplog.text


async def test_requests_are_misses_while_the_model_loads() -> None:
    loading = asyncio.Event()

    class Slow(WordEmbedder):
        async def start(self) -> None:
            await loading.wait()

    layer = layer_with(Slow())
    ask = layer.wrap(Gate(opened=True), name="ask")
    assert (await ask.outcome("one")).misses["similar"] is Reason.WARMING
    loading.set()
    await layer.start()
    assert (await ask.outcome("two")).misses["similar"] is not Reason.WARMING
    await layer.aclose()


async def test_text_beyond_the_window_is_never_compared_on_a_part() -> None:
    async with layer_with(WordEmbedder(window=8)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        long = " ".join(f"w{i}" for i in range(20))
        await ask(long + " one")
        await layer.flush()
        assert (await ask.outcome(long + " two")).misses["similar"] is Reason.TOO_LONG
        assert (await ask.outcome(long + " one")).source is Source.MEMORY


async def test_similar_answers_come_from_equal_scope_only() -> None:
    async with layer_with() as layer:
        calls = []

        @layer.cached
        async def ask(question: str, model: str = "m") -> str:
            calls.append(question)
            return f"{len(calls)}"

        await ask("how do I return a product")
        await layer.flush()
        assert (await ask.outcome("how do I return a product please", "m2")).misses[
            "similar"
        ] is Reason.NO_CANDIDATE
        assert (await ask.explain("how do I return a product please")).candidates
        with layer.scope(tenant="acme"):
            assert (await ask.outcome("how do I return a product, please")).misses[
                "similar"
            ] is Reason.NO_CANDIDATE


async def test_an_entry_that_is_gone_is_never_served_as_similar() -> None:
    async with layer_with() as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("how do I return a product")
        await layer.flush()
        await layer.invalidate(tags=["kb"])
        outcome = await ask.outcome("how do I return a product please")
        assert outcome.source is Source.BACKEND and outcome.misses["similar"] is Reason.NO_CANDIDATE


async def test_cancelling_at_any_await_leaves_the_layer_whole() -> None:
    async with layer_with() as layer:
        gate = Gate(opened=True)
        ask = layer.wrap(gate, name="ask")
        for steps in range(12):
            task = asyncio.create_task(ask(f"question number {steps}"))
            for _ in range(steps):
                await asyncio.sleep(0)
            await given_up(task)
            assert (await ask(f"question number {steps}")).startswith("answer")
        await layer.flush()
        assert layer.stats()["flights"] == 0
        for memory in layer._keeper.memories:
            check(memory)


async def test_no_callback_is_long_under_load_with_eviction(stall: Any) -> None:
    layer = CacheLayer(policy=Policy(max_bytes=256 * 1024), semantic=False)

    @layer.cached
    async def ask(question: str) -> str:
        await asyncio.sleep(0)
        return "x" * 1000

    async def worker(seed: int) -> None:
        for i in range(60):
            await ask(f"{(seed * 31 + i * 7) % 900}")

    await asyncio.gather(*(worker(seed) for seed in range(64)))
    stats = layer.stats()
    assert stats["bytes"] <= stats["max_bytes"] and stats["flights"] == 0
    assert stall.seconds < 0.25  # a meter that works, not a figure: those are in benchmarks/


async def test_a_backend_fault_passes_unchanged_and_is_counted() -> None:
    layer = CacheLayer(semantic=False)
    gate = Gate(opened=True)
    gate.error = ValueError("mine")
    ask = layer.wrap(gate, name="ask")
    with pytest.raises(ValueError, match="mine") as caught:
        await ask("q")
    assert caught.value is gate.error
    assert layer.stats()["functions"]["ask"]["backend_errors"] == 1


async def test_a_deadline_cuts_the_head_start_of_a_slow_lookup() -> None:
    embedder = Broken()
    embedder.mode = "hang"
    layer = layer_with(embedder, budgets=Budgets(embed="60s"))
    await layer.start()
    ask = layer.wrap(Gate(opened=True), name="ask")
    with layer.scope(deadline="10ms"):
        outcome = await asyncio.wait_for(ask.outcome("a question"), 30)
    assert outcome.answer == "answer 1" and outcome.misses["similar"] is Reason.BUDGET
    await layer.aclose("10ms")


def test_a_coroutine_without_a_loop_of_asyncio_is_told_what_to_do() -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(Gate(opened=True), name="ask")
    for asked in ask("a question"), layer.start(), layer.flush():
        with pytest.raises(CacheLayerError, match="only while an asyncio loop runs"):
            asked.send(None)  # as trio would


async def test_a_plain_function_on_a_loops_thread_waits_for_no_thread_that_needs_this_loop() -> None:
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    async def answer() -> str:
        begun.set()
        return "from the loop"

    def ask(question: str) -> str:
        if running_loop() is not None:
            return "from here"
        return asyncio.run_coroutine_threadsafe(answer(), loop).result()

    cached = CacheLayer(semantic=False, policy=Policy(rider_wait="1h")).cached(ask)
    aside = asyncio.create_task(asyncio.to_thread(cached, "a question"))
    while cached.function.stats.backend_calls == 0:
        await asyncio.sleep(0)
    told = cached("a question")
    assert {told, await aside} <= {"from here", "from the loop"} and begun.is_set()


async def test_the_log_says_once_of_a_function_why_its_calls_go_uncached(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its callers see no difference: without a word nobody learns that nothing is ever served."""
    layer = CacheLayer(semantic=False)

    @layer.cached(name="forgotten")
    def forgotten(text: str) -> Any:
        return asyncio.sleep(0, text)

    @layer.cached(name="odd")
    async def odd(text: Any) -> Any:
        return text if isinstance(text, str) else type(text)

    @layer.cached(name="pieces")
    async def pieces(text: str) -> Any:
        for piece in text:
            yield {"piece": piece, "of": layer}

    for secret in ("a secret", "a word"):
        assert await forgotten(secret) == await odd(secret) == secret
        assert await odd(layer) is CacheLayer
        assert len([piece async for piece in pieces(secret)]) == len(secret)
    told = [record.getMessage() for record in caplog.records]
    assert [one.partition(" are not cached: ")[0] for one in told] == [
        "calls of forgotten",
        "calls of odd",
        "calls of pieces",
    ]
    assert "make the function async" in told[0] and "ignore=['text']" in told[1] and "CacheLayer" in told[2]
    assert "secret" not in caplog.text
