"""Texts that were read, kept packed: a tenth of the memory of objects, and a tenth of the time of reading again."""

from __future__ import annotations

import marshal  # of what this process packed itself; nothing from outside is ever unpacked
from collections import OrderedDict
from operator import attrgetter
from typing import Final

from .reading import Reading, read, vectors_of
from .signature import Signature
from .words import Words

HOT: Final = 64
"""Texts that stay unpacked: a request is compared several times."""
_OVERHEAD: Final = 450
"""Bytes per text beside text and packed fields: dictionary slot, headers; measured with tracemalloc."""
_SIGNED: Final = attrgetter(*Signature.__slots__)
_PLAIN: Final = (
    "content", "stems", "known", "weights", "total", "possessors", "conditions", "prepositions", "ands", "foreign",
    "capitals", "idle", "chatter", "reply",
)  # fmt: skip
_READ: Final = attrgetter(*_PLAIN)


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
        if found is not None:
            self._hot.move_to_end(text)
            return found
        packed = self._packed.get(text)
        if packed is None:
            found = read(text, table)
            self._keep(text, (marshal.dumps(_SIGNED(found.signature)), marshal.dumps(_READ(found))))
        else:
            self._packed.move_to_end(text)
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

    def _keep(self, text: str, packed: tuple[bytes, bytes]) -> None:
        self._packed[text] = packed
        self.bytes += _size(text, packed)
        while self.bytes > self.most and len(self._packed) > 1:
            gone, fields = self._packed.popitem(last=False)
            self.bytes -= _size(gone, fields)
            self._hot.pop(gone, None)


def _size(text: str, packed: tuple[bytes, bytes]) -> int:
    return _OVERHEAD + len(text) * (1 if text.isascii() else 4) + len(packed[0]) + len(packed[1])


def _signature(signed: bytes) -> Signature:
    return Signature(*marshal.loads(signed))  # noqa: S302 - packed above, by this process


def _unpacked(signed: bytes, rest: bytes, table: Words) -> Reading:
    fields = dict(zip(_PLAIN, marshal.loads(rest), strict=True))  # noqa: S302 - packed above, by this process
    vectors, mean = vectors_of(fields["content"], fields["weights"], table)
    return Reading(signature=_signature(signed), vectors=vectors, mean=mean, **fields)
