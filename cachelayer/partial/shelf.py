"""Answers that somebody else makes: a framework looks them up before it calls its model, and puts them here after."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ..exact.memory.slot import Slot
from ..flow.together import together
from ..keep.call import Call, Landing
from ..keep.scope import around
from ..types import Reason, Source, Undivided
from ..wrap.handles import Handle

AT_ONCE = 16
"""Lookups of one batch that are beyond the process at a time: one trip for all, and each within its budget."""
STEP: Final = 2 * AT_ONCE
"""Lookups of one batch between two turns of the loop: two milliseconds."""


class Absent:
    """What a lookup says that found nothing (an answer may well be None); with it the answer is put."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    def __repr__(self) -> str:
        return "ABSENT"


class Shelf(Undivided):
    """One wrapped function's tiers without its backend: `look`, then `put` what was made meanwhile.

    `cached`: the function as the layer returned it; it is never called. An invalidation that comes between the two is
    heeded, whoever else asks the same meanwhile: what was looked up before it is not kept.
    """

    def __init__(self, cached: Any) -> None:
        self.handle: Handle = cached.handle
        self._engine = self.handle.engine

    async def look(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Slot | None] | Absent:
        """The answer that any tier holds and the entry of exactly this request, or Absent."""
        call = self.handle.now(args, kwargs)
        found = self._remembered(call)
        if found is None and self._asks_further(call):
            found = await self._engine.tiers.find(call, wait=False)
        return self._result(call, found)

    def look_now(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Slot | None] | Absent:
        """`look` for plain functions: the caller's thread waits for what lies beyond the process."""
        call = self.handle.now(args, kwargs)
        found = self._remembered(call)
        if found is None and self._asks_further(call) and not self._engine.portal.here:
            with self._engine.faults.guard("lookup"):
                found = self._engine.portal.run(self._engine.tiers.find(call, wait=False))
        return self._result(call, found)

    async def look_each(self, *requests: tuple[Any, ...]) -> list[tuple[Any, Slot | None] | Absent]:
        """`look` for several requests, each given by its arguments; beyond the process side by side."""
        results: list[tuple[Any, Slot | None] | Absent] = []
        for at in range(0, len(requests), STEP):
            if at:
                await asyncio.sleep(0)
            calls = [self.handle.now(args, {}) for args in requests[at : at + STEP]]
            results += await self._each(calls, [self._remembered(call) for call in calls])
        return results

    def look_each_now(self, *requests: tuple[Any, ...]) -> list[tuple[Any, Slot | None] | Absent]:
        """`look_each` for plain functions."""
        calls = [self.handle.now(args, {}) for args in requests]
        found = [self._remembered(call) for call in calls]
        if not self._engine.portal.here and any(
            landing is None and self._asks_further(call) for call, landing in zip(calls, found, strict=True)
        ):
            with self._engine.faults.guard("lookup"):
                results: list[tuple[Any, Slot | None] | Absent] = self._engine.portal.run(
                    self._each(calls, found)
                )
                return results
        return list(map(self._result, calls, found))

    async def _each(
        self, calls: list[Call], found: list[Landing | None]
    ) -> list[tuple[Any, Slot | None] | Absent]:
        further = [i for i, call in enumerate(calls) if found[i] is None and self._asks_further(call)]
        for at in range(0, len(further), AT_ONCE):
            some = further[at : at + AT_ONCE]
            landings = await together(self._engine.tiers.find(calls[i], wait=False) for i in some)
            for i, landing in zip(some, landings, strict=True):
                found[i] = landing
        return list(map(self._result, calls, found))

    def asked(self, *args: Any) -> Absent:
        """With it an answer is put that nobody looked up."""
        call = self.handle.now(args, {})
        call.epoch = self._engine.keeper.epoch
        return Absent(call)

    def called(self) -> None:
        """Count a call of the backend."""
        self.handle.function.stats.backend_calls += 1

    def put(self, answer: Any, asked: Absent, *, share: int = 1) -> Reason | None:
        """Keep an answer before anybody has it; why not, where it is not kept. Safe in every thread.

        `share`: of how many answers that one call made; each took its part of the time.
        """
        call, scope, engine = asked.call, self.handle.scope, self._engine
        if call.reason is not None:
            return call.reason
        call.build = around(scope)  # what was used before it was made
        if call.build is not None:
            engine.noting.inherit(call, call.build)
        now = engine.clock.monotonic()
        landing: Landing = engine.keep(call, answer, now - (now - call.arrived) / share)
        engine.delivery.answer(call, landing, True)
        return landing.stored

    def _remembered(self, call: Call) -> Landing | None:
        if call.reason is not None:
            return None
        keeper = self._engine.keeper
        call.epoch = keeper.epoch
        found = keeper.recall(call, call.arrived)
        return found if found is not None and found.source is not Source.STALE else None

    def _asks_further(self, call: Call) -> bool:
        return call.reason is None and self._engine.tiers.may_answer(call)

    def _result(self, call: Call, found: Landing | None) -> tuple[Any, Slot | None] | Absent:
        deliver = self._engine.delivery.answer
        if found is not None and found.source is not Source.STALE:
            return deliver(call, found, True), None if found.match == "similar" else found.slot
        if call.reason is not None:
            deliver(call, Landing(Source.BYPASS), True)
        return Absent(call)
