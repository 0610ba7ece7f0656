"""Threads that count at once, and one that reads meanwhile: nothing is lost, and no fault of counting is a caller's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cachelayer import CacheLayer
from cachelayer.observe.cost import Bill, Ledger, Prices
from cachelayer.observe.quality import Hit, Quality
from cachelayer.observe.stats import FunctionStats

THREADS, TIMES = 6, 1500


@pytest.fixture(autouse=True)
def _interrupted_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], object], meanwhile: Callable[[], object]) -> None:
    """Run `work(number)` in several threads, `meanwhile` in one more. Raises what any of them raises."""
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            meanwhile()

    with ThreadPoolExecutor(THREADS + 1) as pool:
        reading = pool.submit(read)
        try:
            list(pool.map(work, range(THREADS)))
        finally:
            over.set()
        reading.result()


def test_every_request_is_counted_once_and_its_latency_with_it() -> None:
    layer = CacheLayer(semantic=False)
    ledger = layer.account({"models": {}}, tenants=2, tags=2)
    metrics = layer.metrics()

    @layer.cached(name="ask", tags=["of:{question}"])
    def ask(question: str) -> str:
        return question

    def work(number: int) -> None:
        for n in range(TIMES):
            question = str((n * 7 + number) % 90)
            with layer.scope(tenant=question[:1]):
                (ask, ask.outcome, ask.bypass)[n % 3](question)

    at_once(work, metrics.render)
    told, asked = layer.stats(), THREADS * TIMES
    of = told["functions"]["ask"]
    missed = asked - sum(of["hits"].values())
    assert of["requests"] == asked and told["faults"] == {}
    assert of["latency"]["miss"]["count"] == missed == of["backend_calls"]
    assert asked - 127 < of["latency"]["exact"]["count"] + missed <= asked  # hits are sampled
    billed = sum(one["hit"] + one["miss"] for one in ledger.stats()["tenants"].values())
    assert asked - 127 < billed <= asked


def test_a_ledger_adds_up_though_names_come_and_go() -> None:
    ledger = Ledger(Prices({}), tenants=2, tags=2)

    def work(number: int) -> None:
        for n in range(TIMES):
            bill = Bill("m", 1, tenant=str(n % 37), tags=(f"tag {n % 41} {number}",))
            ledger.add(bill, 1.0, hit=bool(n % 2))

    at_once(work, ledger.readings)
    told = ledger.stats()
    assert sum(sum(one.values()) for one in told["tenants"].values()) == THREADS * TIMES
    assert told["models"]["m"]["prompt"] == THREADS * TIMES / 2


def test_similar_hits_are_judged_in_any_thread() -> None:
    quality = Quality(keep=20)

    def work(number: int) -> None:
        for n in range(TIMES):
            quality.served(Hit("id", "ask", "s", f"{n} {number}", "q", "a", 0.9, 1 - n / TIMES, "rule"))

    at_once(work, quality.report)
    assert quality.report()["slices"]["function"]["ask"]["hits"] == THREADS * TIMES


def test_what_a_thread_is_about_to_note_while_another_folds_is_not_lost() -> None:
    stats = FunctionStats()
    stats.add({}, {"store": 1.0, "search": 1.0}, "similar", 2.0)
    notes = [stats._stages["store"].append, stats._whole["similar"].append, stats._looks.append]
    stats.fold()
    for note, seen in zip(notes, (1.0, 2.0, (3.0, 5)), strict=True):
        note(seen)
    told = stats.summary()
    assert told["timings"]["store"]["count"] == 2
    assert told["latency"]["similar"]["count"] == 2 and told["latency"]["exact"]["count"] == 5


def test_a_hit_that_is_counted_while_another_s_tokens_are_read_keeps_its_own() -> None:
    layer = CacheLayer(semantic=False)

    def view(answer: dict[str, int]) -> dict[str, object]:
        if answer["n"] == 1 and len(read) < 3:
            read.append(ask.outcome(2))  # as another thread may, while this one reads
        return {"usage": {"prompt_tokens": answer["n"], "completion_tokens": 0}}

    read: list[object] = []

    @layer.cached(view=view, text=None, semantic=False)
    def ask(n: int) -> dict[str, int]:
        return {"n": n}

    saved = sum(ask.outcome(n).saved.tokens for n in (2, 1, 2, 1))
    saved += sum(outcome.saved.tokens for outcome in read)  # type: ignore[attr-defined]
    assert next(iter(layer.stats()["functions"].values()))["saved_tokens"] == saved > 0
