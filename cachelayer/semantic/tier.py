"""The similar tier: text to vector, vector to candidates of the same scope, candidates to a decision."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..flow.attempt import Faults
from ..flow.background import Background, later, offload
from ..policy import Budgets
from ..protocols import Decider, Embedder, VectorIndex
from ..types import Decision, Embedded, Query, Reason
from .answers import READ_AFTER, leave, read_ahead, tell
from .asks import Ask, Entry, State
from .conversations import FETCHED, Conversations, gather
from .index.searches import Searches
from .inflight import Flight, InFlight
from .quarantine import Watch
from .verifier import load

NEIGHBOURS = 8


class SimilarTier:
    """Embedder, index and decider behind one door. Faults are reasons; nothing here reaches a caller as an error."""

    def __init__(self, *, embedder: Embedder, index: VectorIndex | None, decider: Decider, faults: Faults,
                 background: Background, make_index: Callable[[int, str], VectorIndex]) -> None:  # fmt: skip
        self.embedder, self.decider, self.index = embedder, decider, index
        self.make_index, self.generation = make_index, 0
        self.inflight, self.watch = InFlight(), Watch(time.monotonic)
        self._door: Searches | None = None
        self.restore: Callable[[], Awaitable[None]] | None = None
        """What fills the index before the tier serves."""
        self._faults, self._background = faults, background
        self.entries: dict[int, Entry] = {}
        self._talks = Conversations()
        self._gone: deque[int] = deque()
        self._lock = threading.Lock()
        self.state = State.COLD
        self._maintaining = False
        self.repaired = 0
        """Candidates whose entry was gone."""
        self.failure = ""

    async def start(self) -> None:
        """Load the model. Raises what the embedder raises; until done lookups are misses with reason WARMING."""
        if self.state is State.READY:
            return
        self.state = State.WARMING
        try:
            await self.embedder.start()
            await offload(load)
            if self.index is None and self.embedder.dimension:
                self.index = self.make_index(self.embedder.dimension, self.embedder.identity)
                await offload(getattr(self.index, "load", lambda: None))
            if self.restore is not None:
                await self.restore()
        except BaseException as fault:
            self.state, self.failure = State.FAILED, f"{type(fault).__name__}: {fault}"
            raise
        self.state = State.READY

    def warm(self) -> None:
        """Begin to load the model behind the callers' backs, once."""
        if self.state is State.COLD:
            self.state = State.WARMING
            if not self._background.spawn(self._warm):
                self.state = State.COLD

    async def _warm(self) -> None:
        await self._faults.attempt("warm-up", self.start(), None)

    async def find(self, ask: Ask, budgets: Budgets | None) -> Entry | Flight | Reason:
        """The entry to serve, one in flight, or why none; fills `ask`. Without budgets it takes its time."""
        if self.state is not State.READY:
            self.warm()
            return Reason.FAULT if self.state is State.FAILED else Reason.WARMING
        if not ask.text:
            return Reason.EMPTY_TEXT
        ask.generation = self.generation
        reason = await self._embed(ask, None if budgets is None else float(budgets.embed))  # type: ignore[arg-type]
        if reason is None and ask.generation == self.generation:
            reason = await self._search(ask, None if budgets is None else float(budgets.search))  # type: ignore[arg-type]
        if ask.generation != self.generation:  # the model changed: its vector means nothing now
            ask.query = None
            return Reason.WARMING
        found = self._decide(ask) if reason is None else reason
        return self._board(ask, found) if ask.boards and isinstance(found, Reason) else found

    def _board(self, ask: Ask, reason: Reason) -> Flight | Reason:
        """Join a flight by the rules for entries, or open one's own: in one step, so that no two of a kind take off."""
        if (query := ask.query) is None:
            return reason
        joined = self._faults.attempt_now("verify", self._join, ask, query)
        if isinstance(joined, Flight):
            return joined
        ask.flight = self.inflight.begin(ask.partition, query)
        return reason

    def _join(self, ask: Ask, query: Query) -> Flight | None:
        if not (near := self.inflight.near(ask.partition, query)):
            return None
        with self._lock:
            flight, ask.decision = self.inflight.judge(
                self.decider, ask.function, query, near, ask.max_error_rate
            )
        return flight

    async def _embed(self, ask: Ask, budget: float | None) -> Reason | None:
        started = time.monotonic()
        reading = later(
            READ_AFTER, self._faults.attempt_now, "verify", read_ahead, self.decider, self._lock, ask.text
        )
        try:
            embedded = await self._faults.attempt("embed", self.embedder.embed([ask.subject]), budget)
        finally:
            reading.cancel()
        ask.timings["embed"] = time.monotonic() - started
        if isinstance(embedded, Reason):
            return embedded
        made = self._faults.attempt_now("embed", self._query, ask, embedded)
        if made is None:
            made = Reason.BAD_VECTOR if embedded.complete[0] else Reason.TOO_LONG
        ask.query, lost = (None, made) if isinstance(made, Reason) else (made, None)
        return lost

    def _query(self, ask: Ask, embedded: Embedded) -> Query | None:
        vector = np.asarray(embedded.vectors[0], np.float32)
        if not embedded.complete[0] or not 0.99 < float(vector.dot(vector)) < 1.01:
            return None
        if self.index is None:  # of an embedder that knows its dimension by its first vector
            self.index = self.make_index(vector.size, self.embedder.identity)
        tokens = embedded.tokens[0] if embedded.tokens is not None else None
        return Query(ask.text, vector, tokens, ask.turns, ask.principal, ask.checkable)

    async def _search(self, ask: Ask, budget: float | None) -> Reason | None:
        assert ask.query is not None and self.index is not None
        started = time.monotonic()
        searches, k = self._searches(self.index), FETCHED if ask.turns else NEIGHBOURS
        search = searches.search(ask.partition, ask.query.vector, k)
        found = await self._faults.attempt("search", search, budget)
        ask.timings["search"] = time.monotonic() - started
        if isinstance(found, Reason):
            return found
        near, lost = gather(ask, *found, self.entries, self._talks, NEIGHBOURS)
        self.repaired += lost
        ask.candidates = self.watch.sift(ask, near)
        return None if ask.candidates else Reason.QUARANTINED if near else Reason.NO_CANDIDATE

    def _searches(self, index: VectorIndex) -> Searches:
        """The door to the index, made when it is first searched."""
        if self._door is None or self._door.index is not index:
            self._door = Searches(index)
        return self._door

    def _decide(self, ask: Ask) -> Entry | Reason:
        query = ask.query
        assert query is not None
        started = time.monotonic()

        def decide() -> Decision:
            with self._lock:
                choose = self.decider.preview if ask.preview else self.decider.decide
                return choose(ask.function, ask.partition, query, ask.candidates, ask.max_error_rate)

        decision = self._faults.attempt_now("verify", decide)
        ask.timings["verify"] = time.monotonic() - started
        if isinstance(decision, Reason):
            return decision
        ask.decision = decision
        if decision.entry is None:
            return decision.reason or Reason.UNSURE
        return self.entries.get(decision.entry) or Reason.ABSENT

    async def keep(self, ask: Ask, entry_id: int, answer: str | None, value: Any) -> bool:
        """Make a kept answer findable, and learn from it; False where it cannot be found by meaning."""
        if self.state is not State.READY or not ask.text or not self.watch.may_write(ask):
            return False
        if ask.query is None or ask.generation != self.generation:
            ask.generation = self.generation
            ask.query = self._query(ask, await self.embedder.embed([ask.subject]))
            if ask.query is None or ask.generation != self.generation:
                return False
        self._sweep()
        answer = await tell(self.decider, self.embedder, answer, ask)
        return self._admit(ask, entry_id, answer, value)

    async def adopt(
        self, ask: Ask, entry_id: int, answer: str | None, value: Any, vector: NDArray[np.float32] | None
    ) -> bool:
        """Make an entry findable that was made elsewhere or earlier; one without a vector is embedded anew."""
        assert self.index is not None
        held = getattr(self.index, "vector", lambda key: None)(entry_id)
        known = vector if held is None else held
        if known is not None and known.shape == (self.embedder.dimension,):
            ask.query = Query(ask.text, known, None, ask.turns, ask.principal)
        else:
            ask.query = self._query(ask, await self.embedder.embed([ask.text]))
        answer = await tell(self.decider, self.embedder, answer, ask)
        return ask.query is not None and self._admit(ask, entry_id, answer, value, indexed=held is not None)

    def _admit(
        self, ask: Ask, entry_id: int, answer: str | None, value: Any, *, indexed: bool = False
    ) -> bool:
        assert self.index is not None and ask.query is not None
        self.entries[entry_id] = Entry(ask.function, ask.partition, ask.text, ask.turns, answer, value)
        self._talks.add(entry_id, ask.partition, ask.turns, ask.query.vector)
        if not indexed:
            self.index.add(ask.partition, np.array([entry_id], np.int64), ask.query.vector[None])
        self.watch.made(entry_id, ask.principal)
        if answer is not None:
            self.learn(ask, answer, None)
            with self._lock:
                self.decider.stored(entry_id, ask.function, ask.partition, ask.query, answer)
        return True

    def forget_texts(self) -> None:
        """Sweep the dead out of the index now, and forget every remembered text: an erased tenant's must not stay."""
        self._sweep(least=1)
        for part, forget in ((self.embedder, "clear"), (self.decider, "forget_texts")):
            getattr(part, forget, lambda: None)()

    def replace(self, embedder: Embedder, index: VectorIndex, decider: Decider, talks: Conversations,
                gone: Iterable[int]) -> None:  # fmt: skip
        """Serve with another model from now on; `gone` left while its index was made."""
        with self._lock:
            self.embedder, self.index, self.decider = embedder, index, decider
            self._talks = talks
            self.generation += 1
        self._gone.extend(gone)

    def knows(self, entry_id: int) -> bool:
        """Whether the entry is findable."""
        return entry_id in self.entries

    @property
    def due(self) -> bool:
        """Whether the index has upkeep to do."""
        return bool(getattr(self.index, "due", False)) and not self._maintaining

    async def maintain(self) -> None:
        """Let the index grow its graphs and shed its dead, off the loop and beside the searches."""
        self._maintaining = True
        try:
            await offload(self.index.maintain)  # type: ignore[union-attr]
        finally:
            self._maintaining = False

    def learn(self, ask: Ask, answer: str, served: int | None) -> None:
        """Tell the decider a true answer to what was asked."""
        if ask.query is not None:
            self.watch.heard(ask, answer)
            with self._lock:
                self.decider.observe(ask.function, ask.partition, ask.query, ask.candidates, answer, served)
            leave(self.decider, self.forget)

    def forget(self, entry_id: int) -> None:
        """An entry is gone: never again a candidate; its vector follows in the next batch."""
        if (entry := self.entries.pop(entry_id, None)) is not None:
            self._talks.drop(entry_id, entry.partition, entry.turns)
            self._gone.append(entry_id)
            self.watch.forget(entry_id)

    def _sweep(self, least: int = 64) -> None:
        if len(self._gone) < least or self.index is None:
            return
        gone = [self._gone.popleft() for _ in range(len(self._gone))]
        self.index.remove(np.array(gone, np.int64))
        with self._lock:
            for entry_id in gone:
                self.decider.forget(entry_id)

    def report_wrong(self, entry_id: int) -> None:
        """The owner says that what this entry answered was wrong."""
        with self._lock:
            self.decider.report_wrong(entry_id)

    def stats(self) -> dict[str, Any]:
        """State, size and what the decider knows."""
        with self._lock:
            decided = self.decider.stats()
        out = {"state": str(self.state), "entries": len(self.entries), "repaired": self.repaired, "decider": decided,
               "joined": self.inflight.joined, "quarantine": self.watch.stats()}  # fmt: skip
        return {**out, "failure": self.failure} if self.failure else out

    async def aclose(self) -> None:
        """Release the model."""
        if self.state is State.READY:
            await self.embedder.aclose()
            if self._door is not None:
                await self._door.aclose()
            await offload(getattr(self.index, "close", lambda: None))
        self.state = State.COLD
