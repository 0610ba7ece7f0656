"""A kept answer as it travels outside the process, to a store or to a directory."""

from __future__ import annotations

from ..exact.memory.table import Slot
from ..exact.wire.codec import Chunks, Codec
from ..exact.wire.writer import ForeignClass, encodes
from ..keep.call import Call
from ..keep.keeper import Keeper
from ..keep.streams import is_stream
from ..types import Record
from .implied import implied


def record_of(call: Call, slot: Slot, keeper: Keeper, codec: Codec) -> Record:
    """The record of a kept answer. Raises CodecError for an answer that may not leave the process."""
    answer = Chunks(parts=slot.answer.value) if is_stream(slot.answer) else slot.answer.answer()
    offset = keeper.clock.time() - keeper.clock.monotonic()
    codec, identity = call.function.codec or codec, call.identity
    tags = (*slot.tags, *implied(call.function.name, call.tenant))
    text = None if identity is None else identity.text
    if not encodes("".join((*tags, call.principal, text or ""))):
        raise ForeignClass("a text with a lone surrogate stays in memory")
    return Record(
        key=call.digest.to_bytes(16, "big"),
        canonical=call.canonical,
        payload=codec.encode(answer),
        created=slot.created + offset,
        fresh_until=slot.ends + offset,
        stale_until=slot.stale_until + offset,
        tags=tags,
        scope=slot.scope,
        text=text,
        function=call.function.name,
        seconds=slot.cost,
        tokens=keeper.tokens_of(call.function, slot),
        principal=call.principal,
        id=slot.origin,
    )
