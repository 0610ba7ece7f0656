"""The demo on a Redis: its second run starts warm."""

from __future__ import annotations

import io

from redis_servers import Server

from cachelayer import Budgets
from cachelayer.cli.demo.run import Options, demo
from cachelayer.cli.demo.tally import Lane, Verdict

WAITING = Budgets(store="20s", embed="20s", search="20s", verify="20s")
"""A machine on which any of them takes longer than the demo waits answers from the backend."""


async def test_the_second_run_of_the_demo_starts_warm(server: Server) -> None:
    """Where a machine is so busy that Redis counts as silent, what was being answered then is not kept."""
    options = Options(
        requests=30, concurrency=4, redis=server.url, semantic=False, think=0.0, budgets=WAITING
    )
    cold, warm = [await demo(options, io.StringIO()) for _ in range(2)]
    assert warm.backend_calls < cold.backend_calls / 2


async def test_a_run_that_asks_no_backend_tells_what_it_spared_and_blames_who_was_wrong(
    server: Server,
) -> None:
    """An answer that the backend of an earlier run took from a wrong article is not the cache's fault."""
    options = Options(requests=200, concurrency=8, redis=server.url, think=0.004, budgets=WAITING)
    _, warm = [await demo(options, io.StringIO()) for _ in range(2)]
    assert warm.lanes[Lane.BACKEND].requests < 20
    assert warm.saved_seconds > 0.05
    assert warm.faults(Verdict.BACKEND) > 0
    assert warm.faults(Verdict.CACHE) == 0
