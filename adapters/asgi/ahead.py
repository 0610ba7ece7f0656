"""Sends an answer to the caller whose request went to the app first, and stores it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cachelayer.flow.eager import SideTask
from cachelayer.flow.loops import turn
from cachelayer.flow.watch import Watch
from cachelayer.keep.call import Call

from . import status
from .exchange import BODY, START, Exchange, Message
from .storable import fresh_for

if TYPE_CHECKING:
    from .responder import Responder

_OVERHEAD = 16384
"""Bytes that an entry may take beside its answer and its key, at the very most."""


class Ahead(SideTask):
    """Hands over while the answer is still in its flight, at most once: the whole, or a stream's first piece.

    What Cache-Status says of an answer that is not kept yet has to come true: a whole answer goes ahead only where
    nothing that is known stands against keeping it, otherwise it is kept or refused first, and reported then.
    """

    given = False

    def __init__(self, responder: Responder, call: Call, watch: Watch | None) -> None:
        self._r, self._call, self._watch = responder, call, watch

    def whole(self, exchange: Exchange, answer: tuple[Any, ...]) -> None:
        """Hand over an answer that is going to be kept; nothing happens with another."""
        served, call = self._r.served, self._call
        size = len(answer[3]) + len(call.canonical) + _OVERHEAD
        if (
            fresh_for(answer[2]) == 0
            or size > served.limit
            or call.epoch != served.engine.keeper.epoch
            or served.engine.keeper.judge(call, answer) is not None
        ):
            return
        if self._watch is not None:
            self._watch.end()  # servers say that the client is gone once the last part was sent
        start = self._start(exchange, stored=True)
        call.sent_ahead = True
        self._hand(start, {"type": BODY, "body": exchange.body, "more_body": False})

    async def piece(self, exchange: Exchange, piece: bytes) -> None:
        """Hand over the start of a stream and its first piece, and let them go out."""
        self._hand(self._start(exchange, None), {"type": BODY, "body": piece, "more_body": True})
        await turn()

    def _start(self, exchange: Exchange, stored: bool | None) -> Message:
        r, code = self._r, exchange.status
        name = r.settings.name
        why_not = "" if stored else r.served.route.streams_left
        told = status.missed(self._call.misses, status=code, stored=stored, why_not=why_not, name=name)
        return {"type": START, "status": code, "headers": [*exchange.headers, r.revealed(told)]}

    def _hand(self, start: Message, part: Message) -> None:
        """Hand both over; `ended` returns once the caller took them, or raises what `send` raised."""
        self.given = True
        self.begin(self._r.served.starter, self._send(start, part))

    async def _send(self, start: Message, part: Message) -> None:
        send = self._r.send
        await send(start)
        await send(part)
