"""Locks for a process that forks while its threads work: in the child, those threads are not there to release any."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

T = TypeVar("T")
_free: WeakSet[Any] = WeakSet()
_whole: WeakSet[Any] = WeakSet()
_anew: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_forking = threading.Lock()
_held: list[Any] = []


def lock() -> threading.Lock:
    """A lock that a forked child finds free. What it guards may be half changed then, and must tolerate that."""
    _watch()
    made = threading.Lock()
    _free.add(made)
    return made


def whole_lock() -> threading.RLock:
    """A lock that a fork waits for, so that the child finds what it guards in a consistent state.

    Whoever holds it must not wait for another such lock.
    """
    _watch()
    made = threading.RLock()
    with _forking:
        _whole.add(made)
    return made


def anew(owner: T, reset: Callable[[T], None]) -> None:
    """Call `reset(owner)` in every forked child, as long as `owner` lives."""
    _watch()
    with _forking:
        _anew[owner] = reset


@cache
def _watch() -> None:
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)


def _before() -> None:
    _forking.acquire()
    _held.extend(_whole)
    for one in _held:
        one.acquire()


def _after() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


def _in_child() -> None:
    for one in _free:
        one._at_fork_reinit()
    _after()
    for owner, reset in tuple(_anew.items()):
        reset(owner)
