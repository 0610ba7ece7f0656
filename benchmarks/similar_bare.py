"""The floor of benchmarks/similar.py: how many texts a second tokenizer and session alone encode."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.embed.session import open_session, open_tokenizer


def bare_rate(texts: Sequence[str], threads: int, seconds: float) -> tuple[float, float]:
    """(texts per second, CPU seconds per text) of tokenizer and session on so many threads."""
    prepared = prepare()
    session, tokenizer = open_session(str(prepared.model)), open_tokenizer(prepared.tokenizer.read_bytes())

    def work(number: int) -> int:
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            ids = tokenizer.encode(texts[(number + done * threads) % len(texts)]).ids[: prepared.window]
            session.run(["vector"], {"ids": np.array([ids])})
            done += 1
        return done

    begun, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(work, range(threads)))
    return total / (time.perf_counter() - begun), (time.process_time() - cpu) / total


def bare_rates(texts: Sequence[str], seconds: float) -> dict[str, float]:
    cores = len(os.sched_getaffinity(0))
    one, all_cores = bare_rate(texts, 1, seconds), bare_rate(texts, cores, seconds)
    return {
        "bare encoder, one thread, per s": one[0],
        f"bare encoder, {cores} threads, per s": all_cores[0],
        "bare, CPU us per text": one[1] * 1e6,
    }
