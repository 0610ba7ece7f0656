"""Where nothing is kept in process, a raw form seen before leads to its key, and to nothing that it should not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.errors import StoreFault
from cachelayer.exact.redis import RedisStore
from cachelayer.tiers.shortcuts import Shortcuts

PATIENT = Budgets(store="2s")


def layer_on(server: Server, **options: Any) -> CacheLayer:
    policy = Policy(max_bytes=0, ttl_jitter=0, budgets=PATIENT, **options)
    return CacheLayer(policy=policy, store=server.url, semantic=False)


def shortcuts_of(layer: CacheLayer) -> Shortcuts:
    shortcuts = layer._engine.tiers.shortcuts
    assert shortcuts is not None
    return shortcuts


def counting() -> tuple[list[Any], Callable[..., Any]]:
    calls: list[Any] = []

    async def backend(body: dict[str, Any]) -> list[int]:
        calls.append(body)
        return [len(calls)]

    return calls, backend


async def test_hits_by_raw_form_are_counted_and_what_a_caller_does_to_them_changes_nothing(
    server: Server,
) -> None:
    calls, backend = counting()
    async with layer_on(server) as layer:
        ask = layer.wrap(backend, name="ask")
        await ask({"n": 1.0})
        await layer.flush()
        await ask({"n": 1.0})
        assert layer._shared is not None
        layer._shared.get, whole = unread, layer._shared.get  # the path asks by it
        for _ in range(5):
            (await ask({"n": 1.0})).append("mine")
        layer._shared.get = whole
        assert shortcuts_of(layer).bytes > 0
        assert await ask({"n": 1}) == [1] and len(calls) == 1
        assert layer.stats()["functions"]["ask"]["hits"]["redis:exact"] == 7
        assert (await ask.outcome({"n": 1.0})).source is Source.REDIS


class Hasty:
    """Runs ahead of the machine's clocks by `ahead` seconds."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def time(self) -> float:
        return time.time() + self.ahead


async def test_a_stream_kept_in_process_that_went_stale_is_no_key_of_the_store(server: Server) -> None:
    clock = Hasty()
    policy = Policy(ttl="10s", ttl_jitter=0, budgets=PATIENT)
    layer = CacheLayer(policy=policy, store=server.url, semantic=False, clock=clock)

    @layer.cached
    async def ask(question: str) -> AsyncIterator[int]:
        yield 1

    async with layer:
        for clock.ahead in (0.0, 0.0, 60.0):
            assert [x async for x in ask("q")] == [1]
            await layer.flush()
        assert layer.stats()["faults"] == {}


async def test_an_invalidation_elsewhere_is_obeyed_by_raw_forms(server: Server) -> None:
    calls, backend = counting()
    async with layer_on(server) as here, layer_on(server) as there:
        ask, other = here.wrap(backend, name="ask", tags=["kb"]), there.wrap(backend, name="ask", tags=["kb"])
        await ask({"n": 1})
        await here.flush()
        assert [await ask({"n": 1}) for _ in range(3)] == [[1]] * 3
        await other.invalidate({"n": 1})
        await here._shared.store.sync()  # type: ignore[union-attr]
        assert await ask({"n": 1}) == [2]
        for _ in range(400):  # what was made within the clocks' doubt of a deletion is not stored
            fresh = await ask({"n": 1})
            await here.flush()
            if await ask({"n": 1}) == fresh:
                break
            await asyncio.sleep(0.005)
        kept = len(calls)
        assert [await ask({"n": 1}) for _ in range(3)] == [fresh] * 3 and len(calls) == kept
        await there.invalidate(tags=["kb"])
        await here._shared.store.sync()  # type: ignore[union-attr]
        assert await ask({"n": 1}) == [kept + 1]


async def test_a_raw_form_of_one_tenant_leads_no_other_tenant_anywhere(server: Server) -> None:
    _, backend = counting()
    async with layer_on(server) as layer:
        ask = layer.wrap(backend, name="ask")
        for turn in range(3):
            for tenant, answer in (("a", [1]), ("b", [2])):
                with layer.scope(tenant=tenant):
                    assert await ask({"n": 1}) == answer, turn
            await layer.flush()
        with layer.scope(tenant="a"), layer.tighten(no_cache=True):
            assert await ask({"n": 1}) == [3]


async def test_a_stream_is_replayed_by_its_raw_form(server: Server) -> None:
    runs = 0

    async def speak(prompt: str) -> AsyncIterator[str]:
        nonlocal runs
        runs += 1
        for n in range(4):
            yield f"{prompt} {n}"

    async with layer_on(server) as layer:
        cached = layer.wrap(speak, name="speak")
        first = [chunk async for chunk in cached("hello")]
        await layer.flush()
        for _ in range(3):
            assert [chunk async for chunk in cached("hello")] == first
        assert runs == 1 and shortcuts_of(layer).bytes > 0 and not len(layer._engine.flights)


async def test_requests_remembered_are_bounded_in_bytes_and_erased(server: Server) -> None:
    calls, backend = counting()
    async with layer_on(server) as layer:
        shortcuts = shortcuts_of(layer)
        shortcuts.max_bytes = 20_000
        ask = layer.wrap(backend, name="ask")
        for n in range(60):
            await ask({"text": "x" * n})
        await layer.flush()
        for _ in range(2):
            for n in range(60):
                assert await ask({"text": "x" * n}) == [n + 1]
                assert 0 < shortcuts.bytes <= 20_000
        assert len(calls) == 60
        await layer.erase()
        assert shortcuts.bytes == 0 and not ask.function.raw_forms.positional


class Watched:
    """A store's recall, counted, and failing where it is told to."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.calls = inner, 0
        self.seen = inner.seen
        self.fault: Exception | None = None

    def ask(self, *args: Any) -> Any:
        self.calls += 1
        if self.fault is not None:
            raise self.fault
        return self.inner.ask(*args)


async def unread(*args: Any) -> None:
    raise AssertionError("the store was asked by the whole path")


@pytest.mark.parametrize("fault", [StoreFault("slow", Reason.BUDGET), StoreFault("broken"), None])
async def test_a_store_that_has_no_answer_is_asked_once(server: Server, fault: Exception | None) -> None:
    _, backend = counting()
    async with layer_on(server) as layer:
        shared, shortcuts = layer._shared, shortcuts_of(layer)
        watched = Watched(shortcuts.recall)
        shortcuts.recall = watched  # type: ignore[assignment]
        ask = layer.wrap(backend, name="ask")
        await ask({"n": 1})
        await layer.flush()
        await ask({"n": 1})
        assert shared is not None
        shared.get = unread
        watched.fault = fault
        if fault is None:
            (name,) = server.do("KEYS", "*:v:*")
            server.do("DEL", name)
        assert await ask({"n": 1}) == [2] and watched.calls == 1
        reason = Reason.ABSENT if fault is None else getattr(fault, "reason", Reason.FAULT)
        layer.stats()  # counts him who has his answer
        assert ask.function.stats.misses["redis", reason] >= 1


@pytest.mark.parametrize("at", [0, 8, 120, 200, -1])
async def test_an_entry_of_which_any_byte_changed_since_it_was_seen_is_not_served(
    server: Server, at: int
) -> None:
    """Header, epochs, canonical bytes, payload: whatever lies there now is read anew, and refused."""
    calls, backend = counting()
    async with layer_on(server) as layer:
        ask = layer.wrap(backend, name="ask")
        await ask({"n": 1})
        await layer.flush()
        for _ in range(3):
            assert await ask({"n": 1}) == [1]
        (name,) = server.do("KEYS", "*:v:*")
        held = server.do("GET", name)
        server.do("SETRANGE", name, at % len(held), bytes([held[at] ^ 0x10]))
        assert await ask({"n": 1}) == [2] and len(calls) == 2


async def test_hits_that_travel_together_each_get_their_own(server: Server) -> None:
    """64 callers, of whom some leave, others ask for what is gone meanwhile."""
    calls: list[Any] = []

    async def echo(body: dict[str, Any]) -> dict[str, Any]:
        calls.append(body)
        return {"said": body["n"]}

    async with layer_on(server) as layer:
        ask = layer.wrap(echo, name="echo")
        for n in range(64):
            await ask({"n": n})
        await layer.flush()
        for n in range(64):
            await ask({"n": n})
        for name in server.do("KEYS", "*:v:*")[::7]:
            server.do("DEL", name)
        tasks = [asyncio.ensure_future(ask({"n": n})) for n in range(64)]
        await asyncio.sleep(0)
        for task in tasks[::5]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        for n, answer in enumerate(answers):
            assert isinstance(answer, asyncio.CancelledError) if n % 5 == 0 else answer == {"said": n}
        assert 64 < len(calls) <= 64 + 10


async def test_arguments_that_are_changed_while_the_store_is_asked_lead_to_no_answer_of_before(
    server: Server,
) -> None:
    calls, backend = counting()
    async with layer_on(server) as layer:
        ask = layer.wrap(backend, name="ask")
        assert await ask({"n": 1}) == [1]
        await layer.flush()
        body = {"n": 1}
        asking = asyncio.create_task(ask(body))
        await asyncio.sleep(0)
        body["n"] = 2
        assert await asking == [1]
        assert await ask({"n": 2}) == [2] and len(calls) == 2


async def test_what_is_made_of_an_answer_that_a_raw_form_led_to_is_built_on_it(server: Server) -> None:
    _, backend = counting()
    async with layer_on(server) as layer:
        price = layer.wrap(backend, name="price")

        @layer.cached(max_bytes=2**20)
        async def offer(to: str) -> str:
            return f"{to}: {await price({'n': 1})}"

        for made in (1, 2):
            for to in ("ann", "bob", "cid"):
                assert await offer(to) == f"{to}: [{made}]"
                await layer.flush()
            await price.invalidate({"n": 1})


async def test_what_lies_encrypted_in_the_store_is_served_again_and_again(server: Server) -> None:
    _, backend = counting()
    store = RedisStore(server.url, encrypt_keys=[bytes(32)])
    policy = Policy(max_bytes=0, budgets=PATIENT)
    async with CacheLayer(policy=policy, store=store, semantic=False) as layer:
        ask = layer.wrap(backend, name="ask")
        await ask({"n": 1})
        await layer.flush()
        assert [await ask({"n": 1}) for _ in range(3)] == [[1]] * 3
        assert layer.stats()["functions"]["ask"]["hits"]["redis:exact"] == 3 and layer.stats()["faults"] == {}
