"""The shortest way to the commonest hit: a whole answer from memory, for credentials that the app let in lately.

What it does not recognize at sight goes the long way (`Responder`), which does the same and everything else.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from hashlib import blake2b
from random import getrandbits
from typing import TYPE_CHECKING, Any, NamedTuple

from cachelayer.exact.memory.slot import Slot

from .accepted import Grant
from .exchange import BODY, START, Message, Receive, Send
from .pages import Headers
from .principals import CREDENTIALS, Principal
from .replay import whole
from .settings import SPECIAL, key_of
from .storable import age_of

if TYPE_CHECKING:
    from .middleware import Served

CAPACITY = 65536
AT_SIGHT = 256
"""Credentials that are recognized by their own bytes: those of the last moments, as a server holds them, too."""
READY = 4096
"""Entries of which the parts of an answer that change once a second stand ready, half a KiB each."""
_LENGTH = b"content-length"
_OTHER, _PAGE = -1, -2


class Recognized(NamedTuple):
    """A request whose caller is known, so that only its body is left to be read."""

    message: Message
    """As it was read: all of the body."""
    principal: Principal
    """Whom the app let in lately."""
    prefix: bytes
    """What its raw form begins with."""
    slot: Slot | None = None
    """The entry that its raw form leads to, counted as a hit: a recorded stream, to be made whole."""
    pages: Headers = ()
    """What goes with the answer for the page that asks."""


class Ready(NamedTuple):
    """What answers from one entry have in common for a second."""

    until: float
    """Monotonic seconds; then the headers or the time of making read otherwise."""
    headers: list[tuple[bytes, bytes]]
    """To be copied: who stands before us may add to a response's."""
    before: bytes
    """What comes before the rest of an id; b"" for an answer whose identity is not at its beginning."""
    between: bytes
    """What stands between its id and the rest."""
    rest: int
    """Where the rest begins in the answer as it is kept."""


Known = tuple[bytes, Grant, Principal]
"""Of credentials: what raw forms begin with, that they were let in, whose they are."""


class Hot:
    """Recognizes credentials that the app let in before: recent ones by their bytes, others by their digest."""

    def __init__(self, served: Served) -> None:
        settings = served.settings
        self._served, self._find = served, served.raws.find
        self._limit = settings.max_body
        self._headers = {
            **{name: place for place, name in enumerate(CREDENTIALS, 1)},
            **dict.fromkeys((*SPECIAL - {b"origin"}, *settings.vary), _OTHER),
            _LENGTH: 0,
        }
        self._headers.setdefault(b"origin", _PAGE)
        self._start = b"%b; hit; ttl=" % settings.name
        self._known: dict[bytes, Known] = {}
        self._at_sight: list[dict[bytes, Known]] = [{} for _ in range(1 + len(CREDENTIALS))]
        """By kind of credential, from 1."""
        self._seen_since = 0.0
        self._hash = blake2b(digest_size=16, key=settings.principals.key)
        self._ready: dict[int, Ready] = {}
        """By entry."""

    def learn(self, principal: Principal, prefix: bytes) -> None:
        """Remember credentials, so that requests with them and no other special header are recognized at once."""
        if principal.own and self._served.settings.authorize is None:
            grant = self._served.settings.accepted.grant(key_of(principal, self._served.route.path))
            if grant is None:
                return
            if len(self._known) >= CAPACITY:
                self._known.clear()
            self._known[principal.credentials] = (prefix, grant, principal)

    async def serve(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> list[Message] | Recognized | None:
        """None if it served the request; otherwise what it has read of it, for the code that goes on."""
        kind, credential, origin, code_of = 0, b"", b"", self._headers.get
        for name, value in scope["headers"]:
            code = code_of(name)
            if code:
                if code == _PAGE and not origin:
                    origin = value
                    continue
                if kind or code < 0 or type(value) is not bytes:
                    return []
                kind, credential = code, value
        if not kind or scope.get("query_string"):
            return []
        known = self._at_sight[kind].get(credential) or self._recognized(kind, credential)
        if known is None:
            return []
        message = await receive()
        body = message.get("body")
        now = self._served.now()
        if (
            message.get("more_body", False)
            or type(body) is not bytes  # none where the caller left
            or len(body) > self._limit
        ):
            return [message]
        if now >= known[1].until:
            self._at_sight[kind].pop(credential, None)  # let in again, they have another grant
            return [message]
        pages = self._served.settings.pages.known(scope["path"], origin) if origin else ()
        if pages is None:
            return [message]
        slot = self._find(known[0] + body, now)
        if slot is None:
            return [message] if origin else Recognized(message, known[2], known[0])
        answer = slot.answer.value
        if type(answer[0]) is not bytes:
            return Recognized(message, known[2], known[0], slot, pages)
        ready = self._ready.get(slot.id)
        if ready is None or now >= ready[0]:
            ready = self._prepare(slot, now)
        _, headers, before, between, rest = ready
        headers = headers.copy()
        if pages:
            headers += pages
        kept = answer[3]
        made = b'%b%032x"%b%b' % (before, getrandbits(128), between, kept[rest:]) if before else whole(answer)
        await send({"type": START, "status": 200, "headers": headers})
        await send({"type": BODY, "body": made})
        return None

    def _recognized(self, kind: int, credential: bytes) -> Known | None:
        digest = self._hash.copy()
        digest.update(b"%b:%d:%b" % (CREDENTIALS[kind - 1], len(credential), credential))
        known = self._known.get(digest.digest())
        at_sight = self._at_sight[kind]
        if known is not None:
            if len(at_sight) >= AT_SIGHT:
                at_sight.clear()
            at_sight[credential] = known
        return known

    def _prepare(self, slot: Slot, now: float) -> Ready:
        """Headers and identity of the answers of the second that has begun."""
        answer = slot.answer.value
        media, language, terms, kept, mark, stem, created, created_stem = answer
        age, left = now - slot.created, slot.ends - now
        headers = [
            (b"content-type", media),
            (_LENGTH, b"%d" % len(whole(answer))),
            (b"cache-status", b"%b%d; detail=memory" % (self._start, left)),
            (b"age", b"%d" % (age + age_of(terms))),
        ]
        if language:
            headers.append((b"content-language", language))
        before, between, rest = b"", b"", 0
        if kept.count(mark) == kept.count(created) == 1:
            first, second = kept.index(mark), kept.index(created)
            if first < second:
                before, rest = kept[:first] + stem, second + len(created) - 1
                between = b"%b%b%d" % (kept[first + len(mark) : second], created_stem, time.time())
        if len(self._ready) >= READY:
            self._ready.clear()
        if now - self._seen_since >= 1.0:
            self._seen_since = now
            for at_sight in self._at_sight:
                at_sight.clear()
        ready = Ready(now + min(1.0 - age % 1.0, left % 1.0), headers, before, between, rest)
        self._ready[slot.id] = ready
        return ready
