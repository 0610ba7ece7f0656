"""Everything in Redis ends by itself."""

from __future__ import annotations

import time

from redis_records import Listener, eventually, record

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


async def test_what_is_invalidated_again_and_again_lasts_no_longer_for_it(pair, server):
    """Three times as long each time: Redis refused the 23rd invalidation of a tag, and all later ones."""
    one, _ = pair
    for n in range(40):
        assert await one.put([record(f"q{n}", tags=("t",))]) == 1
        await one.invalidate(tags=["t"])
    days = [server.do("PTTL", name) / 86_400_000 for name in server.do("KEYS", "cachelayer:e:*")]
    assert len(days) == 2 and min(days) > 0.9 and max(days) <= 1


async def test_that_an_epoch_is_to_last_longer_is_no_news(pair):
    """Every other process dropped all that it held under the tag, about once a day."""
    one, two = pair
    await one.put([record("a", tags=("t",))])
    await two.put([record("b", tags=("t",))])
    async with Listener(one) as heard:
        await two.put([record("c", tags=("t",), ttl=5 * 86400.0)])  # which needs the epoch for longer
        await two.invalidate(tags=["end"])
        await eventually(lambda: "end" in heard.tags)
        assert heard.tags == ["end"] and not heard.scopes and not heard.everything
        await two.invalidate(tags=["t"])
        await eventually(lambda: "t" in heard.tags)


async def test_what_happens_in_another_database_is_no_news(pair, server, open_store):
    """Redis tells of names, whatever database they are in."""
    one, two = pair
    await one.put([record("a", tags=("t",))])
    await two.put([record("b", tags=("t",))])
    other = await open_store(server.url.replace("/0", "/1"))
    async with Listener(one) as heard:
        await other.put([record("a", tags=("t",))])
        await other.invalidate(tags=["t"], scopes=[b"scope"])
        await two.invalidate(tags=["end"])
        await eventually(lambda: "end" in heard.tags)
        assert heard.tags == ["end"] and not heard.scopes and not heard.everything


async def test_an_invalidation_right_after_its_epoch_was_made_to_last_is_heard(pair, server):
    one, two = pair
    await one.put([record("a", tags=("t",))])
    names = server.do("KEYS", "cachelayer:e:*")
    async with Listener(one) as heard:
        with server.client() as client:
            for name in names:
                client("PEXPIRE", name, 10**9)
            await two.invalidate(tags=["t"])
            for name in names:
                client("DEL", name)
        await two.put([record("c", tags=("t",))])
        await eventually(lambda: "t" in heard.tags or heard.everything)
