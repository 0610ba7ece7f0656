"""A process that forks while its threads are at work leaves its child nothing that is locked for ever or half done."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable

import pytest
from forked import in_a_fork

from cachelayer import CacheLayer, Reason
from cachelayer.exact.memory.invariants import check
from cachelayer.flow import forks
from cachelayer.testing import WordEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def holds_in_a_fork(holds: Callable[[], object]) -> bool:
    """Whether it holds in a child, where it is given ten seconds."""

    def work() -> None:
        signal.alarm(10)
        assert holds()

    return os.waitpid(in_a_fork(work), 0)[1] == 0


def test_a_lock_that_another_thread_held_is_free_in_the_child() -> None:
    lock, held, over = forks.lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    free = holds_in_a_fork(lambda: lock.acquire(timeout=5))
    assert lock.locked()
    over.set()
    thread.join()
    assert free


class Slow(str):
    """A tag that takes its time: who keeps an answer under it is in the middle of that until told to go on."""

    inside, go = threading.Event(), threading.Event()
    armed = False

    def __hash__(self) -> int:
        if Slow.armed and threading.current_thread() is not threading.main_thread():
            Slow.inside.set()
            Slow.go.wait(10)
        return str.__hash__(self)


def test_an_answer_that_a_thread_is_keeping_is_kept_before_the_process_forks() -> None:
    """The child had it in part: it was never evicted, or evicting it failed."""
    layer = CacheLayer(semantic=False)

    @layer.cached(tags=[Slow("kb")])
    def ask(question: str) -> str:
        return question.upper()

    ask("before")
    os.register_at_fork(before=Slow.go.set)  # which come in the reverse order: this fork is under way
    Slow.armed = True
    keeping = threading.Thread(target=ask, args=("q",))
    keeping.start()
    assert Slow.inside.wait(10)

    def whole() -> bool:
        check(layer._keeper.memories[0])
        return len(layer._keeper.memories[0]) == 2 and ask("another") == "ANOTHER"

    good = holds_in_a_fork(whole)
    keeping.join()
    assert good


def test_a_model_that_was_loading_as_the_process_forked_is_loaded_in_the_child() -> None:
    """As where a server makes its workers from a process that has begun to answer."""
    loading = threading.Event()

    class Slow(WordEmbedder):
        async def start(self) -> None:
            await asyncio.to_thread(loading.wait)

    layer = CacheLayer(embedder=Slow())

    @layer.cached
    def ask(question: str) -> str:
        return question.upper()

    def loads() -> bool:
        loading.set()
        ask("one")
        asyncio.run(layer.flush())
        return ask.outcome("two").misses["similar"] is not Reason.WARMING

    ask("none")
    good = holds_in_a_fork(loads)
    loading.set()
    asyncio.run(layer.flush())
    asyncio.run(layer.aclose())
    assert good


def test_a_layer_that_is_gone_leaves_nothing_to_do_in_children() -> None:
    """Functions that are called after a fork cannot be taken back."""

    def objects() -> int:
        for _ in range(100):
            CacheLayer(semantic=False)
        gc.collect()
        return len(gc.get_objects())

    objects()
    before = objects()
    assert objects() < before + 50
