"""More documents fetched than were asked for, so that similar queries find their own best among them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from ..checks import whole
from ..flow.attempt import Held
from ..keep.call import Call
from ..path.engine import Engine
from .documents import Reading
from .ranking import Ranking, named

BATCH = 8
"""Documents embedded at a time, in the background, so that queries come in between."""

PATIENCE = 3
"""Times in a row that a retriever tells what is wanted and fails when asked for more, after which it is not asked."""


class Wide:
    """What one retriever found beyond what was asked for, and whom it may serve.

    An answer depends on the documents that it was given, and an exact hit gives those that were asked for. So the rest
    of a result is no part of its entry: before it serves a similar query it is seen that none of it was invalidated.
    """

    def __init__(
        self,
        times: int,
        *,
        on: bool,
        reading: Reading,
        engine: Engine,
        tags: Callable[[Sequence[Any]], list[str]],
    ) -> None:
        whole("wide", times, 1, ": k times as many are fetched")
        self._times, self._reading, self._engine, self._tags = times, reading, engine, tags
        self._failed, self._down = 0, False
        self._run = os.urandom(8).hex()
        self.ranking = Ranking(on=on and times > 1)

    def fetched(self, k: int | None) -> int | None:
        """How many documents to ask for where `k` are wanted."""
        return k * self._times if k is not None and self.ranking.on and not self._down else k

    async def told(
        self, more: Awaitable[list[Any]] | None, plain: Callable[[], Awaitable[list[Any]]]
    ) -> list[Any]:
        """What a retriever tells, asked for more than is wanted by `more`, and where that fails for what is wanted.

        The caller is not to suffer from our asking: one that fails again and again is asked for no more than is wanted,
        and one that is down, which is no fault of the cache, waited for once until it answers.
        """
        held = Held()
        if more is not None:
            with held:
                documents = await more
                self._failed = 0
                return documents
        self._down = self._down or held.fault is not None
        documents = await plain()
        self._down = False
        if held.fault is not None:
            self._refused(held.fault)
        return documents

    def _refused(self, fault: BaseException) -> None:
        """A retriever that failed when it was asked for more told what was wanted: so it is not down."""
        self._engine.faults.report("retrieve", fault)
        self._failed += 1
        if self._failed == PATIENCE:
            self._times = 1

    def names(self, documents: Sequence[Any]) -> list[str]:
        """What documents are called where results are compared and ranked."""
        texts = [self._reading.text(one) if self.ranking.on else None for one in documents]
        return [named(*one) for one in zip(self._reading.ids(documents), texts, strict=True)]

    def now(self) -> list[Any]:
        """This moment in the order of invalidations, of this process alone."""
        return [self._run, os.getpid(), self._engine.keeper.epoch]

    def found(self, documents: Sequence[Any]) -> None:
        """Learn the vectors of documents that are new here; where they do not tell their text, go without."""
        if not self.ranking.on:
            return
        texts = [self._reading.text(document) for document in documents]
        known = [text for text in texts if text]
        if len(known) < len(texts):
            self.ranking.on = False
            return
        unknown = self.ranking.unknown(self.names(documents), known)
        if unknown:
            self._engine.tiers.background.spawn(partial(self._learn, unknown))

    async def _learn(self, documents: Sequence[tuple[str, str]]) -> None:
        tier = self._engine.tiers.similar
        if tier is None:
            return
        for at in range(0, len(documents), BATCH):
            some = documents[at : at + BATCH]
            made = await self._engine.faults.attempt(
                "embed", tier.embedder.embed([text for _, text in some]), None
            )
            vectors = getattr(made, "vectors", None)
            if vectors is not None:
                self.ranking.learn(some, vectors)

    def best(self, found: dict[str, Any], call: Call) -> list[Any] | None:
        """A similar query's result in this call's order; None if it cannot be told, or is not known to hold."""
        documents = found["documents"]
        if not self.ranking.on:
            return list(documents)
        query = None if call.similar is None else call.similar.query
        places = None if query is None else self.ranking.order(self.names(documents), query.vector)
        rest = [] if found["asked"] is None else documents[found["asked"] :]
        if places is None or (rest and not self._holds(found["since"], rest)):
            return None
        return [documents[place] for place in places]

    def _holds(self, since: Sequence[Any], rest: Sequence[Any]) -> bool:
        *process, epoch = since
        keeper = self._engine.keeper
        if process != self.now()[:-1]:
            return False
        return epoch == keeper.epoch or not keeper.invalidated_since(epoch, tuple(self._tags(rest)), b"", -1)
