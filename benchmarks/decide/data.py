"""Streams of requests with a class each: from files, split by class, with vectors kept beside them.

A stream file has one JSON object a line: {"q": text, "cls": class} or {"text": ..., "cls": ...}. Vectors are
made once with cachelayer's own embedder and kept in a folder given on the command line, never in the repository.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus import embedded, rows_of
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Stream:
    """n requests in order. `vectors` (n, d) float32, rows of length 1."""

    name: str
    texts: list[str]
    classes: list[str]
    vectors: Vectors

    def take(self, rows: NDArray[np.int64]) -> Stream:
        return Stream(
            self.name, [self.texts[i] for i in rows], [self.classes[i] for i in rows], self.vectors[rows]
        )

    def shuffled(self, seed: int) -> Stream:
        return self.take(np.random.default_rng(seed).permutation(len(self.texts)))

    def of_part(self, part: str) -> Stream:
        """Only the classes of one part, 'tune' or 'report'."""
        return self.take(np.flatnonzero([class_part(c) == part for c in self.classes]))

    def zipf(self, seed: int, classes: int, exponent: float, limit: int) -> Stream:
        """Up to `limit` requests of `classes` random classes drawn with weight rank**-exponent, no text twice."""
        rng = np.random.default_rng(seed)
        names = list(rng.permutation(sorted(set(self.classes))))[:classes]
        rank = {str(c): i + 1.0 for i, c in enumerate(names)}
        clock = dict.fromkeys(rank, 0.0)
        times = []
        for i in rng.permutation(len(self.classes)):  # an exponential race draws in proportion to weight
            c = self.classes[i]
            if c in rank:
                clock[c] += float(rng.exponential(rank[c] ** exponent))
                times.append((clock[c], int(i)))
        return self.take(np.array([i for _, i in sorted(times)][:limit]))


def class_part(name: str) -> str:
    """The half that a class belongs to: weights and settings were tuned on 'tune' alone."""
    return ("tune", "report")[hashlib.sha1(f"split:{name}".encode()).digest()[0] & 1]


def read(path: Path) -> tuple[list[str], list[str]]:
    rows = list(rows_of(path))
    return [r["q"] if "q" in r else r["text"] for r in rows], [r["cls"] for r in rows]


def vectors(texts: list[str], kept: Path) -> Vectors:
    """Vectors of `texts`, read from `kept` where they are, else made and written there."""
    if kept.exists():
        found: Vectors = np.load(kept)
        if len(found) == len(texts):
            return found
    made = asyncio.run(embedded(texts))
    kept.parent.mkdir(parents=True, exist_ok=True)
    np.save(kept, made)
    return made


def load(path: Path, kept: Path) -> Stream:
    name = path.name.split(".")[0]
    if name == "texts":
        name = path.parent.name
    texts, classes = read(path)
    return Stream(name, texts, classes, vectors(texts, kept / f"{name}.npy"))
