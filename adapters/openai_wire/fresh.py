"""A stored answer under a fresh `id` and `created`, spliced into its bytes without parsing them again."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_PREFIX = re.compile(r"[A-Za-z]+[-_]")


class Marks(NamedTuple):
    """How an answer's bytes spell its identity; b"" where it has none that can be replaced."""

    id: bytes = b""
    """With its name, as b'"id":"chatcmpl-1"'."""
    created: bytes = b""
    """With its name and what follows, as b'"created":1700000000,'."""


def marks_of(body: bytes, parsed: Mapping[str, Any]) -> Marks:
    """The marks of a body, or of a stream's first event. `parsed` is the same as an object.

    A quotation mark inside a JSON text is escaped, so that the spelling of a name and its value is never found in
    one; what stands in another object under the same name with the same value is the same identity.
    """
    return Marks(_id(body, parsed.get("id")), _created(body, parsed.get("created")))


def _id(body: bytes, value: Any) -> bytes:
    if not isinstance(value, str) or not value:
        return b""
    spelled = orjson.dumps(value)
    return _first(body, (b'"id":' + spelled, b'"id": ' + spelled))


def _created(body: bytes, value: Any) -> bytes:
    if not isinstance(value, int) or isinstance(value, bool):
        return b""
    digits = b"%d" % value
    return _first(
        body, tuple(b'"created":' + gap + digits + after for gap in (b"", b" ") for after in (b",", b"}"))
    )


def _first(body: bytes, spellings: tuple[bytes, ...]) -> bytes:
    return next((spelling for spelling in spellings if spelling in body), b"")


def new_id(mark: bytes) -> bytes:
    """The mark of a new identity of the same kind: "chatcmpl-..." stays one."""
    name, _, old = mark.partition(b":")
    gap = b" " if old.startswith(b" ") else b""
    kind = _PREFIX.match(old.strip(b' "').decode("utf-8", "replace"))
    prefix = kind.group().encode() if kind else b""
    return b'%b:%b"%b%032x"' % (name, gap, prefix, random.getrandbits(128))


def new_created(mark: bytes, now: int) -> bytes:
    """The mark of an answer created at `now`, Unix seconds."""
    start = mark.index(b":") + 1
    gap = b" " if mark[start : start + 1] == b" " else b""
    return b"%b%b%d%b" % (mark[:start], gap, now, mark[-1:])


def freshen(data: bytes, marks: Marks, fresh: Marks) -> bytes:
    """`data` with one identity in place of the other."""
    if marks.id:
        data = data.replace(marks.id, fresh.id)
    if marks.created:
        data = data.replace(marks.created, fresh.created)
    return data


def renewed(marks: Marks, now: float) -> Marks:
    """Marks of a new answer, made `now` (Unix seconds), in the same spelling."""
    return Marks(
        new_id(marks.id) if marks.id else b"",
        new_created(marks.created, int(now)) if marks.created else b"",
    )
