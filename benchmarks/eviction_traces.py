"""Traces for the eviction benchmark: block ids of recorded requests, and synthetic ones of known shape."""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def recorded(path: pathlib.Path) -> list[int]:
    """The `hash_ids` of a Mooncake trace (JSON lines, gzipped or not) in order: one access per 512-token block."""
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    return [block for line in lines for block in json.loads(line)["hash_ids"]]


def zipf(n: int, items: int, exponent: float, rng: np.random.Generator) -> NDArray[np.int64]:
    weights = 1.0 / np.arange(1, items + 1) ** exponent
    return rng.choice(items, size=n, p=weights / weights.sum())


def synthetic(n: int, seed: int) -> Iterator[tuple[str, list[int]]]:
    """Names and traces of about `n` accesses."""
    rng = np.random.default_rng(seed)
    yield "Zipf 0.8", zipf(n, n // 4, 0.8, rng).tolist()
    yield "Zipf 1.0", zipf(n, n // 4, 1.0, rng).tolist()
    popular, run = zipf(n // 2, n // 10, 0.9, rng).tolist(), n // 40
    scan: list[int] = []
    for i in range(0, len(popular), run):
        scan += popular[i : i + run]
        scan += range(10**9 + i, 10**9 + i + run)
    yield "Zipf 0.9 + scans", scan
    shift = [rng.permutation(n // 4)[zipf(n // 10, n // 4, 0.9, rng)] for _ in range(10)]
    yield "popularity shifts", np.concatenate(shift).tolist()
    yield "popularity drifts", (zipf(n, n // 10, 1.0, rng) + np.arange(n) // 20).tolist()
    loop = 10**9 + np.arange(n // 2) % (n // 25)
    yield "Zipf 0.9 + loop", np.stack([zipf(n // 2, n // 10, 0.9, rng), loop], axis=1).ravel().tolist()
    yield "loop", (np.arange(n) % (n // 20)).tolist()
