"""How benchmarks/gpu_index.py takes times and compares neighbours."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

K = 8
TEXT = "Can I still change the delivery address of the order that I placed yesterday evening?"
Result = dict[str, Any]


def settle() -> None:
    """Wait for the device, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


MOST_SECONDS = 1.0
"""That a figure may take, beyond its first calls: exact search of ten million rows for 8,192 queries takes seconds."""


def timed(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds per call, the device idle before and after each: `repeats` of them, or as many as there is time for."""
    for _ in range(3):
        work()
        settle()
    took: list[float] = []
    while len(took) < repeats and (len(took) < 3 or sum(took) < MOST_SECONDS):
        begun = time.perf_counter()
        work()
        settle()
        took.append(time.perf_counter() - begun)
    return took


def in_turn(search: Callable[[Any], Any], queries: Any, batch: int) -> Callable[[], Any]:
    """Search for other queries at every call: the next `batch` of them, of 256 batches at most."""
    most = min(256, len(queries) // batch)
    parts = cycle([queries[at * batch : (at + 1) * batch] for at in range(most)])
    return lambda: search(next(parts))


def summary(took: list[float], queries: int) -> Result:
    ordered = sorted(took)
    p50 = statistics.median(took)
    return {
        "p50 us": p50 * 1e6,
        "p99 us": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] * 1e6,
        "queries/s": queries / p50,
        "calls": len(took),
    }


def share(rows: Any, result: Result, bandwidth: float) -> float:
    """Of the copy bandwidth, at which all of the rows were read."""
    moved, seconds = float(rows.numel() * rows.element_size()), float(result["p50 us"]) / 1e6
    return moved / seconds / bandwidth


def text_in(search: Callable[[Any], Any], queries: Any, args: argparse.Namespace) -> Result:
    """One text in, the ids of the candidates of one of `queries` on the host.

    A text's own vector would be searched for as fast where its rows were; the encoder's weights may be random.
    """
    one = in_turn(search, queries, 1)

    def whole() -> object:
        args.encoder.encode([TEXT])
        return one()[1].cpu()

    return summary(timed(whole, args.repeats), 1)


def by_host(search: Callable[[Any, int], Any], queries: Any, truth: Any, args: argparse.Namespace) -> Result:
    """Recall, one text in, and batches, by a `search` whose vectors and ids lie on the host."""
    host = queries.cpu().numpy()
    out: Result = {"recall@8": recall(search(host, K)[1], truth)}
    one = in_turn(lambda part: search(part, K), host, 1)

    def whole() -> object:
        args.encoder.encode([TEXT]).cpu().numpy()
        return one()

    out["text in, batch 1"] = summary(timed(whole, args.repeats), 1)
    for batch in args.batches:
        work = in_turn(lambda part: search(part, K), host, batch)
        out[f"batch {batch}"] = summary(timed(work, args.repeats), batch)
    return out


def recall(found: Any, truth: Any) -> float:
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return statistics.fmean(len(set(a) & set(b)) / K for a, b in pairs)
