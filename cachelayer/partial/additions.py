"""Freshness for additions: which cached results a new document would have been in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..exact.memory.slot import Slot
from ..exact.memory.table import Memory
from ..keep.holdings import STEP
from ..keep.parts import ANYTHING, answer_tag, corpus_tag, digest_of, function_tag
from ..operate.upkeep import Upkeep
from ..path.engine import Engine
from ..types import Vectors
from ..wrap.handles import Handle
from .documents import Reading
from .wide import Wide

BATCH = 64
"""Texts embedded at a time, so that callers' come in between."""
LENT = 65_536
MARGIN = 0.02
"""Similarity by which a new document may stay behind the farthest held and still count: retrievers differ."""


class Additions:
    """Compares new documents with the results of one retrieval, by the vectors of the layer's embedder."""

    def __init__(self, handle: Handle, reading: Reading, corpus: str, engine: Engine, wide: Wide) -> None:
        self._handle, self._reading, self._corpus, self._engine = handle, reading, corpus, engine
        self._wide = wide
        self._lent: set[int] = set()
        """Digests of results that served similar queries, who took what they wanted from anywhere in them."""

    def lent(self, digest: int) -> None:
        """A result served a similar query."""
        self._lent.add(digest)
        if len(self._lent) > LENT:
            self._lent = {one for one in self._lent if self._handle.function.memory.at(one) is not None}

    async def take(self, documents: Sequence[Any], upkeep: Upkeep) -> int:
        """Forget the results that `documents` change, and what was built on them; how many entries went."""
        keeper, tiers = self._engine.keeper, self._engine.tiers
        texts = [self._reading.text(document) for document in documents]
        if tiers.similar is None or None in texts:
            return await upkeep.invalidate([corpus_tag(self._corpus)], None, False)
        if tiers.shared is not None:  # what other processes hold cannot be compared from here
            await tiers.shared.invalidations.invalidate([corpus_tag(self._corpus), ANYTHING])
        # neither what is being made now nor what was read from the store before it was told is kept
        keeper.declare(tags=frozenset([corpus_tag(self._corpus)]))
        new = await self._vectors([text for text in texts if text is not None])
        outdated, as_before = [], set[str]()
        for memory, slot in self._slots():
            changes, rest = await self._changes(slot.answer.answer(), new)
            if changes or (rest and slot.digest in self._lent):
                outdated.append((memory, slot))
                continue
            as_before.add(answer_tag(slot.digest))
            if rest:
                # what it was asked for is as it was; other queries may want the new one
                tiers.similar.forget(slot.id)
        keeper.declare(tags=frozenset([corpus_tag(self._corpus)]))
        outdated += await self._built_on_others(as_before)
        for memory, slot in outdated:
            keeper.drop(memory, slot)
        tags = [*(answer_tag(slot.digest) for _, slot in outdated), ANYTHING]
        gone = len(outdated) + await keeper.forget(tags=frozenset(tags))
        # nor what is on disk and was not taken in yet
        return gone + await tiers.carry_out(
            keeper.declared(tags=frozenset([corpus_tag(self._corpus), *tags]))
        )

    async def _built_on_others(self, as_before: set[str]) -> list[tuple[Memory, Slot]]:
        """What was built on results that cannot be compared, because they are not in memory: evicted, kept in the store
        or on disk alone, or not at all."""
        used, found = function_tag(self._handle.function.name), []
        for memory in self._engine.keeper.memories:
            for number, slot in enumerate(memory.by_tag(used), 1):
                answers = {tag for tag in slot.tags if digest_of(tag) is not None}
                if answers.isdisjoint(as_before) or any(map(self._may_be_result, answers - as_before)):
                    found.append((memory, slot))
                if number % STEP == 0:
                    await asyncio.sleep(0)
        return found

    def _may_be_result(self, tag: str) -> bool:
        keeper, digest = self._engine.keeper, digest_of(tag)
        assert digest is not None
        held = next((slot for memory in keeper.memories if (slot := memory.at(digest)) is not None), None)
        return held is None or keeper.function_of(held.scope) == self._handle.function.name

    def _slots(self) -> Iterator[tuple[Memory, Slot]]:
        function = self._handle.function
        for scope in self._engine.keeper.scopes({"function": function.name}):
            with self._engine.keeper.lock:
                slots = function.memory.by_scope(scope)
            for slot in slots:
                yield function.memory, slot

    async def _changes(self, found: dict[str, Any], new: Vectors) -> tuple[bool, bool]:
        """Whether a new document belongs among those that were asked for, and among all that were found."""
        held, asked, query = found["documents"], found["asked"], found["query"]
        texts = [self._reading.text(document) for document in held]
        if query is None or None in texts or not held or (asked is not None and len(held) < asked):
            return True, True
        vectors = await self._vectors([query, *(text for text in texts if text is not None)])
        near = vectors[1:] @ vectors[0]
        best = float(np.max(new @ vectors[0])) + MARGIN
        fetched = self._wide.fetched(asked)
        room = fetched is not None and len(held) < fetched
        return best > float(np.min(near[:asked])), room or best > float(np.min(near))

    async def _vectors(self, texts: Sequence[str]) -> Vectors:
        tier = self._engine.tiers.similar
        assert tier is not None
        await tier.start()
        parts = [
            (await tier.embedder.embed(texts[at : at + BATCH])).vectors for at in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts)
