"""The pool of threads: results reach their own awaiter, on their own loop, and nothing outlives it."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from cachelayer.flow.background import offload
from cachelayer.flow.pool import Pool


def _fail() -> None:
    raise LookupError("lost")


def _stop() -> None:
    raise StopIteration


async def test_every_result_reaches_its_own_awaiter():
    pool = Pool(3, "t")
    assert await asyncio.gather(*(pool.run(pow, n, 2) for n in range(500))) == [n * n for n in range(500)]
    pool.close()


async def test_work_in_a_thread_that_raises_stop_iteration_ends():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(offload(_stop), 30)


async def test_a_fault_is_its_awaiters_alone():
    pool = Pool(1, "t")
    made = await asyncio.gather(*(pool.run(w) for w in (_fail, _stop, int)), return_exceptions=True)
    assert [type(one) for one in made] == [LookupError, RuntimeError, int]
    pool.close()


async def test_what_is_cancelled_before_it_began_never_runs():
    pool, gate, ran = Pool(1, "t"), threading.Event(), []
    first = pool.run(gate.wait)
    waiting = [pool.run(ran.append, n) for n in range(3)]
    waiting[1].cancel()
    gate.set()
    assert await first and await waiting[2] is None
    assert ran == [0, 2]
    pool.close()


async def test_what_is_cancelled_at_work_ends_unheard():
    pool, gate, begun = Pool(1, "t"), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        gate.wait()
        return "unheard"

    first = pool.run(work)
    await asyncio.to_thread(begun.wait)
    first.cancel()
    gate.set()
    assert await pool.run(str, 7) == "7"
    pool.close()


async def test_closing_cancels_what_waits_and_a_later_run_has_threads_again():
    pool, gate, begun = Pool(1, "t"), threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return gate.wait()

    first, second = pool.run(work), pool.run(int)
    await asyncio.to_thread(begun.wait)
    pool.close()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await first is True
    assert await pool.run(int) == 0
    pool.close()


def test_a_loop_that_is_gone_hurts_nobody():
    pool, gate = Pool(1, "t"), threading.Event()

    async def leave() -> None:
        pool.run(gate.wait)

    async def stay() -> str:
        return await pool.run(str, 3)

    asyncio.run(leave())
    gate.set()
    assert asyncio.run(stay()) == "3"
    pool.close()


def test_many_loops_share_the_threads():
    pool, made = Pool(2, "t"), []

    async def many() -> list[int]:
        return list(await asyncio.gather(*(pool.run(abs, -n) for n in range(200))))

    threads = [threading.Thread(target=lambda: made.append(asyncio.run(many()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [list(range(200))] * 4
    assert sum(thread.name.startswith("t_") for thread in threading.enumerate()) == 2
    pool.close()


async def test_results_and_arguments_are_let_go():
    class Thing:
        pass

    pool, thing = Pool(1, "t"), Thing()
    gone = weakref.ref(thing)
    assert await pool.run(id, thing) == id(thing)
    await pool.run(int)  # the thread is at the next job by now
    del thing
    gc.collect()
    assert gone() is None
    pool.close()


async def test_a_pool_that_nobody_holds_ends_its_threads():
    pool = Pool(2, "gone")
    await asyncio.gather(pool.run(int), pool.run(int))
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("gone_")]
    del pool
    gc.collect()
    assert threads and not any(thread.is_alive() for thread in threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    pool = Pool(1, "t")

    async def one() -> int:
        return await pool.run(int, "5")

    assert asyncio.run(one()) == 5
    child = os.fork()
    if child == 0:
        ok = False
        try:
            ok = asyncio.run(one()) == 5
        finally:
            os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.close()


def test_a_process_ends_with_its_pool_open():
    code = """
import asyncio
from cachelayer.flow.background import offload
from cachelayer.flow.pool import Pool
pool = Pool(2, "t")
async def main():
    print(await pool.run(int, "4"))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("4\n", "", 0)


CLOSED = """
import asyncio, os, threading, time
from concurrent.futures import thread
from cachelayer.flow.pool import Pool

begun = threading.Event()

def work():
    begun.set()
    while not thread._shutdown:  # the process ends
        time.sleep(0.001)
    os.write(1, b"ended")

async def main():
    pool = Pool(1, "t")
    pool.run(work)
    begun.wait()
    pool.close()

asyncio.run(main())
"""


def test_a_process_that_ends_after_its_pool_was_closed_waits_for_what_a_thread_is_at():
    """A thread inside a library would be torn out of it: 'terminate called', and the process dies by a signal."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSED], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended", "")
