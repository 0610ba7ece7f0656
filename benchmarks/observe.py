"""What watching costs: metrics, tracing that samples nothing, tracing that samples everything, all beside none.

    python benchmarks/observe.py --out benchmarks/results/observe.json

Each figure is the median over rounds of a round's p50 (and p99) of single awaited calls; in each round every layer
has its turn, so that they share the machine's moods. Spans go to a batch processor whose exporter drops them.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from record import heading, keep, parser_of

from cachelayer import CacheLayer
from cachelayer.observe.cost import Price, Prices

CALLS, ENTRIES = 2000, 200


class Drop(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def provider(share: float) -> TracerProvider:
    made = TracerProvider(sampler=ParentBased(TraceIdRatioBased(share)))
    made.add_span_processor(BatchSpanProcessor(Drop(), max_queue_size=1 << 20, schedule_delay_millis=200))
    return made


def layers() -> dict[str, CacheLayer]:
    made = {name: CacheLayer(semantic=False) for name in ("nothing", "metrics", "not sampled", "sampled")}
    made["metrics"].metrics()
    made["metrics"].account(Prices({}, default=Price(prompt=1.0)), tenants=20, tags=20)
    made["metrics"].quality()
    made["not sampled"].trace(provider(0.0))
    made["sampled"].trace(provider(1.0))
    return made


def wrapped(layer: CacheLayer) -> dict[str, Any]:
    @layer.cached(name="text")
    async def text(question: str) -> str:
        return question

    @layer.cached(name="chat")
    async def chat(messages: list[dict[str, str]], model: str) -> str:
        return "an answer"

    @layer.cached(name="miss")
    async def miss(question: str) -> str:
        return question

    return {"hit, text": text, "hit, chat": chat, "miss": miss}


def arguments(kind: str, number: int, i: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if kind == "hit, chat":
        messages = [{"role": "user", "content": f"question {i % ENTRIES} " + "words " * 90}]
        return (), {"messages": messages, "model": "m"}
    return ((f"question {i % ENTRIES}" if kind == "hit, text" else f"question {number} {i}"),), {}


async def one_round(function: Any, kind: str, number: int) -> list[float]:
    clock, taken = time.perf_counter_ns, []
    calls = [arguments(kind, number, i) for i in range(CALLS)]
    for args, kwargs in calls:
        started = clock()
        await function(*args, **kwargs)
        taken.append((clock() - started) / 1e3)
    return sorted(taken)


async def measure(rounds: int) -> tuple[list[dict[str, Any]], dict[str, float]]:
    made = layers()
    functions = {name: wrapped(layer) for name, layer in made.items()}
    for layer in made.values():
        await layer.start()
    taken: dict[tuple[str, str], list[list[float]]] = {}
    number = 0
    for turn in range(rounds + 1):
        for kind in ("hit, text", "hit, chat", "miss"):
            for name, of in functions.items():
                number += 1
                gc.collect()
                result = await one_round(of[kind], kind, number)
                if turn:
                    taken.setdefault((kind, name), []).append(result)
            made["metrics"].metrics().render()
            await asyncio.sleep(0.25)  # the exporter's thread has its turn outside of what is measured
    rows = []
    for kind in ("hit, text", "hit, chat", "miss"):
        base = [r[CALLS // 2] for r in taken[kind, "nothing"]]
        for name in functions:
            p50s = [r[CALLS // 2] for r in taken[kind, name]]
            more = statistics.median(b - a for a, b in zip(base, p50s, strict=True))
            p99 = statistics.median(r[CALLS * 99 // 100] for r in taken[kind, name])
            rows.append(
                {"of": kind, "on": name, "p50_us": statistics.median(p50s), "p99_us": p99, "more_us": more}
            )
    started = time.perf_counter()
    for _ in range(20):
        made["metrics"].metrics().render()
    scrape = {"scrape_ms": (time.perf_counter() - started) / 20 * 1e3}
    for layer in made.values():
        await layer.aclose()
    return rows, scrape


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    told = heading(" ".join(["python", *sys.argv]))
    rows, scrape = asyncio.run(measure(args.rounds))
    for row in rows:
        line = f"{row['of']:10} {row['on']:12} p50 {row['p50_us']:7.2f} us  p99 {row['p99_us']:8.2f} us"
        print(f"{line}  more at p50 {row['more_us']:+6.2f} us")
    print(f"a scrape: {scrape['scrape_ms']:.1f} ms")
    told |= {"must": {"metrics, hit": 0.5, "not sampled": 2.0, "sampled": 30.0}, "rows": rows, **scrape}
    keep(args.out, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
