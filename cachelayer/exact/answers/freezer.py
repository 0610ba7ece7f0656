"""How answers are kept in process, so that what a caller does to an answer never changes the cache.

Fixed values (str, bytes, numbers, enums, dates, tuples and frozen dataclasses of such) are kept and handed
out as they are. Lists, dicts and subclasses of dict, sets, dataclasses, attrs classes, pydantic models and numpy
arrays are taken apart once and built afresh for each caller. Anything else cannot be kept, unless the owner chose to
share it.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from ...errors import CacheLayerError
from ...types import Reason
from .copies import Copier, atoms_size, classes, reach
from .frozen import OWN, Frozen, NotKeepable, Recent, name_of, new
from .kinds import ATOMS, Kinds, instead
from .shapes import Shapes
from .walk import Walk

MAX_BYTES = 1 << 30


class Freezer:
    """Takes answers apart and knows how to build them again. Thread-safe; owned by a layer.

    `shapes` bounds the number of compiled constructors kept.
    """

    def __init__(self, *, shapes: int = 256) -> None:
        self._kinds = Kinds()
        self._copy = Copier(self._kinds).copy
        self.shapes = Shapes(self._copy, shapes)
        self._recent = Recent(shapes)

    def freeze(self, value: Any, *, share: bool = False, limit: int = MAX_BYTES) -> Frozen:
        """Keep `value`; `share` keeps and hands out the very object, by the owner's choice.

        Raises NotKeepable: for what can be used only once, what is live (a lock, a file, a module), cycles,
        nesting beyond 100 levels, classes whose copies might not be truthful; with `Reason.OVERSIZE` for what
        holds more than `limit` bytes, found early.
        """
        if type(value) in ATOMS:
            frozen: Frozen = new(Frozen, (value, None, OWN + value.__sizeof__()))
            return frozen if frozen[2] <= limit else _within(frozen, limit)
        if type(value) is tuple and ATOMS.issuperset(map(type, value)):
            return _within(new(Frozen, (value, None, OWN + getsizeof(value) + atoms_size(value))), limit)
        try:
            if share:
                return _within(self._shared(value), limit)
            again = self._recent.again(value)
            if again is None:
                again = Walk(self._kinds, self._copy, self.shapes, self._recent, limit).unit(value, 0)
            return again if again[2] <= limit else _within(again, limit)
        except RecursionError:
            raise NotKeepable("the answer contains itself or is nested too deeply") from None
        except RuntimeError as error:
            raise NotKeepable(f"the answer changed while it was being kept: {error}") from None
        except CacheLayerError:
            raise
        except Exception as error:
            raise NotKeepable(
                f"something in the answer raised {type(error).__name__} when it was read"
            ) from error

    def _shared(self, value: Any) -> Frozen:
        for plan in map(self._kinds.__getitem__, classes(value)):
            if plan.once:
                why = f"{name_of(plan.cls)} {plan.why}, shared or not; {instead(plan.cls, once=True)}"
                raise NotKeepable(why)
        return Frozen(value, None, OWN + reach(value, self._kinds))


def _within(frozen: Frozen, limit: int) -> Frozen:
    if frozen.nbytes > limit:
        raise NotKeepable(f"the answer holds {frozen.nbytes} bytes, more than {limit}", Reason.OVERSIZE)
    return frozen
