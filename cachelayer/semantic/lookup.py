"""Lookups by meaning: the same words at once, else text to vector, vector to candidates, candidates to decision."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..flow import forks
from ..flow.attempt import Faults
from ..flow.background import Background, Busy, later
from ..policy import Budgets
from ..protocols import Decider, Embedder, Glancing, Retyping, VectorIndex
from ..types import Candidate, Decision, Embedded, Query, Reason
from .answers import READ_AFTER, read_ahead
from .conversations import FETCHED, Conversations, gather
from .embed.cache import CachedEmbedder
from .embed.checks import guessed, incomplete, shows_tokens
from .index.searches import Searches
from .inflight import Flight, InFlight
from .lifetime import Lifetime
from .pairs.close_reader import CloseReader
from .quarantine import Watch
from .reported_pairs import ReportedPairs
from .retyped import Retyped
from .types import Ask, Entry, State

NEIGHBOURS = 8
"""Candidates per decision."""
WIDE: Final = 160
"""Rows that are looked through where most of the nearest are dead: these are swept when there are 128."""
_NO_VECTOR: Final = np.zeros(0, np.float32)


class Lookup(Lifetime):
    """The reading half of `SimilarTier`: finds the entry to serve.

    A fault of embedder, index or decider becomes the reason of a miss; `start` alone raises.
    """

    def __init__(self, *, embedder: Embedder, index: VectorIndex | None, decider: Decider, faults: Faults,
                 background: Background, make_index: Callable[[int, str], VectorIndex]) -> None:  # fmt: skip
        super().__init__(embedder, index, make_index, faults, background)
        self.decide_by(decider)
        self.generation = 0
        self.inflight, self.watch = InFlight(), Watch(time.monotonic)
        self.reported = ReportedPairs()
        self._searcher: Searches | None = None
        self.entries: dict[int, Entry] = {}
        self._talks = Conversations()
        self._retyped, self._closely = Retyped(), CloseReader()
        self._gone: deque[int] = deque()
        self._lock = forks.lock()
        self._maintaining = Busy()
        self.repaired = 0
        """How many candidates had lost their entry."""

    def decide_by(self, decider: Decider) -> None:
        """Use this decider from now on."""
        self.decider = decider
        self._retyping = decider if isinstance(decider, Retyping) else None
        self._glancing = decider if isinstance(decider, Glancing) else None

    def again(self, ask: Ask) -> Entry | None:
        """The entry whose text differs only in how it is typed, found by words alone; None if vectors must decide."""
        fit = self.state is State.READY and ask.argument is None and ask.quarantine < 2
        if not fit or (retyping := self._retyping) is None:
            return None
        found = self._faults.attempt_now("verify", self._again, ask, retyping)
        return found if isinstance(found, Entry) else None

    def _again(self, ask: Ask, retyping: Retyping) -> Entry | None:
        if not (known := self._retyped.near(ask, self.entries)):
            return None
        started = time.monotonic()
        near = self._sift(ask, known)
        query = Query(ask.text, _NO_VECTOR, ask.turns, ask.principal, ask.checkable)
        with self._lock:
            decision = retyping.again(ask.function, ask.partition, query, near, ask.max_error_rate)
        if decision is None or decision.entry is None:
            ask.withheld.clear()
            return None
        ask.candidates, ask.decision = near, decision
        ask.timings["verify"] = time.monotonic() - started
        return self._chosen(ask, decision.entry)

    def _sift(self, ask: Ask, found: list[Candidate]) -> list[Candidate]:
        """The candidates that may be served to the asker."""
        return self.watch.sift(ask, self.reported.sift(ask.partition, ask, found))

    def _chosen(self, ask: Ask, entry_id: int) -> Entry | None:
        """The entry, noted as the one that is served."""
        ask.served = self.entries.get(entry_id)
        return ask.served

    async def meet(self, ask: Ask) -> None:
        """Find the neighbours of a request that `again` answered without them, for its check to learn from."""
        if ask.query is not None or self.state is not State.READY:
            return
        served, ask.generation = ask.candidates, self.generation
        if await self._embed(ask, None) is None:
            await self._search(ask, None)
            near = {c.entry for c in ask.candidates}
            ask.candidates = [*(c for c in served if c.entry not in near), *ask.candidates]

    async def find(self, ask: Ask, budgets: Budgets | None) -> Entry | Flight | Reason:
        """The entry to serve, a call in flight to wait for, or why neither; fills `ask`. No budgets: no time limits."""
        if self.state is not State.READY:
            self.warm(ask.arrived)
            return Reason.FAULT if self.state is State.FAILED else Reason.WARMING
        if not ask.text:
            return Reason.EMPTY_TEXT
        ask.generation = self.generation
        if (seen := await self._glance(ask, budgets)) is not None:
            return seen
        reason = await self._embed(ask, None if budgets is None else float(budgets.embed))  # type: ignore[arg-type]
        if reason is None and ask.generation == self.generation:
            reason = await self._search(ask, None if budgets is None else float(budgets.search))  # type: ignore[arg-type]
        if ask.generation != self.generation:  # the model changed: its vector means nothing now
            ask.query = None
            return Reason.WARMING
        found = self._decide(ask) if reason is None else reason
        if ask.query is not None and (doubted := self._doubted(ask, ask.candidates)) is not None:
            if (read := await self._read_closely(ask, ask.query, doubted, budgets)) is None:
                return found
            ask.query = read
            found = self._decide(ask)
        return await self._board(ask, found, budgets) if ask.boards and isinstance(found, Reason) else found

    async def _glance(self, ask: Ask, budgets: Budgets | None) -> Entry | None:
        """The entry on which a guess at the vector, from the text's words alone, is enough to decide."""
        glancing = self._glancing
        if glancing is None or ask.turns or ask.argument is not None or ask.quarantine >= 2:
            return None
        if not glancing.glances(ask.function, ask.partition, ask.max_error_rate, counted=not ask.preview):
            return None
        vector = self._faults.attempt_now("embed", guessed, self.embedder, ask.subject)
        if vector is None or isinstance(vector, Reason):
            return None
        started, budget = time.monotonic(), None if budgets is None else float(budgets.search)  # type: ignore[arg-type]
        found = await self._faults.attempt("search", self._nearest(ask, vector), budget)
        if isinstance(found, Reason) or ask.generation != self.generation:
            return None
        near = self._sift(ask, found[0])
        searched = time.monotonic()
        query = Query(ask.text, vector, (), ask.principal, ask.checkable)

        def decide() -> Decision | None:
            with self._lock:
                return glancing.glance(
                    ask.function, ask.partition, query, near, ask.max_error_rate, counted=not ask.preview
                )

        decision = self._faults.attempt_now("verify", decide)
        if not isinstance(decision, Decision) or decision.entry is None:
            ask.withheld.clear()
            return None
        self.repaired += found[1]
        ask.candidates, ask.decision = near, decision
        ask.timings["search"], ask.timings["verify"] = searched - started, time.monotonic() - searched
        return self._chosen(ask, decision.entry)

    async def _board(self, ask: Ask, reason: Reason, budgets: Budgets | None) -> Flight | Reason:
        """Join a call in flight by the rules for entries, or open one; in one step, so that equals never both open."""
        if (query := ask.query) is None:
            return reason
        joined = self._faults.attempt_now("verify", self._join, ask, query.first)
        if isinstance(joined, Candidate):
            if (read := await self._read_closely(ask, query.first, joined, budgets)) is None:
                return reason
            joined = self._faults.attempt_now("verify", self._join, ask, read)
        if isinstance(joined, Flight):
            return joined
        ask.flight = self.inflight.begin(ask.partition, query, ask.generation)
        return reason

    def _join(self, ask: Ask, query: Query) -> Flight | Candidate | None:
        """The flight to join, or the candidate beside which the request is read closely before that is decided."""
        near = self.inflight.near(ask.partition, query, ask.generation)
        fit = self.reported.sift(ask.partition, query, [one for one, _ in near])
        if not (near := [(one, flight) for one, flight in near if one in fit]):
            return None
        with self._lock:
            flight, ask.decision = self.inflight.judge(
                self.decider, ask.function, query, near, ask.candidates, ask.max_error_rate
            )
        return flight or self._doubted(ask, [one for one, _ in near])

    async def _embed(self, ask: Ask, budget: float | None) -> Reason | None:
        started = time.monotonic()
        reading = later(
            READ_AFTER, self._faults.attempt_now, "verify", read_ahead, self.decider, self._lock, ask.text
        )
        try:
            embedded = await self._faults.attempt("embed", self.vectors([ask.subject], ask.tenant), budget)
        finally:
            reading.cancel()
        ask.timings["embed"] = time.monotonic() - started
        if isinstance(embedded, Reason):
            return embedded
        made = self._faults.attempt_now("embed", self._query, ask, embedded)
        if made is None:
            made = Reason.BAD_VECTOR
            if not embedded.complete[0]:
                made = await self._faults.attempt("embed", incomplete(self.embedder, ask.text), budget)
        ask.query, lost = (None, made) if isinstance(made, Reason) else (made, None)
        return lost

    def vectors(self, texts: Sequence[Any], tenant: str | None) -> Awaitable[Embedded]:
        """What a tenant asks, embedded; remembered for it alone."""
        embedder = self.embedder
        return (
            embedder.embed(texts, tenant) if isinstance(embedder, CachedEmbedder) else embedder.embed(texts)
        )

    def _query(self, ask: Ask, embedded: Embedded) -> Query | None:
        vector = np.asarray(embedded.vectors[0], np.float32)
        if not embedded.complete[0] or not 0.99 < float(vector.dot(vector)) < 1.01:
            return None
        if self.index is None:  # of an embedder that knows its dimension by its first vector
            self.index = self.make_index(vector.size, self.embedder.identity)
        readable = ask.argument is None and shows_tokens(self.embedder)
        turns = ask.turns and self._talks.shared(ask.partition, ask.turns)
        return Query(ask.text, vector, turns, ask.principal, ask.checkable, readable)

    async def _search(self, ask: Ask, budget: float | None) -> Reason | None:
        started = time.monotonic()
        assert ask.query is not None
        found = await self._faults.attempt("search", self._nearest(ask, ask.query.vector), budget)
        ask.timings["search"] = time.monotonic() - started
        if isinstance(found, Reason):
            return found
        near, lost, none = found
        self.repaired += lost
        near = self.reported.sift(ask.partition, ask, near)
        ask.candidates = self.watch.sift(ask, near)
        return None if ask.candidates else Reason.QUARANTINED if near else none

    async def _nearest(self, ask: Ask, vector: NDArray[np.float32]) -> tuple[list[Candidate], int, Reason]:
        """See `gather`. Where most of the nearest rows have no entry any more, or one too old, the next ones count."""
        assert self.index is not None
        search = partial(self._searches(self.index).search, ask.partition, vector)
        scores, ids = await search(FETCHED if ask.turns else NEIGHBOURS)
        found = gather(ask, scores, ids, self.entries, self._talks, NEIGHBOURS)
        if len(found[0]) > NEIGHBOURS // 2 or ids[-1] < 0:
            return found
        return gather(ask, *await search(WIDE), self.entries, self._talks, NEIGHBOURS)

    def _searches(self, index: VectorIndex) -> Searches:
        """The queue of searches in the index, made at the first one."""
        if self._searcher is None or self._searcher.index is not index:
            self._searcher = Searches(index)
        return self._searcher

    def _decide(self, ask: Ask) -> Entry | Reason:
        query = ask.query
        assert query is not None
        started = time.monotonic()

        def decide() -> Decision:
            with self._lock:
                choose = self.decider.preview if ask.preview else self.decider.decide
                return choose(ask.function, ask.partition, query, ask.candidates, ask.max_error_rate)

        decision = self._faults.attempt_now("verify", decide)
        ask.timings["verify"] = ask.timings.get("verify", 0.0) + time.monotonic() - started
        if isinstance(decision, Reason):
            return decision
        ask.decision = decision
        if decision.entry is None:
            return decision.reason or Reason.UNSURE
        return self._chosen(ask, decision.entry) or Reason.ABSENT

    @staticmethod
    def _doubted(ask: Ask, near: Sequence[Candidate]) -> Candidate | None:
        """The candidate beside which the last decision wants the request to be read closely."""
        doubted = None if ask.decision is None else ask.decision.doubted
        return None if doubted is None else next((c for c in near if c.entry == doubted), None)

    async def _read_closely(
        self, ask: Ask, query: Query, chosen: Candidate, budgets: Budgets | None
    ) -> Query | None:
        """The query to judge again, read closely beside `chosen` if that succeeds; None if the model changed."""
        started, budget = time.monotonic(), None if budgets is None else float(budgets.embed)  # type: ignore[arg-type]
        reading = self._closely.read(self.embedder, query, chosen, ask.tenant)
        read = await self._faults.attempt("verify", reading, budget)
        ask.timings["verify"] = ask.timings.get("verify", 0.0) + time.monotonic() - started
        if ask.generation != self.generation:
            return None
        return read if isinstance(read, Query) else replace(query, readable=False, before=query.first)
