"""Stores of processes whose clocks are hours apart agree on what is fresh, and on what came before what."""

from __future__ import annotations

import time

import pytest
from redis_records import Skewed, reason_of, record

from cachelayer import Reason


@pytest.mark.parametrize("hours", [-5, 5])
async def test_processes_whose_clocks_differ_agree(server, open_store, hours):
    """Hours apart: what is fresh here is as fresh there, and invalidation works both ways."""
    right, wrong = await open_store(server.url), await open_store(server.url, clock=Skewed(3600 * hours))
    mine = record(tags=("t",))
    await right.put([mine])
    found = await wrong.get(mine.key, mine.canonical)
    assert found.fresh_until - mine.fresh_until == pytest.approx(3600 * hours, abs=1)
    await wrong.invalidate(tags=["t"])
    await right.sync()
    assert await reason_of(right, mine) is Reason.INVALIDATED
    theirs = record(tags=("t",), created=time.time() + 3600 * hours, payload=b"theirs")
    assert await wrong.put([theirs]) == 1
    assert (await right.get(mine.key, mine.canonical)).payload == b"theirs"
    await right.delete([mine.key])
    assert await wrong.put([theirs]) == 0


@pytest.mark.parametrize("hours", [-5, 5])
async def test_what_was_begun_before_an_invalidation_elsewhere_is_refused_whatever_the_clocks_say(
    server, open_store, hours
):
    """And what was begun after it is kept."""
    clock = Skewed(3600 * hours)
    right, wrong = await open_store(server.url), await open_store(server.url, clock=clock)
    await right.put([record(tags=("t",))])
    await right.invalidate(tags=["t"])
    assert await wrong.put([record(tags=("t",), created=clock.time() - 10)]) == 0
    clock.by += 10  # so long passes before the next is begun
    assert await wrong.put([record(tags=("t",), created=clock.time())]) == 1
