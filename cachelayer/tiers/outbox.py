"""What the shared store could not be told because of a fault; it is told once it answers again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from ..flow.attempt import Faults
from ..types import Reason

T = TypeVar("T")
MOST = 1000
"""Items that may wait, the latest."""
BATCH = 256
"""Items told at once."""


class Outbox(Generic[T]):
    """Items by key, each of which waits until `tell` took it. `patience`: seconds that one call of `tell` may take."""

    def __init__(
        self, stage: str, tell: Callable[[Sequence[T]], Awaitable[None]], faults: Faults, patience: float
    ) -> None:
        self._stage, self._tell, self._faults, self._patience = stage, tell, faults, patience
        self._items: dict[bytes, T] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Mapping[bytes, T]) -> None:
        self._items |= items
        for key in list(self._items)[:-MOST]:
            self._items.pop(key, None)
            self.dropped += 1

    def drop(self, doomed: Callable[[bytes, T], bool]) -> None:
        """Leave out what need not be told any more."""
        for key, item in list(self._items.items()):
            if doomed(key, item):
                self._items.pop(key, None)

    async def tell(self) -> None:
        """Tell the store, until a batch fails."""
        done: object = None
        while self._items and not isinstance(done, Reason):
            some = dict(islice(self._items.items(), BATCH))
            done = await self._faults.attempt(self._stage, self._tell([*some.values()]), self._patience)
            if not isinstance(done, Reason):
                self.drop(partial(_among, some))


def _among(some: Mapping[bytes, object], key: bytes, item: object) -> bool:
    return some.get(key) is item
