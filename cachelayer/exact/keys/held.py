"""Copies of arguments, for a call that is made once its caller has gone on and may change what it gave."""

from __future__ import annotations

import copy
from collections.abc import Sized
from typing import Any

from ..answers.fields import fields
from ..answers.kinds import ATOMS


def held(value: Any) -> Any:
    """`value` as it is now: containers and objects copied, with all they hold.

    The same object is what cannot be copied (a lock, an open file), and what holds nothing that could change, as the
    markers do that are told by `is`.
    """
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is list or kind is tuple:
        return kind(map(held, value))
    if kind is dict:
        return {name: held(item) for name, item in value.items()}
    if not isinstance(value, Sized) and not fields(value):
        return value
    try:
        return copy.deepcopy(value)
    except (TypeError, RuntimeError, copy.Error):
        return value
