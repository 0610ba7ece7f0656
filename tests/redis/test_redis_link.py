"""One connection and its attempts."""

from __future__ import annotations

import pytest
from redis_records import eventually

from cachelayer.errors import StoreFault
from cachelayer.exact.redis.link import Dialer, Link
from cachelayer.exact.redis.url import parse
from cachelayer.flow.background import Background


async def test_once_there_is_word_that_the_server_is_back_the_next_attempt_is_waited_for(own_server):
    server = own_server()
    server.kill()
    target, tasks = parse(server.url), Background()
    link = Link(Dialer(target, target.context(), limit=4), ("127.0.0.1", server.port), tasks)
    link.open()
    await eventually(lambda: link.failures > 1)
    with pytest.raises(StoreFault, match="cannot connect"):
        await link.ready()
    server.start()
    link.hurry()
    pipe = await link.ready()
    assert pipe is link.pipe and link.failures == 0
    link.close()
    await tasks.cancel()
