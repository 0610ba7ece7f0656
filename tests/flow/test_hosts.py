"""A host is reached by whichever of its addresses answers, and its name is looked up by one thread at a time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cachelayer.flow.hosts import Hosts

LIVE, REFUSING, SILENT = "127.0.0.1", "127.0.0.2", "127.0.0.3"
Names = Callable[..., None]


@pytest.fixture
def place() -> Iterator[tuple[str, int]]:
    """A name, and a port on which one address listens, one refuses, and one takes no more and says so to nobody."""
    with socket.create_server((LIVE, 0)) as live:
        port = live.getsockname()[1]
        with socket.create_server((SILENT, port), backlog=0):
            waiting = [socket.socket() for _ in range(8)]
            for one in waiting:
                one.setblocking(False)
                one.connect_ex((SILENT, port))
            yield "some.test", port
            for one in waiting:
                one.close()


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Sets what any name leads to."""

    def become(*addresses: str) -> None:
        def found(host: str, port: int, *more: Any, **options: Any) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", found)

    return become


@pytest.mark.parametrize(
    "addresses", [(LIVE,), (REFUSING, LIVE), (SILENT, LIVE), (SILENT, REFUSING, LIVE), (LIVE, SILENT)]
)
async def test_the_first_address_that_answers_is_taken(
    place: tuple[str, int], named: Names, addresses: tuple[str, ...]
) -> None:
    named(*addresses)
    made: list[asyncio.Protocol] = []
    transport, protocol = await Hosts().connect(lambda: made.append(asyncio.Protocol()) or made[-1], place)
    assert transport.get_extra_info("peername")[0] == LIVE and protocol is made[-1]
    transport.abort()


async def test_a_host_none_of_whose_addresses_answers_is_refused_by_the_last(
    place: tuple[str, int], named: Names
) -> None:
    named("127.0.0.4", REFUSING)
    with pytest.raises(ConnectionRefusedError, match=REFUSING):
        await Hosts().connect(asyncio.Protocol, place)
    named()
    with pytest.raises(OSError, match="has no address"):
        await Hosts().connect(asyncio.Protocol, place)


async def test_a_look_up_that_hangs_is_made_once_whoever_asks_and_leaves(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt to reach Redis kept one more thread of the executor, until the program's own work found none."""
    hosts, asked, answered = Hosts(), [], threading.Event()

    def hang(host: str, port: int, *more: Any, **options: Any) -> list[Any]:
        asked.append(host)
        answered.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (LIVE, port))]

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await hosts.connect(asyncio.Protocol, place)
        assert hosts.looking_up(place)
    last = asyncio.ensure_future(hosts.connect(asyncio.Protocol, place))
    answered.set()
    (await last)[0].abort()
    assert asked == [place[0]] and not hosts.looking_up(place)
