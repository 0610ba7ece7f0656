"""The shortest way to the commonest hit: a whole answer from memory, for credentials that the app let in lately.

What it does not recognize at sight goes the long way (`Responder`), which does the same and everything else.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from hashlib import blake2b
from random import getrandbits
from typing import TYPE_CHECKING, Any, NamedTuple

from .exchange import BODY, START, Message, Receive, Send
from .principals import CREDENTIALS, Principal
from .replay import whole
from .settings import SPECIAL, key_of

if TYPE_CHECKING:
    from .middleware import Served

CAPACITY = 65536
_LENGTH = b"content-length"


class Told(NamedTuple):
    """A request of which nothing is left to find out but what its body asks."""

    message: Message
    """As it was read: all of the body."""
    principal: Principal
    """Whom the app let in lately."""
    prefix: bytes
    """What its raw form begins with."""


class Hot:
    """Knows by their digest the credentials that have hit before."""

    def __init__(self, served: Served) -> None:
        settings = served.settings
        self._served, self._find = served, served.raws.find
        self._limit = settings.max_body
        self._since, self._recheck = settings.accepted.since, settings.accepted.seconds
        self._headers = {
            **dict.fromkeys(CREDENTIALS, 1),
            **dict.fromkeys((*SPECIAL, *settings.vary), 2),
            _LENGTH: 0,
        }
        self._start = b"%b; hit; ttl=" % settings.name
        self._known: dict[bytes, tuple[bytes, Any, Principal]] = {}
        self._hash = blake2b(digest_size=16, key=settings.principals.key)
        self._cuts: dict[int, tuple[int, ...]] = {}
        """By entry, where its identity stands: searching for it twice a hit takes a tenth of a hit."""

    def learn(self, principal: Principal, prefix: bytes) -> None:
        """From now on these credentials, with nothing beside them, are known at sight."""
        if principal.own and self._served.settings.authorize is None:
            if len(self._known) >= CAPACITY:
                self._known.clear()
            key = key_of(principal, self._served.route.path)
            self._known[principal.credentials] = (prefix, key, principal)

    async def serve(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> list[Message] | Told | None:
        """None where it served; else what it read and found out of the request, for those who go on."""
        told = b""
        code_of = self._headers.get
        for name, value in scope["headers"]:
            code = code_of(name)
            if code == 1 and not told:
                told = b"%b:%d:%b" % (name, len(value), value)
            elif code:
                return []
        if not told or not self._known or scope.get("query_string"):
            return []
        digest = self._hash.copy()
        digest.update(told)
        known = self._known.get(digest.digest())
        if known is None:
            return []
        message = await receive()
        body = message.get("body", b"")
        now = self._served.now()
        if (
            message.get("more_body", False)
            or len(body) > self._limit
            or type(body) is not bytes
            or now - self._since.get(known[1], -1e300) >= self._recheck
        ):
            return [message]
        slot = self._find(known[0] + body)
        if slot is None:
            return Told(message, known[2], known[0])
        answer = slot.answer.value
        if type(answer[0]) is not bytes:
            return [message]  # a recorded stream
        media, language, _, kept, _, stem, _, created_stem = answer
        cut = self._cuts.get(slot.id)
        if cut is None:
            cut = self._cut(slot.id, answer)
        if cut:
            before, after, until, since = cut
            pieces = (
                kept[:before],
                stem,
                getrandbits(128),
                kept[after:until],
                created_stem,
                time.time(),
                kept[since:],
            )
            kept = b'%b%b%032x"%b%b%d%b' % pieces
        else:
            kept = whole(answer)
        headers = [
            (b"content-type", media),
            (_LENGTH, b"%d" % len(kept)),
            (b"cache-status", b"%b%d; detail=memory" % (self._start, slot.ends - now)),
            (b"age", b"%d" % (now - slot.created)),
        ]
        if language:
            headers.append((b"content-language", language))
        await send({"type": START, "status": 200, "headers": headers})
        await send({"type": BODY, "body": kept})
        return None

    def _cut(self, entry: int, answer: tuple[Any, ...]) -> tuple[int, ...]:
        """Where the answer before its id ends, goes on, ends before its time and goes on; () where that is not all."""
        if len(self._cuts) >= CAPACITY:
            self._cuts.clear()
        body, mark, created = answer[3], answer[4], answer[6]
        cut: tuple[int, ...] = ()
        if mark and created and body.count(mark) == body.count(created) == 1:
            first, second = body.index(mark), body.index(created)
            if first < second:
                cut = first, first + len(mark), second, second + len(created) - 1
        return self._cuts.setdefault(entry, cut)
