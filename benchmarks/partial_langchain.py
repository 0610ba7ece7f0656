"""Hits of LangChain's caches side by side, for `partial.py`: the same model, prompt and path, another cache."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from cachelayer.adapters.langchain import CacheLayerCache
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from cachelayer import Budgets, CacheLayer, Policy

PROMPTS = 200
ROUNDS = 15
WAYS = ("awaited", "plain")


class Told(BaseChatModel):
    """Answers at once with 800 characters; counts its calls."""

    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "told"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.calls += 1
        message = AIMessage("word " * 160, response_metadata={"finish_reason": "stop"})
        return ChatResult(generations=[ChatGeneration(message=message)])


def prompts() -> list[list[BaseMessage]]:
    """Chats of a system prompt and a question of 400 characters."""
    return [
        [SystemMessage("Answer in one paragraph."), HumanMessage(f"Ticket {n}: " + "why is it so " * 30)]
        for n in range(PROMPTS)
    ]


async def measure(url: str) -> list[dict[str, Any]]:
    """Rows of p50 and p99 in microseconds; rounds of all caches alternate."""
    from langchain_community.cache import AsyncRedisCache, RedisCache
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

    policy = Policy(max_bytes=0, budgets=Budgets(store="1s"))
    async with (
        CacheLayer(semantic=False) as near,
        CacheLayer(semantic=False, store=url, policy=policy) as far,
        CacheLayer(semantic=False, store=url) as both,
    ):
        client, aclient = Redis.from_url(url), AsyncRedis.from_url(url)
        models = {
            "no cache (LangChain's path alone)": (Told(cache=False), True),
            "InMemoryCache, awaited": (Told(cache=InMemoryCache()), True),
            "CacheLayerCache in process, awaited": (Told(cache=CacheLayerCache(near)), True),
            "InMemoryCache, plain": (Told(cache=InMemoryCache()), False),
            "CacheLayerCache in process, plain": (Told(cache=CacheLayerCache(near, name="plain")), False),
            "community AsyncRedisCache, awaited": (Told(cache=AsyncRedisCache(aclient)), True),
            "community RedisCache, plain": (Told(cache=RedisCache(client)), False),
            "CacheLayerCache with Redis, awaited": (Told(cache=CacheLayerCache(both, name="both")), True),
            "CacheLayerCache with Redis, plain": (
                Told(cache=CacheLayerCache(both, name="plain both")),
                False,
            ),
            "CacheLayerCache on Redis alone, awaited": (Told(cache=CacheLayerCache(far)), True),
            "CacheLayerCache on Redis alone, plain": (Told(cache=CacheLayerCache(far, name="plain")), False),
        }
        asked = prompts()
        took: dict[str, list[float]] = {name: [] for name in models}
        for model, awaited in models.values():
            await _round(model, awaited, asked, None)
        await far.flush()
        await both.flush()
        warm = {name: model.calls for name, (model, _) in models.items()}
        for _ in range(ROUNDS):
            for name, (model, awaited) in models.items():
                await _round(model, awaited, asked, took[name])
        await aclient.aclose()
        client.close()
    missed = {name: model.calls - warm[name] for name, (model, _) in models.items()}
    rows = [_row(name, times, missed[name]) for name, times in took.items()]
    floors = {way: next(r["p50 us"] for r in rows if r["cache"] == f"InMemoryCache, {way}") for way in WAYS}
    peers = {
        way: next(r["p50 us"] for r in rows if "community" in r["cache"] and way in r["cache"])
        for way in WAYS
    }
    for row in rows[1:]:
        way = next(way for way in WAYS if row["cache"].endswith(way))
        row["over InMemoryCache us"] = round(row["p50 us"] - floors[way], 1)
        row["of the community's"] = round(row["p50 us"] / peers[way], 2)
    return rows


async def _round(
    model: BaseChatModel, awaited: bool, asked: list[list[BaseMessage]], took: list[float] | None
) -> None:
    ask: Callable[..., Awaitable[Any]] = model.ainvoke
    for messages in asked:
        started = time.perf_counter()
        if awaited:
            await ask(messages)
        else:
            model.invoke(messages)
        if took is not None:
            took.append(time.perf_counter() - started)


def _row(name: str, times: list[float], missed: int) -> dict[str, Any]:
    p50, p99 = np.percentile(np.array(times) * 1e6, [50, 99])
    return {
        "cache": name,
        "p50 us": round(float(p50), 1),
        "p99 us": round(float(p99), 1),
        "model calls": missed,
    }
