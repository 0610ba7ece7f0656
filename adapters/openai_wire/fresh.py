"""A stored answer under a fresh `id` and `created`, spliced into its bytes without parsing them again."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_PREFIX = re.compile(r"[A-Za-z]+[-_]")
_bits = random.getrandbits
_USUAL = re.compile(
    rb'\{(("id": ?"(?!")(?:[A-Za-z]+[-_])?)[A-Za-z0-9_-]*"), ?"object": ?"[a-z._]+", ?(("created": ?)[0-9]+,)'
)
"""How almost all answers begin."""


class Marks(NamedTuple):
    """How an answer's bytes spell its identity; b"" if it has none that can be replaced."""

    id: bytes = b""
    """With its name, as b'"id":"chatcmpl-1"'."""
    id_stem: bytes = b""
    """What a new one begins with, as b'"id":"chatcmpl-'."""
    created: bytes = b""
    """With its name and what follows, as b'"created":1700000000,'."""
    created_stem: bytes = b""
    """What a new one begins with, as b'"created":'."""


class Fresh(NamedTuple):
    """A new identity in an answer's own spelling."""

    id: bytes
    created: bytes


NONE = Marks()


def marks_of(body: bytes, parsed: Mapping[str, Any]) -> Marks:
    """The marks of a body, or of a stream's first event. `parsed` is the same as an object.

    A quotation mark inside a JSON text is escaped, so that the spelling of a name and its value is never found in
    one; what stands in another object under the same name with the same value is the same identity.
    """
    mark, created = _id(body, parsed.get("id")), _created(body, parsed.get("created"))
    return Marks(mark, _stem(mark), created, created[: created.rfind(b":") + 1 + created.count(b" ")])


def usual_marks(body: bytes) -> Marks | None:
    """The marks of a body that begins as almost all do, without parsing it; None for others."""
    found = _USUAL.match(body)
    return None if found is None else Marks(*found.groups())


def _id(body: bytes, value: Any) -> bytes:
    if not isinstance(value, str) or not value:
        return b""
    spelled = orjson.dumps(value)
    return _first(body, (b'"id":' + spelled, b'"id": ' + spelled))


def _stem(mark: bytes) -> bytes:
    """Up to the value's first quotation mark, and the kind that the value begins with."""
    start = mark.find(b'"', 5) + 1
    kind = _PREFIX.match(mark[start:].decode("utf-8", "replace"))
    return mark[:start] + (kind.group().encode() if kind else b"")


def _created(body: bytes, value: Any) -> bytes:
    if not isinstance(value, int):
        return b""
    digits = b"%d" % value
    names = (b'"created":', b'"created": ')
    return _first(body, tuple(name + digits + after for name in names for after in (b",", b"}")))


def _first(body: bytes, spellings: tuple[bytes, ...]) -> bytes:
    return next((spelling for spelling in spellings if spelling in body), b"")


def renewed(marks: Marks, now: float) -> Fresh:
    """A new identity, of the same kind ("chatcmpl-..." stays one) and made `now`, Unix seconds."""
    return Fresh(
        marks.id_stem + b'%032x"' % _bits(128), marks.created_stem + b"%d" % now + marks.created[-1:]
    )


def freshen(data: bytes, marks: Marks, fresh: Fresh) -> bytes:
    """`data` with one identity in place of the other."""
    if marks.id:
        data = data.replace(marks.id, fresh.id)
    if marks.created:
        data = data.replace(marks.created, fresh.created)
    return data
