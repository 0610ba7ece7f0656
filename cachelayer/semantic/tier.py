"""The similar tier: adds, learns from and removes what is found by meaning; `Lookup` does the finding."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..flow.background import offload, offload_whole
from ..protocols import Decider, Embedder, Leaving, Sampling, VectorIndex
from ..types import Query
from .answers import as_learned, in_time
from .conversations import Conversations
from .lookup import Lookup
from .reported_pairs import pair_of
from .types import Ask, Entry, State

SWEEP = 64
"""Entries that are forgotten at once: each has a place in the evidence, from which it takes a moment to remove."""


class SimilarTier(Lookup):
    """Embedder, index and decider as one tier of the cache."""

    async def keep(self, ask: Ask, entry_id: int, answer: str | None, value: Any) -> bool:
        """Make a new answer findable and learn from it; False if it cannot be found by meaning or must not be added."""
        if self.state is not State.READY or not ask.text or not self.watch.may_write(ask):
            return False
        self._sweep()
        return await self._add(ask, entry_id, answer, value)

    async def adopt(
        self, ask: Ask, entry_id: int, answer: str | None, value: Any, vector: NDArray[np.float32] | None
    ) -> bool:
        """Make an entry of another process or an earlier run findable; without a usable `vector` its text is embedded.

        Returns False if it cannot be found by meaning. Raises what the embedder raises.
        """
        assert self.index is not None
        held = getattr(self.index, "vector", lambda key: None)(entry_id)
        known = vector if held is None else held
        if known is not None and known.shape == (self.embedder.dimension,):
            turns = self._talks.shared(ask.partition, ask.turns)
            ask.query, ask.generation = Query(ask.text, known, turns, ask.principal), self.generation
        return await self._add(ask, entry_id, answer, value, indexed=held is not None)

    async def _add(
        self, ask: Ask, entry_id: int, answer: str | None, value: Any, *, indexed: bool = False
    ) -> bool:
        """Learn and add, unless meanwhile the model changed or the answer left memory, as by an erasure."""
        if ask.query is None or ask.generation != self.generation:
            ask.generation = self.generation
            ask.query = self._query(ask, await in_time(self.vectors([ask.subject], ask.tenant)))
        if ask.query is None:
            return False
        answer = await as_learned(self.decider, self.embedder, answer, ask)
        return ask.generation == self.generation and self._admit(ask, entry_id, answer, value, indexed)

    def _admit(self, ask: Ask, entry_id: int, answer: str | None, value: Any, indexed: bool) -> bool:
        assert self.index is not None and ask.query is not None
        turns = ask.query.turns
        entry = Entry(ask.function, ask.partition, ask.text, turns, answer, value)
        self.entries[entry_id] = entry
        if not value.resident:  # asked once it is there: whoever drops it from now on finds it
            self.entries.pop(entry_id, None)
            return False
        if self._retyping is not None:
            self._retyped.add(entry_id, entry)
        self._talks.add(entry_id, ask.partition, turns, ask.query.vector)
        if not indexed:
            self.index.add(ask.partition, np.array([entry_id], np.int64), ask.query.vector[None])
        self.watch.made(entry_id, ask.principal)
        if answer is not None:
            self.learn(ask, answer, None)
            with self._lock:
                self.decider.stored(entry_id, ask.function, ask.partition, ask.query, answer)
        return True

    async def forget_texts(self) -> None:
        """Remove dropped entries from the index and forget all texts now, so that none of an erased tenant stays."""
        await self._sweep_all(least=1)
        for part, forget in ((self.embedder, "clear"), (self.decider, "forget_texts")):
            getattr(part, forget, lambda: None)()
        self._closely.clear()

    def replace(self, embedder: Embedder, index: VectorIndex, decider: Decider, talks: Conversations,
                gone: Iterable[int]) -> None:  # fmt: skip
        """Switch to another model; the entries `gone` were dropped while its index was being built."""
        with self._lock:
            self.embedder, self.index = embedder, index
            self.decide_by(decider)
            self._talks = talks
            self.generation += 1
        self._closely.clear()
        self._gone.extend(gone)

    def knows(self, entry_id: int) -> bool:
        """Whether the entry is findable."""
        return entry_id in self.entries

    @property
    def due(self) -> bool:
        """Whether the index needs maintenance, or much was dropped at once."""
        much = len(self._gone) >= 2 * SWEEP
        return (much or bool(getattr(self.index, "due", False))) and not self._maintaining

    async def maintain(self) -> None:
        """Forget what was dropped; let the index train its codes and drop removed rows, in a thread."""
        self._maintaining.begin()
        try:
            with self._faults.guard("index"):
                await self._sweep_all(SWEEP)
                await offload(getattr(self.index, "maintain", lambda: None))
        finally:
            self._maintaining.end()
        if refused := getattr(self.index, "fault", None):
            self._faults.report("persist", refused)

    def learn(self, ask: Ask, answer: str, served: int | None) -> None:
        """Tell the decider the true answer to a request; `served`: the entry that a check verifies, None for a miss.

        Not where the model changed since it was asked.
        """
        if ask.query is not None and ask.generation == self.generation:
            self.watch.answered(ask, answer, self.entries)
            with self._lock:
                self.decider.observe(ask.function, ask.partition, ask.query, ask.candidates, answer, served)
            if isinstance(self.decider, Leaving) and (leaving := self.decider.leaving()):
                known = [
                    (self.entries[key], self.watch.author(key)) for key in leaving if key in self.entries
                ]
                for key in leaving:
                    self.forget(key)
                self.outdated(known)

    def unchecked(self, ask: Ask) -> None:
        """The check of a hit is over, whether it taught something or came to nothing."""
        served = None if ask.decision is None else ask.decision.entry
        decider, fit = self.decider, ask.query is not None and ask.generation == self.generation
        if fit and served is not None and isinstance(decider, Sampling):
            assert ask.query is not None
            with self._lock:
                decider.unchecked(ask.function, ask.partition, ask.query, served)

    def forget(self, entry_id: int, *, indexed: bool = False) -> None:
        """Drop an entry: it is no candidate from now on; its vector is removed in the next batch, also one that is
        `indexed` without an entry."""
        if (entry := self.entries.pop(entry_id, None)) is not None:
            self._talks.drop(entry_id, entry.partition, entry.turns)
            self._retyped.drop(entry_id, entry)
            self.watch.forget(entry_id)
        if indexed or entry is not None:
            self._gone.append(entry_id)

    async def _sweep_all(self, least: int) -> None:
        """Sweep in steps between which the loop runs: what was invalidated or erased may be all there is."""
        while len(self._gone) >= least and self.index is not None:
            self._sweep(least)
            await asyncio.sleep(0)

    def _sweep(self, least: int = SWEEP) -> None:
        if len(self._gone) < least or self.index is None:
            return
        gone = [self._gone.popleft() for _ in range(min(len(self._gone), SWEEP))]
        self.index.remove(np.array(gone, np.int64))
        with self._lock:
            for entry_id in gone:
                self.decider.forget(entry_id)

    def pair(self, entry_id: int, owner: bytes, asked: bytes) -> bytes | None:
        """An entry's request and another, as `reported_pairs` keeps them; None if the entry is not findable."""
        entry = self.entries.get(entry_id)
        return None if entry is None else pair_of(owner, entry.partition, asked, entry)

    def report_wrong(self, entry_id: int, principal: str = "") -> bool:
        """The owner, or a principal, says that this entry's answer is wrong; whether it is to go for everybody."""
        entry = self.entries.get(entry_id)
        if entry is None:
            return True
        accepted, new = self.watch.complaint(entry.partition, entry_id, principal, entry.answer)
        if new:
            with self._lock:
                self.decider.report_wrong(entry_id)
        return accepted

    def stats(self) -> dict[str, Any]:
        """State, number of entries and the decider's statistics."""
        with self._lock:
            decided = self.decider.stats()
        out = {"state": str(self.state), "entries": len(self.entries), "repaired": self.repaired, "decider": decided,
               "joined": self.inflight.joined, "quarantine": self.watch.stats()}  # fmt: skip
        fallbacks = dict(getattr(self.index, "fallbacks", {}))
        out |= {"fallbacks": fallbacks} if fallbacks else {}
        return {**out, "failure": self.failure} if self.failure else out

    async def aclose(self) -> None:
        """Release the model; whatever it makes of that, the directory and the thread are let go, too."""
        served, self.state = self.state is State.READY, State.COLD
        try:
            await (self._end() if served else self._close_index())
        finally:
            self._closed = self.now()

    async def _end(self) -> None:
        async with self._starts.turn():  # nobody starts it again before it is closed
            try:
                await self.let_go(self.embedder)
                if self._searcher is not None:
                    await self._searcher.aclose()
            finally:
                await self._close_index()

    async def _close_index(self) -> None:
        await offload_whole(getattr(self.index, "close", lambda: None))
