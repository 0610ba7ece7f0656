"""Vectors of many texts, made once with the library's own embedder and kept in a folder outside the repository."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cachelayer.semantic.embed.onnx import OnnxEmbedder

BATCH = 64


class Embedded:
    """`vectors` (n, d) float32, rows of length 1, of `texts`."""

    def __init__(self, texts: list[str], vectors: NDArray[np.float32]) -> None:
        self.at = {text: i for i, text in enumerate(texts)}
        self.vectors = vectors

    def cosine(self, a: str, b: str) -> float:
        return float(self.vectors[self.at[a]] @ self.vectors[self.at[b]])

    def __getitem__(self, text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.vectors[self.at[text]]
        return row


def embed(texts: Iterable[str], kept: Path) -> Embedded:
    """Vectors of the distinct texts, read from `kept` where this very set was embedded before."""
    distinct = sorted(set(texts))
    name = hashlib.sha256("\0".join(distinct).encode()).hexdigest()[:16]
    path = kept / f"{name}.npy"
    if not path.exists():
        kept.mkdir(parents=True, exist_ok=True)
        np.save(path, asyncio.run(_made(distinct)))
    return Embedded(distinct, np.load(path).astype(np.float32))


async def _made(texts: list[str]) -> NDArray[np.float16]:
    """In the order of `texts`; embedded by length, since a batch costs what its longest text costs."""
    embedder = OnnxEmbedder(workers=1)
    await embedder.start()
    started = time.monotonic()
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    out = np.empty((len(texts), embedder.dimension), np.float16)
    try:
        for i in range(0, len(texts), BATCH):
            rows = order[i : i + BATCH]
            out[rows] = (await embedder.embed([texts[k] for k in rows])).vectors
            if i % (100 * BATCH) == 0:
                print(f"  {i} of {len(texts)} vectors, {time.monotonic() - started:.0f} s", flush=True)
    finally:
        await embedder.aclose()
    return out
