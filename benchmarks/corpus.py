"""Texts and vectors for the benchmarks of embedding and search, from files given on the command line."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cachelayer.semantic.embed.bert import Precision
from cachelayer.semantic.embed.onnx import OnnxEmbedder

FIELDS = ("q", "q1", "q2", "a", "b", "text")


def texts(paths: Iterable[Path]) -> list[str]:
    """Distinct texts in the fields `FIELDS` of JSON lines files (.jsonl.gz), in their order."""
    found: dict[str, None] = {}
    for path in paths:
        for file in sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]:
            for row in rows_of(file):
                found.update(dict.fromkeys(v for f in FIELDS if isinstance(v := row.get(f), str) and v))
    return list(found)


def vectors(paths: list[Path], keep: Path | None, least: int) -> NDArray[np.float32]:
    """int8 MiniLM vectors of the texts in `paths`, read from `keep` where they are there, kept there otherwise."""
    if keep is not None and keep.exists():
        kept: NDArray[np.float32] = np.load(keep)
        return kept
    chosen = texts(paths)
    if len(chosen) < least:
        raise SystemExit(
            f"{len(chosen)} distinct texts in {len(paths)} paths: {least} are needed; give more --data"
        )
    made = asyncio.run(embedded(chosen[:least]))
    if keep is not None:
        np.save(keep, made)
    return made


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """p50 and p99 in microseconds."""
    low, high = np.percentile(seconds, [50, 99])
    return float(low * 1e6), float(high * 1e6)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


async def embedded(texts: Sequence[str], precision: Precision = "int8") -> NDArray[np.float32]:
    """Their vectors by MiniLM."""
    embedder = OnnxEmbedder(precision=precision)
    await embedder.start()
    parts = [(await embedder.embed(texts[i : i + 256])).vectors for i in range(0, len(texts), 256)]
    await embedder.aclose()
    return np.concatenate(parts)
