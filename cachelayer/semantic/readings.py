"""Texts that were read, kept packed: a tenth of the memory of objects, and a tenth of the time of reading again."""

from __future__ import annotations

from collections import OrderedDict
from operator import attrgetter
from typing import Final

import orjson

from .reading import Reading, read, vectors_of
from .signature import Signature
from .words import Words

HOT: Final = 64
"""Texts that stay unpacked: a request is compared several times."""
_OVERHEAD: Final = 450
"""Bytes per text beside text and packed fields: dictionary slot, headers; measured with tracemalloc."""
_SIGNED: Final = attrgetter(
    "words", "content", "numbers", "dates", "ids", "names", "negations", "quantifiers", "modals", "question", "roles",
    "english",
)  # fmt: skip
_READ: Final = attrgetter(
    "content", "stems", "known", "weights", "total", "possessors", "conditions", "prepositions", "ands", "foreign",
    "idle", "chatter", "reply",
)  # fmt: skip


class Readings:
    """The last texts read, up to `most` bytes of them, the last `HOT` ready. Not thread-safe."""

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self._packed: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()
        """Of each text its signature and the rest."""
        self._hot: OrderedDict[str, Reading] = OrderedDict()

    def __len__(self) -> int:
        return len(self._packed)

    def clear(self) -> None:
        self._packed.clear()
        self._hot.clear()
        self.bytes = 0

    def get(self, text: str, table: Words) -> Reading:
        """What `read` says of the text."""
        found = self._hot.get(text)
        if text in self._packed:
            self._packed.move_to_end(text)
        if found is not None:
            self._hot.move_to_end(text)
            return found
        packed = self._packed.get(text)
        if packed is None:
            found = read(text, table)
            self._keep(text, found)
        else:
            found = _unpacked(*packed, table)
        self._hot[text] = found
        if len(self._hot) > HOT:
            self._hot.popitem(last=False)
        return found

    def signature(self, text: str, table: Words) -> Signature:
        """The symbolic side alone."""
        packed = None if text in self._hot else self._packed.get(text)
        if packed is None:
            return self.get(text, table).signature
        self._packed.move_to_end(text)
        return _signature(packed[0])

    def _keep(self, text: str, found: Reading) -> None:
        try:
            packed = (orjson.dumps(_SIGNED(found.signature), list), orjson.dumps(_READ(found), list))
        except orjson.JSONEncodeError:  # half a surrogate pair: such a text is read each time
            return
        packed = bytes(bytearray(packed[0])), bytes(bytearray(packed[1]))  # orjson's own hold 4 KiB and more
        self._packed[text] = packed
        self.bytes += _size(text, packed)
        while self.bytes > self.most and len(self._packed) > 1:
            gone, fields = self._packed.popitem(last=False)
            self.bytes -= _size(gone, fields)
            self._hot.pop(gone, None)


def _size(text: str, packed: tuple[bytes, bytes]) -> int:
    return _OVERHEAD + len(text) * (1 if text.isascii() else 4) + len(packed[0]) + len(packed[1])


def _signature(signed: bytes) -> Signature:
    (words, content, numbers, dates, ids, names, negations, quantifiers, modals, question, roles, english) = (
        orjson.loads(signed)
    )
    return Signature(
        words=tuple(words),
        vocabulary=frozenset(words),
        content=tuple(content),
        stems=frozenset(content),
        numbers=tuple(map(tuple, numbers)),
        dates=frozenset(dates),
        ids=frozenset(ids),
        names=frozenset(names),
        negations=negations,
        quantifiers=frozenset(quantifiers),
        modals=frozenset(modals),
        question=question,
        roles=tuple(map(tuple, roles)),
        english=english,
    )


def _unpacked(signed: bytes, rest: bytes, table: Words) -> Reading:
    signature = _signature(signed)
    (content, stems, known, weights, total, possessors, conditions, prepositions, ands, foreign, *kinds) = (
        orjson.loads(rest)
    )
    idle, chatter, reply = kinds
    vectors, mean = vectors_of(content, weights, table)
    return Reading(
        signature=signature,
        content=tuple(content),
        stems=tuple(stems),
        known=tuple(known),
        weights=tuple(weights),
        total=total,
        vectors=vectors,
        mean=mean,
        possessors=frozenset(possessors),
        conditions=frozenset(conditions),
        prepositions=frozenset(prepositions),
        ands=ands,
        foreign=foreign,
        capitals=signature.names,
        idle=idle,
        chatter=chatter,
        reply=reply,
    )
