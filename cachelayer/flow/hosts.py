"""Connections to hosts by their names: each name is looked up once at a time, and all its addresses are tried."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address
from itertools import zip_longest
from typing import Any

from .race import race
from .together import Once

HEAD_START = 0.25
"""Seconds of an address before the next one is tried beside it (RFC 8305, section 5): one that is dead says nothing."""
Place = tuple[str, int]
Connected = tuple[Any, Any]
"""A transport and its protocol."""


class Hosts:
    """Connects. A look-up that hangs keeps one thread of the loop's executor, which others need, however often its name
    is asked for."""

    def __init__(self) -> None:
        self._lookups: dict[Place, Once[list[Place]]] = {}

    def looking_up(self, place: Place) -> bool:
        """Whether a name is being looked up at this moment."""
        return place in self._lookups

    async def connect(self, make: Callable[[], Any], place: Place, **tls: Any) -> Connected:
        """To the first address of a host and port that answers. `make` and `tls` as for the loop's `create_connection`.

        Raises OSError, UnicodeError for a host that is no name.
        """
        return await _any_of(partial(_connected, make, tls), await self._addresses(place))

    async def _addresses(self, place: Place) -> list[Place]:
        try:
            ip_address(place[0])
        except ValueError:
            pass
        else:
            return [place]
        look = self._lookups.get(place)
        if look is None:
            look = self._lookups[place] = Once(partial(self._look_up, place))
        found = await look()
        if not found:
            raise OSError(f"the name {place[0]} has no address")
        return found

    async def _look_up(self, place: Place) -> list[Place]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(*place, type=socket.SOCK_STREAM)
        finally:
            self._lookups.pop(place, None)
        kinds: dict[int, list[Place]] = {}
        for family, _, _, _, address in found:
            kinds.setdefault(family, []).append((str(address[0]), int(address[1])))
        return [one for several in zip_longest(*kinds.values()) for one in several if one is not None]


async def _any_of(connect: Callable[[Place], Any], addresses: Sequence[Place]) -> Connected:
    first, *others = addresses
    if not others:
        return await connect(first)  # type: ignore[no-any-return]
    made, _ = await race(
        _unless_refused(connect, first), partial(_any_of, connect, others), HEAD_START, _drop
    )
    return made


async def _unless_refused(connect: Callable[[Place], Any], address: Place) -> Connected | None:
    try:
        return await connect(address)  # type: ignore[no-any-return]
    except OSError:
        return None


async def _connected(make: Callable[[], Any], tls: dict[str, Any], address: Place) -> Connected:
    return await asyncio.get_running_loop().create_connection(make, *address, **tls)


def _drop(made: Connected) -> None:
    made[0].abort()
