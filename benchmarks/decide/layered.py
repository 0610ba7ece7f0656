"""Asks a stream through `CacheLayer` itself, one request after another, with vectors from a table."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.risk import Prior
from cachelayer.semantic.pairs.late_interaction import Tokens
from cachelayer.types import Embedded

from .data import Stream, Vectors

Backend = Callable[[int], str]
"""The answer to the request in a row."""
Truth = Callable[[int, str], bool]
"""Whether an answer is right for the request in a row."""


GENEROUS = Budgets(embed=30, search=30, verify=30)
"""A busy machine must not turn hits into misses: speed is measured elsewhere."""


class Table:
    """An embedder that looks vectors up: those of requests, and of answers where they are prose."""

    identity = "table"

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self.vectors = dict(zip(texts, vectors, strict=True))
        self.dimension = int(vectors.shape[1])
        self._model = OnnxEmbedder(workers=1)
        self._tokens: dict[str, Tokens | None] = {}

    async def start(self) -> None:
        await self._model.start()

    def guess(self, text: str) -> NDArray[np.float32] | None:
        """The model's own guess, before the vector."""
        return self._model.guess(text)

    async def aclose(self) -> None: ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        found = np.stack([self.vectors[text] for text in texts])
        return Embedded(found, np.ones(len(texts), bool))

    async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
        """By the model itself, once a text."""
        if missing := [text for text in texts if text not in self._tokens]:
            self._tokens.update(zip(missing, await self._model.read_tokens(missing), strict=True))
        return [self._tokens[text] for text in texts]


@dataclass
class Run:
    """What came of one replay. `net`: hits less checks, of all requests."""

    requests: int
    similar: int = 0
    wrong: int = 0
    calls: int = 0
    path: list[tuple[bool, bool]] = field(default_factory=list)
    """(served by similarity, wrong) of every request."""
    state: str = ""
    decide_seconds: list[float] = field(default_factory=list)

    @property
    def net(self) -> float:
        return 1.0 - self.calls / self.requests

    @property
    def share_wrong(self) -> float:
        return self.wrong / self.similar if self.similar else 0.0

    def window(self, first: int, last: int) -> tuple[int, int]:
        """(hits, wrong) among the requests of rows first .. last - 1."""
        part = self.path[first:last]
        return sum(hit for hit, _ in part), sum(wrong for _, wrong in part)


async def replay(
    stream: Stream,
    embedder: Table,
    bound: float,
    backend: Backend,
    right: Truth,
    *,
    seed: int = 0,
    priors: tuple[Prior | None, Prior | None] = (None, None),
) -> Run:
    """Every request in order, starting empty; what one request taught is known before the next."""
    run, asked = Run(len(stream.texts)), iter(range(len(stream.texts)))
    decider = EvidenceDecider(random=random.Random(seed).random, prior=priors[0], glance=priors[1])
    row = -1
    async with CacheLayer(
        embedder=embedder, verifier=decider, policy=Policy(max_error_rate=bound, budgets=GENEROUS)
    ) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            run.calls += 1
            return backend(row)

        for row in asked:
            outcome = await ask.outcome(stream.texts[row])
            served = outcome.match == "similar"
            wrong = served and not right(row, outcome.answer)
            run.similar += served
            run.wrong += wrong
            run.path.append((served, wrong))
            run.decide_seconds.append(outcome.timings.get("verify", 0.0))
            await layer.flush()
        told = decider.stats()
    run.state = next((s["state"] for by_bound in told.values() for s in by_bound.values()), "unverified")
    return run
