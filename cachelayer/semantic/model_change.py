"""A change of the embedding model without a cold start: another index and decider, filled beside those that serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..protocols import Decider, Embedder, VectorIndex
from ..types import Query
from .conversations import Conversations
from .embed.batched import BatchedEmbedder
from .embed.cache import CachedEmbedder
from .quarantine import Watch
from .text.characters import plain_characters
from .tier import SimilarTier
from .types import Entry, State

BATCH = 32


async def change_model(tier: SimilarTier, embedder: Embedder, decider: Decider) -> int:
    """Embed every entry anew and serve with it from then on; returns how many. What was known serves meanwhile.

    Raises what the embedder raises; then nothing has changed.
    """
    await embedder.start()
    try:
        index = tier.make_index(embedder.dimension, embedder.identity)
        successor = Successor(embedder, index, decider, tier.watch)
        while missing := successor.missing(tier.entries):
            await successor.take(missing)
    except BaseException as fault:
        if not isinstance(fault, GeneratorExit) and _model(embedder) is not _model(tier.embedder):
            await tier.let_go(embedder)
        raise
    old = tier.embedder
    gone = successor.gone(tier.entries)
    tier.replace(embedder, successor.index, decider, successor.talks, gone)
    closed = tier.state is not State.READY  # meanwhile: the next start loads what will serve
    if closed:
        await tier.let_go(embedder)
    elif _model(old) is not _model(embedder):
        await tier.let_go(old)
    return len(tier.entries)


def _model(embedder: Embedder) -> Embedder:
    """The owner's own object, which may be the one that serves already: what serves is not closed."""
    while isinstance(embedder, CachedEmbedder | BatchedEmbedder):
        embedder = embedder.inner
    return embedder


class Successor:
    """What will serve. Vectors of two models never meet: entries come by their texts."""

    def __init__(self, embedder: Embedder, index: VectorIndex, decider: Decider, watch: Watch) -> None:
        self.embedder, self.index, self.decider, self._watch = embedder, index, decider, watch
        self.talks = Conversations()
        self._seen: set[int] = set()
        self._held: set[int] = set()

    def missing(self, entries: Mapping[int, Entry]) -> list[tuple[int, Entry]]:
        """The next entries to take, at most a batch."""
        out: list[tuple[int, Entry]] = []
        for key, entry in list(entries.items()):
            if key not in self._seen:
                out.append((key, entry))
                if len(out) == BATCH:
                    break
        return out

    async def take(self, batch: Sequence[tuple[int, Entry]]) -> None:
        """Embed, index and learn; a text that the model cannot cover is findable by its words alone from then on."""
        made = await self.embedder.embed([plain_characters(entry.text) for _, entry in batch])
        for row, (key, entry) in enumerate(batch):
            self._seen.add(key)
            vector = made.vectors[row]
            if not made.complete[row] or not 0.99 < float(vector @ vector) < 1.01:
                continue
            self.index.add(entry.partition, np.array([key], np.int64), vector[None])
            self.talks.add(key, entry.partition, entry.turns, vector)
            self._held.add(key)
            query = Query(entry.text, vector, entry.turns, self._watch.author(key))
            if entry.answer is not None:
                self.decider.observe(entry.function, entry.partition, query, [], entry.answer, None)
                self.decider.stored(key, entry.function, entry.partition, query, entry.answer)

    def gone(self, entries: Mapping[int, Entry]) -> list[int]:
        """What left meanwhile, to be swept out."""
        left = [key for key in self._held if key not in entries]
        self.talks.keep_only(entries.keys())
        return left
