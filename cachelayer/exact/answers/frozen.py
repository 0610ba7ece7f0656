"""An answer as it is stored in memory, and the reasons why one cannot be."""

from __future__ import annotations

from sys import getsizeof
from typing import Any, NamedTuple

from ...errors import CacheLayerError
from ...types import Reason
from .copies import atoms_size
from .shapes import LARGE, Made, Thaw

OWN = getsizeof((0, 0, 0)) + getsizeof(1 << 20)
"""Bytes of a `Frozen` itself and its count."""


new: Any = tuple.__new__
"""Makes a named tuple in half the time."""
_COLLECTED = getsizeof([]) - [].__sizeof__()
"""Bytes that the collector adds to a container."""
_OWN_LEAVES = OWN + _COLLECTED


class NotKeepable(CacheLayerError):
    """This answer cannot be kept; the message says why and names the remedy. It is returned uncached."""

    def __init__(self, detail: str, reason: Reason = Reason.NOT_KEEPABLE) -> None:
        super().__init__(detail)
        self.detail, self.reason = detail, reason


class Frozen(NamedTuple):
    """An answer as it is kept."""

    value: Any
    """The answer itself where `thaw` is None, else what `thaw` builds one from. Not to be changed."""
    thaw: Thaw | None
    nbytes: int
    """Bytes held, Python's object headers and this tuple included; not what entries of one shape share."""

    def answer(self) -> Any:
        """The answer, the caller's own. The hot path: `value if thaw is None else thaw(value)`."""
        return self.value if self.thaw is None else self.thaw(self.value)


class Recent:
    """What was compiled last for values with the same keys, or of the same class: tried before any walk."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._made: dict[Any, Made] = {}

    def again(self, value: Any) -> Frozen | None:
        """`value` frozen, where it has the shape expected of it."""
        made = self._made.get(_hint(value))
        if made is None or (extractor := made.extractor) is None:
            return None
        leaves = extractor.take(value)
        if leaves is None:
            return None
        # `__sizeof__` takes a sixth of the time of `getsizeof`, and is the same for all that the collector ignores
        held = _OWN_LEAVES + leaves.__sizeof__() + sum([leaf.__sizeof__() for leaf in leaves])
        for i in extractor.copies:
            held += atoms_size(leaves[i]) + _COLLECTED
        frozen: Frozen = new(Frozen, (leaves, made.thaw, held))
        return frozen

    def learn(self, value: Any, made: Made) -> None:
        if len(self._made) >= self.capacity:
            self._made.clear()
        self._made[_hint(value)] = made


def _hint(value: Any) -> Any:
    cls = type(value)
    return tuple(value) if cls is dict and len(value) <= LARGE else cls


def name_of(cls: type) -> str:
    """The full name of a class, for a message."""
    return f"{cls.__module__}.{cls.__qualname__}"
