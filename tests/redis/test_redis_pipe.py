"""One connection: what is asked together travels together, and replies never change owners."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis_servers import Server

from cachelayer.errors import StoreFault
from cachelayer.exact.redis.pipe import BATCH, PENDING, Pipe, pack, word
from cachelayer.exact.redis.waiters import Act
from cachelayer.types import Reason


class Wireless(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.aborted = False

    def write(self, data) -> None:
        self.written.append(bytes(data))

    def writelines(self, data) -> None:
        self.written.append(b"".join(data))

    def abort(self) -> None:
        self.aborted = True


def loose(pushed=lambda message: None) -> tuple[Pipe, Wireless]:
    pipe, transport = Pipe(asyncio.get_running_loop(), pushed), Wireless()
    pipe.connection_made(transport)
    return pipe, transport


async def connected(server: Server) -> Pipe:
    loop = asyncio.get_running_loop()
    return (await loop.create_connection(lambda: Pipe(loop, lambda m: None), "127.0.0.1", server.port))[1]


async def tick() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_one_tick_is_one_write():
    pipe, transport = loose()
    pipe.send(pack(b"PING"))
    waiting = [pipe.get(word(b"k%d" % n)) for n in range(31)]
    assert not transport.written
    await tick()
    (sent,) = transport.written
    assert sent.startswith(pack(b"PING") + b"*32\r\n$4\r\nMGET\r\n")
    pipe.data_received(b"+PONG\r\n*31\r\n" + b"".join(b"$2\r\n%02d\r\n" % n for n in range(31)))
    assert [await future for future in waiting] == [b"%02d" % n for n in range(31)]


async def test_of_many_reads_the_first_leave_before_their_tick_is_over():
    pipe, transport = loose()
    names = [b"k%d" % n for n in range(2 * BATCH + 3)]
    waiting = [pipe.get(word(name)) for name in names]
    assert transport.written == [
        pack(b"GET", names[0]),
        pack(b"MGET", *names[1 : BATCH + 1]),
        pack(b"MGET", *names[BATCH + 1 : 2 * BATCH + 1]),
    ]
    await tick()
    assert transport.written[3:] == [pack(b"MGET", *names[2 * BATCH + 1 :])]
    values = [b"$%d\r\n%b\r\n" % (len(name), name) for name in names]
    pipe.data_received(values[0])
    for part in (values[1 : BATCH + 1], values[BATCH + 1 : 2 * BATCH + 1], values[2 * BATCH + 1 :]):
        pipe.data_received(b"*%d\r\n" % len(part) + b"".join(part))
    assert [await future for future in waiting] == names


async def test_a_lone_read_leaves_at_once_and_the_others_of_its_turn_together():
    pipe, transport = loose()
    waiting = [pipe.get(word(b"k%d" % n)) for n in range(3)]
    assert transport.written == [pack(b"GET", b"k0")]
    await tick()
    assert transport.written[1:] == [pack(b"MGET", b"k1", b"k2")]
    pipe.data_received(b"$1\r\n0\r\n*2\r\n$1\r\n1\r\n$-1\r\n")
    assert [await future for future in waiting] == [b"0", b"1", None]


async def test_an_error_for_many_reaches_each():
    pipe, _ = loose()
    pipe.send(pack(b"PING"))
    waiting = [pipe.get(word(b"k")), pipe.get(word(b"l"))]
    await tick()
    pipe.data_received(b"+PONG\r\n-LOADING it\r\n")
    assert all([isinstance(await future, Exception) for future in waiting])


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_whoever_is_cancelled_the_others_get_their_own(server_port, seed):
    """Gets and commands in any mixture, cut at any moment: what arrives belongs to who asked."""

    async def run() -> None:
        chance = random.Random(seed)
        loop = asyncio.get_running_loop()
        _, pipe = await loop.create_connection(lambda: Pipe(loop, lambda m: None), "127.0.0.1", server_port)

        async def one(n: int) -> None:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            if n % 3:
                assert await pipe.get(word(b"pipe:%d" % (n % 50))) == b"value %d" % (n % 50)
            else:
                assert await pipe.ask([pack(b"ECHO", n), pack(b"ECHO", -n)]) == [b"%d" % n, b"%d" % -n]

        tasks = [loop.create_task(one(n)) for n in range(120)]
        for task in chance.sample(tasks, 60):
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        wrong = [r for r in results if r is not None and not isinstance(r, asyncio.CancelledError)]
        assert not wrong
        assert pipe.pending == 0 or await pipe.send(pack(b"ECHO", b"end")) == b"end"
        pipe.transport.abort()
        await tick()

    asyncio.run(run())


@pytest.fixture(scope="module")
def server_port(shared_server: Server) -> int:
    for n in range(50):
        shared_server.do("SET", f"pipe:{n}", f"value {n}")
    return shared_server.port


@pytest.mark.parametrize("answer", [b"!!?\r\n", b"+OK\r\n+OK\r\n+OK\r\n", b"$-7\r\nx", b"\x00\xff\x00\xff"])
async def test_garbage_ends_the_connection_and_all_who_wait(answer):
    pipe, transport = loose()
    future, many = pipe.send(pack(b"PING")), [pipe.get(word(b"a")), pipe.get(word(b"b"))]
    await tick()
    pipe.data_received(b"+PONG\r\n" + answer)
    assert await future == b"PONG"
    assert transport.aborted
    for one in many:
        if not isinstance(one.exception(), StoreFault):
            assert one.result() == b"OK"  # a reply that was none, handed out before the next one gave it away
    with pytest.raises(StoreFault):
        pipe.get(word(b"c"))
    with pytest.raises(StoreFault):
        pipe.send(pack(b"PING"))


async def test_a_reply_to_another_question_fails_whoever_waits_and_ends_the_connection():
    """Also whoever it was handed to, who is no longer among those that wait."""
    pipe, transport = loose()
    number = Act(asyncio.get_running_loop(), lambda reply: int(reply) + 1)
    pipe.post([pack(b"INCR", b"n")], [number])
    other = pipe.send(pack(b"PING"))
    await tick()
    pipe.data_received(b"+QUEUED\r\n")
    assert transport.aborted
    for future in (number.future, other):
        with pytest.raises(StoreFault):
            await future


async def test_what_is_asked_in_the_tick_of_the_loss_fails_too():
    pipe, _ = loose()
    get = pipe.get(word(b"a"))
    pipe.connection_lost(None)
    await tick()
    with pytest.raises(StoreFault):
        await get


async def test_pushes_are_no_replies():
    seen: list[object] = []
    pipe, _ = loose(seen.append)
    future = pipe.send(pack(b"PING"))
    await tick()
    pipe.data_received(b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n+PONG\r\n")
    assert await future == b"PONG"
    assert seen == [[b"invalidate", [b"k"]]]


async def test_what_waits_is_bounded():
    pipe, _ = loose()
    for _ in range(PENDING):
        pipe.send(pack(b"PING"))
    for ask in (lambda: pipe.send(pack(b"PING")), lambda: pipe.get(word(b"k"))):
        with pytest.raises(StoreFault) as fault:
            ask()
        assert fault.value.reason is Reason.OVERLOAD


async def test_large_values_wait_for_the_connection_to_take_them(server):
    pipe = await connected(server)
    value = bytes(32 << 20)
    assert await pipe.ask([pack(b"SET", b"big", value)]) == [b"OK"]
    assert await pipe.get(word(b"big")) == value
    pipe.transport.abort()
