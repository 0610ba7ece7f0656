"""One entry as bytes, for a log on disk."""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

import orjson

from ...types import Findable, Record, Turn

_SIZES = Struct("<III")
"""Lengths of meta, canonical and partition; key (16 bytes) and payload follow."""


class Kept(NamedTuple):
    """An entry as it was on disk."""

    id: int
    findable: Findable
    record: Record


def body_of(findable: Findable, record: Record) -> bytes:
    """What `kept_of` reads."""
    turns = [(turn.role, turn.text) for turn in findable.turns]
    meta = orjson.dumps(
        (findable.function, findable.text, findable.tenant, turns, record.created, record.fresh_until,
         record.stale_until, record.tags, record.seconds, record.tokens, record.principal)
    )  # fmt: skip
    sizes = _SIZES.pack(len(meta), len(findable.canonical), len(findable.partition))
    return b"".join((sizes, meta, findable.canonical, findable.partition, findable.key, record.payload))


def kept_of(key: int, body: bytes) -> Kept | None:
    """The entry of an id; None if the bytes are none of this version's."""
    try:
        meta, canonical, partition = _SIZES.unpack_from(body)
        at = _SIZES.size + meta
        (function, text, tenant, turns, created, fresh, stale, tags, seconds, tokens,
         principal) = orjson.loads(body[_SIZES.size : at])  # fmt: skip
    except (error, ValueError, TypeError):
        return None
    asked, scope = body[at : at + canonical], body[at + canonical : at + canonical + partition]
    at += canonical + partition
    name, payload = body[at : at + 16], body[at + 16 :]
    said = tuple(Turn(role, words) for role, words in turns)
    return Kept(
        key,
        Findable(name, asked, scope, function, text, stale, tenant, said),
        Record(
            name, asked, payload, created, fresh, stale, tuple(tags), b"", text, function, seconds,
            tokens, principal,
        ),
    )  # fmt: skip
