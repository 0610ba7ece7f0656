"""Replays a stream through a decider as cachelayer would: search 8, decide, ask on a miss, check sampled hits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cachelayer.protocols import Leaving
from cachelayer.types import Candidate, Decision, Query

from .data import Stream, Vectors

NEIGHBOURS = 8


class Learner(Protocol):
    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision: ...

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None: ...

    def stored(
        self,
        entry: int,
        function: str,
        scope: bytes,
        query: Query,
        answer: str,
    ) -> None: ...


@dataclass
class Tally:
    """What came of one replay. `checks` are hits asked again; they count as backend calls."""

    requests: int = 0
    hits: int = 0
    wrong: int = 0
    checks: int = 0
    seconds: list[float] = field(default_factory=list)
    """Thread CPU seconds of each decision."""
    path: list[tuple[bool, bool]] = field(default_factory=list)
    """(served, wrong) of every request."""

    @property
    def net(self) -> float:
        return (self.hits - self.checks) / self.requests

    @property
    def share_wrong(self) -> float:
        return self.wrong / self.hits if self.hits else 0.0


class Shelf:
    """A brute-force index of entries."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.vectors: Vectors = np.empty_like(stream.vectors)
        self.rows: list[int] = []
        self.answers: list[str] = []

    def add(self, row: int, answer: str) -> int:
        self.vectors[len(self.rows)] = self.stream.vectors[row]
        self.rows.append(row)
        self.answers.append(answer)
        return len(self.rows) - 1

    def drop(self, entries: Sequence[int]) -> None:
        self.vectors[list(entries)] = 0.0

    def search(self, vector: NDArray[np.float32]) -> list[Candidate]:
        n = len(self.rows)
        if n == 0:
            return []
        scores = self.vectors[:n] @ vector
        k = min(NEIGHBOURS, n)
        top = np.argpartition(-scores, k - 1)[:k]
        top = top[np.argsort(-scores[top])]
        texts = self.stream.texts
        return [Candidate(int(i), float(scores[i]), texts[self.rows[i]], self.answers[i]) for i in top]


Answer = Callable[[int], str]
"""The backend: the answer to the request in a row."""


def label_answers(stream: Stream) -> Answer:
    return lambda row: stream.classes[row]


def replay(stream: Stream, decider: Learner, bound: float, answer: Answer | None = None) -> Tally:
    """Ask every request in order, starting empty. An answer of another class is wrong."""
    ask = answer or label_answers(stream)
    shelf, tally = Shelf(stream), Tally(len(stream.texts))
    for row, text in enumerate(stream.texts):
        query = Query(text, stream.vectors[row])
        found = shelf.search(query.vector)
        started = time.thread_time()
        decision = decider.decide("f", b"", query, found, bound)
        tally.seconds.append(time.thread_time() - started)
        if decision.entry is None:
            said = ask(row)
            decider.observe("f", b"", query, found, said, None)
            decider.stored(shelf.add(row, said), "f", b"", query, said)
            if isinstance(decider, Leaving):
                shelf.drop(decider.leaving())
            tally.path.append((False, False))
            continue
        wrong = stream.classes[shelf.rows[decision.entry]] != stream.classes[row]
        tally.hits += 1
        tally.wrong += wrong
        tally.path.append((True, wrong))
        if decision.shadow:
            tally.checks += 1
            said = ask(row)
            decider.observe("f", b"", query, found, said, decision.entry)
    return tally


def dice(seed: int) -> Callable[[], float]:
    return random.Random(seed).random
