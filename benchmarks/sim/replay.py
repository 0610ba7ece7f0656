"""Replay a trace through a routing rule."""

from __future__ import annotations

import csv
import gzip
import json
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from .engine import Engine, Job, Parameters
from .rivals import LeastLoaded, Rule


def mooncake(path: Path, limit: int) -> list[Job]:
    """The first `limit` requests. A session is the first block that fewer than a tenth of the requests
    share."""
    jobs = []
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line, _ in zip(file, range(limit), strict=False)]
        shared = Counter(block for row in rows for block in row["hash_ids"])
        for row in rows:
            full = row["input_length"] // 512
            ids = tuple(row["hash_ids"])
            session = next((block for block in ids if shared[block] < len(rows) / 10), ids[-1])
            jobs.append(
                Job(
                    row["timestamp"] / 1e3,
                    row["input_length"],
                    max(1, row["output_length"]),
                    ids[:full],
                    session,
                )
            )
    return jobs


def azure(path: Path, limit: int) -> list[Job]:
    """The first `limit` requests; the trace knows no prefixes, so each session is its own."""
    jobs = []
    with gzip.open(path, "rt") as file:
        for number, row in zip(range(limit), csv.DictReader(file), strict=False):
            arrival = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
            prompt, output = max(1, int(row["ContextTokens"])), max(1, int(row["GeneratedTokens"]))
            jobs.append(Job(arrival, prompt, output, (), number))
    start = jobs[0].arrival
    return [replace(job, arrival=job.arrival - start) for job in jobs]


def load(path: Path, limit: int) -> list[Job]:
    return azure(path, limit) if path.name.endswith(".csv.gz") else mooncake(path, limit)


def replay(jobs: Sequence[Job], rule: Rule, replicas: int, parameters: Parameters) -> list[Job]:
    """Fresh copies of the jobs, done. Arrivals in order; engines run up to each arrival before the rule
    chooses."""

    def listener(replica: int) -> Callable[[str, Job], None]:
        return lambda event, job: rule.told(event, replica, job)

    engines = [Engine(parameters, listener(i)) for i in range(replicas)]
    done = [replace(job) for job in jobs]
    for job in done:
        for engine in engines:
            engine.advance(job.arrival)
        engines[rule.choose(job, job.arrival)].submit(job)
    for engine in engines:
        engine.advance(float("inf"))
    return done


def saturation(jobs: Sequence[Job], parameters: Parameters) -> float:
    """Requests a second of one replica that always has a backlog."""
    rush = [replace(job, arrival=0.0) for job in jobs]
    done = replay(rush, LeastLoaded(1), 1, parameters)
    return len(done) / max(job.end for job in done)


def at_load(jobs: Sequence[Job], rate: float) -> list[Job]:
    """The trace's own arrival pattern, stretched so that its mean rate is `rate` requests a second."""
    stretch = len(jobs) / rate / max(jobs[-1].arrival, 1e-9)
    return [replace(job, arrival=job.arrival * stretch) for job in jobs]


def summary(done: Sequence[Job]) -> dict[str, Any]:
    waits = sorted(job.first - job.arrival for job in done)
    return {
        "hit_ratio": round(sum(job.cached for job in done) / sum(job.prompt for job in done), 4),
        "ttft_mean": round(statistics.fmean(waits), 4),
        "ttft_p50": round(waits[len(waits) // 2], 4),
        "ttft_p99": round(waits[int(len(waits) * 0.99)], 4),
        "shed": 0.0,
    }
