"""Passes on what the servers pushed to those who keep copies: keys of entries, and tags and scopes by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from ...errors import StoreFault
from ...flow.waiting import Mailbox, within
from .calls import Request, answers, call
from .epochs import BORN, unpack
from .names import Names
from .node import Role
from .topology import Topology

WAITING = 1024
"""Changes that may wait for a reader before they become `everything`."""


@dataclass(frozen=True, slots=True)
class News:
    """What a push said: keys of entries deleted, and replaced; digests of tags and scopes, and their tokens until then,
    as `Table.forget`."""

    keys: tuple[bytes, ...] = ()
    digests: tuple[tuple[bytes, bytes | None], ...] = ()
    replaced: tuple[bytes, ...] = ()
    everything: bool = False
    number: int = 0
    """In the order of what was told."""


EVERYTHING = News(everything=True)


@dataclass(slots=True)
class Changed:
    """A `protocols.Change`: what another process or loop invalidated, deleted or replaced by a newer one."""

    keys: Sequence[bytes] = ()
    tags: Sequence[str] = ()
    scopes: Sequence[bytes] = ()
    everything: bool = False
    replaced: Sequence[bytes] = ()


class Newsroom:
    """The readers of one loop. `read(digest)` is the request that reads an epoch."""

    def __init__(self, topology: Topology, names: Names, read: Callable[[bytes], Request]) -> None:
        self._topology, self._names, self._read = topology, names, read
        self._mailboxes: set[Mailbox[News]] = set()
        self._number = 0
        self._latest: dict[bytes, int] = {}
        """The number of the latest news of a digest."""

    @property
    def heeded(self) -> bool:
        """Whether anybody reads them."""
        return bool(self._mailboxes)

    def tell(self, news: News) -> None:
        if news.digests:
            self._number += 1
            if len(self._latest) >= WAITING:
                self._latest.clear()
            self._latest.update((digest, self._number) for digest, _ in news.digests)
            news = replace(news, number=self._number)
        for mailbox in self._mailboxes:
            mailbox.put(news)

    def subscribe(self) -> Mailbox[News]:
        mailbox: Mailbox[News] = Mailbox(WAITING, EVERYTHING)
        self._mailboxes.add(mailbox)
        if not self._topology.coherent:
            mailbox.put(EVERYTHING)
        return mailbox

    def unsubscribe(self, mailbox: Mailbox[News]) -> None:
        self._mailboxes.discard(mailbox)

    async def follow(self, mailbox: Mailbox[News]) -> AsyncIterator[Changed]:
        """The news as changes: digests become tags and scopes again."""
        while True:
            pushed = await mailbox.get_all()  # translated together: one by one they would fall behind
            if any(news.everything for news in pushed):
                yield Changed(everything=True)
            else:
                yield await self._translate(pushed)

    async def _translate(self, pushed: Sequence[News]) -> Changed:
        tags: list[str] = []
        scopes: list[bytes] = []
        digests = [(digest, token, news.number) for news in pushed for digest, token in news.digests]
        try:
            reading = call(self._topology, Role.CONTROL, [self._read(digest) for digest, _, _ in digests])
            values = [answers(result)[0] for result in await within(self._topology.silence / 2, reading)]
        except (StoreFault, TimeoutError):
            return Changed(everything=True)
        for raw, (digest, token, number) in zip(values, digests, strict=True):
            epoch, known = unpack(raw), token is not None
            if epoch is not None and epoch.token == token:
                continue  # it is only to last longer, or is another database's
            if epoch is not None and epoch.kind == BORN and not known and self._latest.get(digest) == number:
                continue  # set once, by whoever first needed it: nothing was invalidated
            name = b"" if epoch is None else self._names.labelled(digest, epoch.name)
            if name.startswith(b"t"):
                tags.append(name[1:].decode(errors="surrogatepass"))
            elif name:
                scopes.append(name[1:])
            elif known:  # what it was for is gone with it, or hidden from us
                return Changed(everything=True)
        keys = [key for news in pushed for key in news.keys]
        return Changed(keys, tags, scopes, replaced=[key for news in pushed for key in news.replaced])
