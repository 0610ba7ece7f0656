"""Answers that their callers have before they are kept: a caller was told that it is kept, so it is, a turn later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

from .call import Call, Landing
from .flow.singleflight import SingleFlight
from .keeper import Keeper
from .types import Source


class Promised:
    """Keeps answers in the loop's next turn. `kept` is told of each; who asks in between shares its flight."""

    def __init__(
        self,
        keeper: Keeper,
        flights: SingleFlight,
        key: Callable[[Call], Hashable],
        kept: Callable[[Call, Landing], None],
    ) -> None:
        self._keeper, self._flights, self._key, self._kept = keeper, flights, key, kept

    def landing(self, call: Call, answer: Any, seconds: float) -> Landing:
        """The landing of an answer that nothing stands against keeping (see `Keeper.judge`)."""
        landing = Landing(Source.BACKEND, call)
        landing.answer, landing.seconds, landing.pending = answer, seconds, True
        landing.frozen = self._keeper.freeze_chunk(call, answer)
        asyncio.get_running_loop().call_soon(self._keep, call, landing)
        return landing

    def _keep(self, call: Call, landing: Landing) -> None:
        keeper = self._keeper
        landing.pending = False
        try:
            assert landing.frozen is not None
            keeper.put(call, landing, landing.frozen, landing.answer, keeper.clock.monotonic())
            self._kept(call, landing)
        finally:
            self._flights.close(self._key(call), landing)
