"""The demo on a Redis: its second run starts warm."""

from __future__ import annotations

import io

from redis_servers import Server

from cachelayer.cli.demo.run import Options, demo


async def test_the_second_run_of_the_demo_starts_warm(server: Server) -> None:
    """Where a machine is so busy that Redis counts as silent, what was being answered then is not kept."""
    options = Options(requests=30, concurrency=4, redis=server.url, semantic=False, think=0.0)
    cold, warm = [await demo(options, io.StringIO()) for _ in range(2)]
    assert warm.backend_calls < cold.backend_calls / 2
