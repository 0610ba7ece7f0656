"""Public test doubles: a clock that is set by hand, a backend that counts, an embedder of words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import xxhash

from .types import Embedded

_WORD = re.compile(r"\w+")


class ManualClock:
    """Stands still until `advance`. Both clocks in seconds."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self.now = start

    def monotonic(self) -> float:
        """Seconds."""
        return self.now

    def time(self) -> float:
        """Unix seconds; the same number."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Gate:
    """An asynchronous backend that answers when it is told to: counts calls, can fail, can hang.

    `await gate(question)` waits until `open()`; `answer` makes the answer from the question.
    """

    def __init__(self, answer: Any = None, *, opened: bool = False) -> None:
        self.calls = 0
        self.cancelled = 0
        self.error: Exception | None = None
        self._answer = answer or (lambda question: f"answer {self.calls}")
        self._open = asyncio.Event()
        self._entered: asyncio.Queue[int] = asyncio.Queue()
        if opened:
            self._open.set()

    async def __call__(self, question: str) -> Any:
        self.calls += 1
        self._entered.put_nowait(self.calls)
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return self._answer(question)

    def open(self) -> None:
        """Let all calls through, now and later."""
        self._open.set()

    def close(self) -> None:
        """Hold calls again."""
        self._open.clear()

    async def entered(self) -> int:
        """Wait until the next call has come in; its number."""
        return await self._entered.get()


class WordEmbedder:
    """Texts to the sum of one random direction per word: equal words, equal vectors. No model, no I/O.

    `window` words are covered; what is longer is embedded in part, and says so.
    """

    def __init__(self, dimension: int = 64, *, window: int = 64) -> None:
        self.identity = f"words-{dimension}"
        self.dimension, self.window = dimension, window
        self.started = False
        self.embedded = 0

    async def start(self) -> None:
        """Nothing to load."""
        self.started = True

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """(n, dimension) float32, L2-normalized."""
        self.embedded += len(texts)
        words = [_WORD.findall(text.casefold()) for text in texts]
        vectors = np.stack([self._vector(w[: self.window]) for w in words])
        return Embedded(vectors, np.array([len(w) <= self.window for w in words]))

    def _vector(self, words: Sequence[str]) -> Any:
        total = np.zeros(self.dimension, np.float32)
        for word in words or [""]:
            rng = np.random.default_rng(xxhash.xxh3_64_intdigest(word.encode()))
            total += rng.standard_normal(self.dimension, dtype=np.float32)
        return total / np.linalg.norm(total)

    async def aclose(self) -> None:
        """Nothing to release."""
        self.started = False
