"""Where entries come from and go to outside this process's memory: a feed, a directory, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..exact.memory.table import Slot
from ..keep.call import Call
from ..keep.invalidation import Invalidation
from ..semantic.types import Ask

Indexed = tuple[Call, Ask, Slot]
"""An answer made in this process that is now findable by meaning."""
Plain = tuple[Call, Slot]
"""An answer made in this process that is found word for word."""


class Elsewhere:
    """The base is nowhere: it does nothing."""

    lasting = False
    """Whether it is a directory, which keeps every answer."""

    def reset(self) -> None:
        """After a fork, what goes on elsewhere is the parent's."""

    async def start(self) -> None:
        """Called once the similar tier serves."""

    async def ready(self, *, physically: bool) -> None:
        """Before anything is declared invalid: get ready to carry it out. Raises if `physically` and impossible."""

    def listen(self, function: str) -> bool:
        """A call of `function` is under way on the running loop; returns whether entries of it wait to be taken in."""
        return False

    def awaits(self, digest: int) -> bool:
        """Whether an entry under this key is held here, to be in memory once a call claims it."""
        return False

    def claim(self, call: Call) -> bool:
        """Take the entry of this call into memory; returns whether it is there."""
        return False

    async def wrote(self, made: Sequence[Indexed], others: Sequence[Plain], asked: float) -> None:
        """A batch of answers was kept: the indexed ones, and the others; `asked`: when the last of them arrived."""

    async def keep_apart(self, pair: bytes) -> None:
        """An answer was wrong for one of two requests: keep them apart everywhere, and after restarts."""

    def gone(self, slot: Slot) -> None:
        """An entry left the memory."""

    def pending(self, declared: Invalidation) -> Sequence[int]:
        """Ids of the entries held here that were declared invalid and not taken in yet."""
        return ()

    async def forgotten(self, declared: Invalidation, *, physically: bool) -> int:
        """What was declared invalid is gone from memory: remove it here; returns how many were not in memory yet."""
        return 0

    async def aclose(self) -> None:
        """Called before the loop ends."""

    def stats(self) -> dict[str, Any]:
        return {}
