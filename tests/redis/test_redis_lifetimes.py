"""Everything in Redis ends by itself."""

from __future__ import annotations

import time

from redis_records import record

from cachelayer.types import Findable


async def test_nothing_lies_in_redis_for_ever_and_what_tags_need_not_for_weeks(pair, server):
    """Tags may be as many as the answers: what is kept of each must not outlive them by a month."""
    one, two = pair
    await one.put([record(tags=("t",)), record("long", tags=("long",), scope=b"other", ttl=5 * 86400.0)])
    await one.publish([Findable(record().key, record().canonical, b"", "app.ask", "text", time.time() + 60)])
    await two.invalidate(tags=["another"])
    await one.delete([record("gone").key])
    await one.acquire(record("leased").key, 10.0)
    days = {name: server.do("PTTL", name) / 86_400_000 for name in server.do("KEYS", "*")}
    assert min(days.values()) > 0
    epochs = [round(left) for name, left in days.items() if name.startswith(one._names.watched)]
    assert sorted(epochs) == [
        0,
        1,
        1,
        1,
        15,
        15,
    ]  # a deletion, tag, scope, invalidation; tag and scope of the long one
