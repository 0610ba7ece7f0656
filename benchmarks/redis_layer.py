"""The layer on Redis, for `redis_tier.py`: hits, misses and streams as a caller sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from exact_parts import answer, floor_backend, key_of, request
from redis_floor import Bare
from redis_parts import Rows, Timing, alternate, serial

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.exact.redis import RedisStore
from cachelayer.types import Record

ENTRIES = 5_000
Call = Callable[[int], Awaitable[Any]]


@dataclass
class Stage:
    """What a part measures on."""

    port: int
    floor: Bare
    store: RedisStore
    records: list[Record]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


async def layer_hits(on: Stage, run: Any) -> Rows:
    """From a chat request to its decoded answer."""
    layer = CacheLayer(store=on.url, semantic=False, policy=Policy(max_bytes=0, budgets=Budgets(store="1s")))
    requests = [request(i) for i in range(ENTRIES)]
    calls = 0

    async def backend(body: dict[str, Any]) -> str:
        nonlocal calls
        calls += 1
        return answer(0)

    names = [b"floor:" + one.key.hex().encode() for one in on.records]

    async def bare_get(i: int) -> None:
        await on.floor.command(b"GET", names[i])

    async def floor(i: int) -> None:
        raw = await on.floor.command(b"GET", b"floor:" + key_of(requests[i]).hex().encode())
        orjson.loads(raw)

    turn: list[asyncio.Future[None]] = []

    def resolve() -> None:
        for future in turn:
            future.set_result(None)
        turn.clear()

    async def awaited(i: int) -> None:
        loop = asyncio.get_running_loop()
        if not turn:
            loop.call_soon(resolve)
        turn.append(loop.create_future())
        await turn[-1]

    async with layer:
        ask = layer.wrap(backend, name="bench")
        for body in requests:
            await ask(body)
        await layer.flush()
        filled = calls

        async def through(i: int) -> None:
            await ask(requests[i])

        rows = await alternate(
            {
                "floor: bare pipelined GET": bare_get,
                "a future a call, no Redis": awaited,
                "key, bare pipelined GET, decode": floor,
                "store.get": lambda i: on.store.get(on.records[i].key, on.records[i].canonical, 1.0),
                "layer": through,
            },
            ENTRIES,
            run,
        )
    rows["layer"]["backend_calls"] = calls - filled
    return rows


def asked(ask: Callable[[Any], Awaitable[Any]], requests: Sequence[Any]) -> Call:
    return lambda i: ask(requests[i])


async def second_reads(on: Stage) -> Rows:
    """The in-process tier on: a hit costs what it costs without Redis."""
    requests = [request(i) for i in range(ENTRIES)]
    policy = Policy(max_bytes=1 << 28, budgets=Budgets(store="1s"))
    systems: dict[str, Call] = {}
    async with (
        CacheLayer(semantic=False, policy=policy) as alone,
        CacheLayer(store=on.url, semantic=False, policy=policy) as shared,
    ):
        for name, layer in (("floor: layer without Redis", alone), ("layer with Redis, second read", shared)):
            ask = layer.wrap(floor_backend, name="second")
            for body in requests:
                await ask(body)
            await layer.flush()
            systems[name] = asked(ask, requests)
        return await alternate(systems, ENTRIES, serial)


async def layer_misses(on: Stage) -> Rows:
    """A request that nobody made before, a backend that does nothing, the write in the background."""
    fresh, count = iter(range(10**7, 10**9)), 1_000
    bodies: list[dict[str, Any]] = []
    policy = Policy(budgets=Budgets(store="1s"))
    async with (
        CacheLayer(semantic=False, policy=policy) as alone,
        CacheLayer(store=on.url, semantic=False, policy=policy) as layer,
    ):
        ask, here = layer.wrap(floor_backend, name="miss"), alone.wrap(floor_backend, name="here")
        unkept = layer.wrap(floor_backend, name="unkept", cache_if=lambda answer: False)

        async def floor(i: int) -> None:
            await on.floor.command(b"GET", b"nothing:%032x" % i)

        async def both(i: int) -> None:
            await on.floor.command(b"GET", b"nothing:" + key_of(bodies[i]))
            await here(bodies[i])

        async def renewed(call: Call, n: int) -> Timing:
            bodies[:] = [request(next(fresh)) for _ in range(n)]  # outside the timed calls
            await layer.flush()
            return await serial(call, n)

        systems: dict[str, Call] = {
            "floor: bare GET of nothing": floor,
            "a miss in process, no Redis": lambda i: here(bodies[i]),
            "key, bare GET, then a miss in process": both,
            "layer, answer not kept": lambda i: unkept(bodies[i]),
            "layer": lambda i: ask(bodies[i]),
        }
        return await alternate(systems, count, renewed)


async def streams(on: Stage) -> Rows:
    """A stored stream of 32 chunks, replayed from Redis."""
    layer = CacheLayer(store=on.url, semantic=False, policy=Policy(max_bytes=0, budgets=Budgets(store="1s")))
    runs = 0

    async def speak(prompt: str) -> AsyncIterator[str]:
        nonlocal runs
        runs += 1
        for n in range(32):
            yield f"chunk {n} "

    async with layer:
        cached = layer.wrap(speak, name="speak")
        prompts = [f"prompt {i}" for i in range(500)]
        for prompt in prompts:
            async for _ in cached(prompt):
                pass
        await layer.flush()
        made = runs
        name = on.records[0].key.hex().encode()

        async def floor(i: int) -> None:
            await on.floor.command(b"GET", b"floor:" + name)

        async def first(i: int) -> None:
            async for _ in cached(prompts[i]):
                return

        async def last(i: int) -> None:
            async for _ in cached(prompts[i]):
                pass

        systems: dict[str, Call] = {"floor: bare GET": floor, "first chunk": first, "last of 32 chunks": last}
        rows = await alternate(systems, len(prompts), serial)
    rows["first chunk"]["backend_calls"] = runs - made
    return rows
