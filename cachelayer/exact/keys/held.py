"""Copies of arguments, for a call that is made once its caller has gone on and may change what it gave."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import numpy as np

from ..answers.copies import Copier
from ..answers.kinds import ATOMS, Kind, Kinds, Plan

MOST = 4 << 20
"""Bytes that an argument's copy may take where the key need not hold it: a model's weights stay where they are."""


class _TooLarge(Exception):
    """A copy would take more than it may."""


class _Holder(Copier):
    """Copies what answers are copied of; all else (clients, sessions, locks, markers) stays the same object."""

    def __init__(self, kinds: Kinds, most: int | None) -> None:
        super().__init__(kinds)
        self._left = most

    def copy(self, value: Any) -> Any:
        if type(value) in ATOMS:
            return value
        if self._left is not None:
            self._left -= value.nbytes if type(value) is np.ndarray else getsizeof(value)
            if self._left < 0:
                raise _TooLarge
        return super().copy(value)

    def _special(self, value: Any, plan: Plan) -> Any:
        return value if plan.kind == Kind.REFUSED else super()._special(value, plan)


def held(value: Any, kinds: Kinds, most: int | None = None) -> Any:
    """`value` as it is now: containers, arrays, dataclasses and models copied, with all that they hold.

    The same object where its class is none of those, or where the copy would take more than `most` bytes.
    """
    try:
        return _Holder(kinds, most).copy(value)
    except (_TooLarge, RecursionError):
        return value
