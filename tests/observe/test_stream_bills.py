"""What streams took and spared is counted once, and told, however they ended and whoever came to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cachelayer import CacheLayer
from cachelayer.observe.cost import Price, Prices
from cachelayer.testing import Gate

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
ONE = 10 * 1.0 + 5 * 2.0


def chunk(text: str, end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": end}
    return {"object": "chat.completion.chunk", "choices": [choice], "usage": end and USAGE}


async def counted(stream: AsyncIterator[Any]) -> int:
    return len([piece async for piece in stream])


class Shop:
    """A layer that counts money, and a stream whose end waits for the gate where it is told to."""

    def __init__(self) -> None:
        self.layer = CacheLayer(semantic=False)
        self.ledger = self.layer.account(Prices({"m": Price(prompt=1e6, completion=2e6)}))
        self.gate = Gate()

        @self.layer.cached(name="tell")
        async def tell(
            question: str, model: str = "m", wait: bool = False, end: str = "stop"
        ) -> AsyncIterator[dict[str, Any]]:
            yield chunk("so")
            if wait:
                await self.gate(question)
            yield chunk(" it is", end)

        @self.layer.cached(name="long", max_item_bytes=60_000)
        async def long(question: str, model: str = "m", wait: bool = False) -> AsyncIterator[dict[str, Any]]:
            for at in range(100):
                yield {**chunk(f"{question} {at}"), f"more {at}": "x" * 1000}
            if wait:
                await self.gate(question)
            yield chunk("so it is", "stop")

        @self.layer.cached(name="long plain", max_item_bytes=60_000)
        def long_plain(question: str, model: str = "m") -> Iterator[dict[str, Any]]:
            for at in range(100):
                yield {**chunk(f"{question} {at}"), f"more {at}": "x" * 1000}
            yield chunk("so it is", "stop")

        self.long, self.long_plain = long, long_plain

        @self.layer.cached(name="plain")
        def plain(question: str, model: str = "m") -> Iterator[dict[str, Any]]:
            yield chunk("so")
            yield chunk(" it is", "stop")

        self.tell, self.plain = tell, plain

    async def read(self, question: str, **how: Any) -> int:
        return await counted(self.tell(question, **how))

    def money(self) -> tuple[float, float]:
        counts = self.ledger.stats()["models"].get("m", {})
        return counts.get("spent_cost", 0) / ONE, counts.get("saved_cost", 0) / ONE


async def test_those_who_share_a_stream_are_spared_what_it_took() -> None:
    shop = Shop()
    streams = [(await shop.tell.outcome("how?", wait=True)).answer for _ in range(3)]
    shop.gate.open()
    for stream in streams:
        assert len([piece async for piece in stream]) == 2
    assert shop.money() == (1, 2)
    counted = shop.layer.stats()["functions"]["tell"]
    assert counted["saved_tokens"] == 2 * 15
    assert counted["saved_seconds"] == pytest.approx(2 * counted["timings"]["backend"]["mean"])
    first, second = shop.plain("how?"), shop.plain("how?")
    assert next(first) == next(second) and len(list(first)) == len(list(second)) == 1
    assert shop.money() == (2, 3)


@pytest.mark.parametrize("end", ["stop", "length", "content_filter"])
async def test_a_stream_is_paid_once_kept_or_not(end: str) -> None:
    shop = Shop()
    await shop.read("how?", end=end)
    assert shop.money() == (1, 0)


async def test_a_stream_that_may_not_be_kept_is_paid_too() -> None:
    shop = Shop()
    with shop.layer.tighten(no_store=True):
        await shop.read("how?")
    assert shop.money() == (1, 0)


async def test_a_stream_too_long_to_be_kept_is_paid_once_by_what_its_end_says() -> None:
    shop = Shop()
    assert await counted(shop.long("how?")) == 101
    assert shop.money() == (1, 0) and shop.ledger.stats()["models"]["m"]["completion"] == 5
    assert len(list(shop.long_plain("how?"))) == 101
    assert shop.money() == (2, 0)
    first, second = [(await shop.long.outcome("why?", wait=True)).answer for _ in range(2)]
    shop.gate.open()
    assert await asyncio.gather(*[counted(stream) for stream in (first, second)]) == [101, 101]
    assert shop.money() == (3, 1)
    assert shop.layer.stats()["functions"]["long"]["timings"]["backend"]["count"] == 2


async def test_a_stream_too_long_to_be_kept_that_is_left_is_not_paid() -> None:
    shop = Shop()
    async with contextlib.aclosing(shop.long("how?", wait=True)) as stream:
        for _ in range(90):
            await anext(stream)
    shop.gate.open()
    await shop.layer.flush()
    assert shop.money() == (0, 0)


@pytest.mark.parametrize("question", ["broken", "left"])
@pytest.mark.parametrize("plain", [False, True])
async def test_a_stream_that_breaks_off_is_a_failed_call_and_one_that_is_left_is_not(
    plain: bool, question: str
) -> None:
    spans, provider, layer = InMemorySpanExporter(), TracerProvider(), CacheLayer(semantic=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    layer.trace(provider)
    over = asyncio.Event()

    def pieces(question: str) -> Iterator[str]:
        yield "a"
        if question == "broken":
            raise ConnectionError
        yield "b"

    async def awaited(question: str) -> AsyncIterator[str]:
        try:
            for piece in pieces(question):
                yield piece
                await asyncio.sleep(0)
        finally:
            over.set()

    tell: Any = layer.cached(name="tell")(pieces if plain else awaited)
    stream = tell(question)
    with contextlib.suppress(ConnectionError):
        for _ in range(2 if question == "broken" else 1):
            assert (next(stream) if plain else await anext(stream)) == "a"
    await asyncio.to_thread(stream.close) if plain else await stream.aclose()
    if not plain:
        await over.wait()
    failed = question == "broken"
    assert layer.stats()["functions"]["tell"]["backend_errors"] == failed
    (call,) = [span for span in spans.get_finished_spans() if span.name == "text_completion tell"]
    assert call.attributes.get("error.type") == ("ConnectionError" if failed else None)


@pytest.mark.parametrize("plain", [False, True])
async def test_a_stream_that_is_passed_on_uncached_and_breaks_off_is_a_failed_call(plain: bool) -> None:
    layer = CacheLayer(semantic=False, tenancy="required")

    @layer.cached(name="tell")
    async def tell(question: str) -> AsyncIterator[str]:
        yield "so"
        if question == "broken":
            raise ConnectionError

    @layer.cached(name="tell plainly")
    def tell_plainly(question: str) -> Iterator[str]:
        yield "so"
        if question == "broken":
            raise ConnectionError

    async def read(question: str) -> None:
        with contextlib.suppress(ConnectionError):
            if plain:
                list(tell_plainly(question))
            else:
                await counted(tell(question))

    await read("whole")
    await read("broken")
    stats = layer.stats()["functions"]["tell plainly" if plain else "tell"]
    assert (stats["backend_calls"], stats["backend_errors"]) == (2, 1)
