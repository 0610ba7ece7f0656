"""Entries that were read before are recognized, so that reading them again skips most of the parsing and checking.

An entry is recognized if its first part and its canonical bytes are unchanged. The first part holds the header, with a
checksum of everything else, and the epochs. Its offsets were checked at the first reading, and the payload has a
checksum of its own, which its codec checks. The replies of one turn of the loop are opened together, before their
callers wake.
"""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...protocols import Clock
from ...types import Record
from ..wire.writer import CodecError
from .lane import Lane
from .names import Names
from .node import Node
from .waiters import Many, Reads
from .wire import Stored


class Seen(NamedTuple):
    """An entry that was read, all but its payload; in the order in which a hit looks at it."""

    key: bytes
    word: bytes
    """Its name, as it travels."""
    deps: bytes
    length: int
    head: bytes
    canonical: bytes
    at: int
    """Where the canonical bytes stand."""
    fresh_until: float
    """By the server's clock, as `written`."""
    incarnation: bytes
    written: float
    payload: int
    """Where the payload stands."""
    decode: Callable[[bytes], Any]
    """What makes the answer of it. Raises CodecError."""
    seconds: float
    tokens: int


NOTHING, OTHER = object(), object()
"""In place of an answer: nothing is there; what is there is not what was seen, or may not be served."""


class Again(Reads):
    """Reads of entries that were seen before, from one node within one budget."""

    def __init__(
        self, lane: Lane, node: Node, budget: float, monotonic: Callable[[], float], *, trust: bool
    ) -> None:
        super().__init__(lane.deadlines(budget))
        self._coherence, self._node, self._now, self._trust = lane.coherence, node, monotonic, trust

    def sent(self, many: Many) -> None:
        """They leave now: what is invalidated from here on counts."""
        super().sent(many)
        many.since = self._coherence.sequence

    def open(self, many: Many, values: Sequence[Any]) -> list[Any]:
        """Answers, decoded; NOTHING or OTHER."""
        coherence, node = self._coherence, self._node
        valid, now, found = coherence.valid, self._now() + node.offset, []
        for seen, raw in zip(many.items, values, strict=True):
            key, _, deps, length, head, canonical, at, fresh, incarnation, written, payload, decode, _, _ = (
                seen
            )
            answer = NOTHING if raw is None else OTHER
            if (
                type(raw) is bytes
                and len(raw) == length
                and raw.startswith(head)
                and raw.startswith(canonical, at)
                and deps in valid
                and fresh > now
                and (incarnation == node.incarnation or self._trust or node.trusts(incarnation, written))
                and (coherence.sequence == many.since or not coherence.changed_since(key, many.since))
            ):
                try:
                    answer = decode(raw[payload:])
                except CodecError:  # whoever reads it anew will say why
                    answer = OTHER
            found.append(answer)
        return found


class Recall:
    """One store's. `trust_reloaded` as for the store."""

    def __init__(
        self,
        lanes: dict[asyncio.AbstractEventLoop, Lane],
        names: Names,
        clock: Clock,
        *,
        trust_reloaded: bool,
    ) -> None:
        self._lanes, self._names, self._trust_reloaded = lanes, names, trust_reloaded
        self._now = clock.monotonic

    def seen(self, record: Record, decode: Callable[[bytes], Any]) -> Seen | None:
        """What to remember of a record that was read; None if it must be opened each time."""
        outline = record.outline if isinstance(record, Stored) else None
        if outline is None:
            return None
        head, at, length, deps, incarnation, written, fresh = outline
        return Seen(
            record.key, self._names.word(record.key), deps, length, head, record.canonical, at, fresh, incarnation,
            written, at + len(record.canonical), decode, record.seconds, record.tokens,
        )  # fmt: skip

    def ask(self, seen: Seen, budget: float) -> asyncio.Future[Any] | None:
        """The answer to come, as `Again.open` gives it; None if the running loop could not judge it.

        Raises StoreFault, as the answer may.
        """
        lane = self._lanes.get(get_running_loop())
        if lane is None or seen[2] not in lane.coherence.valid:
            return None
        node = lane.only or lane.topology.route(self._names.entry(seen[0]))
        again = node.again.get(budget)
        if again is None:
            again = Again(lane, node, budget, self._now, trust=self._trust_reloaded)
            node.again[budget] = again
        return (node.reader.pipe or node.reader.need()).get(seen[1], again, seen)
