"""Stored answers as ASGI messages for one caller: whole or streamed, as requested, with a fresh id and time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson

from cachelayer.exact.answers.admission import failed

from ..openai_wire import (
    DONE,
    NONE,
    Framer,
    Fresh,
    Marks,
    NotAnAnswer,
    body_of,
    chunks_in,
    chunks_of,
    event,
    events_in,
    freshen,
    marks_of,
    payloads,
    renewed,
    usual_marks,
)

BATCH = 16 * 1024
"""Bytes of events that one message of a replay carries at most, beside the event that fills it."""


def marks_in(body: bytes) -> Marks:
    """The marks of a whole answer."""
    usual = usual_marks(body)
    if usual is not None:
        return usual
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return NONE
    return marks_of(body, parsed) if isinstance(parsed, dict) else NONE


def whole(answer: tuple[Any, ...]) -> bytes:
    """A whole answer, as it is kept, under a fresh identity."""
    marks = Marks(*answer[4:])
    return freshen(answer[3], marks, renewed(marks, time.time()))


def as_stream(answer: tuple[Any, ...], *, usage: bool) -> bytes:
    """A whole answer as the stream it would have been. Raises NotAnAnswer."""
    parsed = _object(whole(answer))
    if parsed is None:
        raise NotAnAnswer("no JSON object")
    return b"".join([event(orjson.dumps(chunk)) for chunk in chunks_of(parsed, usage=usage)]) + DONE


def as_whole(stream: bytes) -> bytes:
    """A recorded stream as the whole answer it would have been. Raises NotAnAnswer, also for one that ended ill."""
    made = body_of(chunks_in(stream))
    if failed(made):
        raise NotAnAnswer("an error, or no end")
    body = orjson.dumps(made)
    return whole((b"", b"", None, body, *marks_in(body)))


def without_usage(events: bytes) -> bytes:
    """The events without the usage chunk, and without `usage: null` in the others."""
    kept = []
    for data in payloads(events):
        chunk = _object(data)
        if chunk is not None and "usage" in chunk:
            if chunk.pop("usage") is not None and not chunk.get("choices"):
                continue
            data = orjson.dumps(chunk)
        kept.append(event(data))
    return b"".join(kept)


def _object(data: bytes) -> dict[str, Any] | None:
    """What an event or an answer says; None if that is no JSON object."""
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


class Replayed:
    """Turns recorded pieces into what this caller gets: whole events, a fresh id, usage only if it was requested."""

    def __init__(self, *, openai: bool, usage: bool, recorded_usage: bool) -> None:
        self._framer = Framer()
        self._drop_usage = openai and recorded_usage and not usage
        self._marks: Marks | None = None if openai else NONE
        self._fresh = Fresh(b"", b"")

    def feed(self, piece: bytes) -> bytes:
        """What `piece` completes."""
        events = self._framer.feed(piece)
        return self._made(events) if events else b""

    def end(self) -> bytes:
        """What came after the last whole event, as it came."""
        return self._framer.rest()

    def _made(self, events: bytes) -> bytes:
        marks = self._marks
        if marks is None:
            marks = self._marks = _first_marks(events)
            self._fresh = renewed(marks or NONE, time.time())
        events = freshen(events, marks or NONE, self._fresh)
        made = self._fresh.created
        if made and events.rfind(b'"created":') > events.rfind(made):
            events = _retold(events, made)
        return without_usage(events) if self._drop_usage and b'"usage"' in events else events


def _retold(events: bytes, made: bytes) -> bytes:
    """The events of a server that tells of each when that was made (Ollama, llama.cpp and TGI do), all made at once."""
    for data in payloads(events):
        original = marks_of(data, _object(data) or {}).created
        if original and original[-1:] == made[-1:]:
            events = events.replace(original, made)
    return events


def _first_marks(events: bytes) -> Marks | None:
    """Of the first event that has choices; None if all are Azure's words on the prompt, which have no identity."""
    for data in payloads(events):
        parsed = _object(data)
        if parsed is None:
            return NONE
        if parsed.get("id") or parsed.get("choices") != []:
            return marks_of(data, parsed)
    return None


async def batches(pieces: AsyncIterator[Any], replayed: Replayed, *, live: bool) -> AsyncIterator[bytes]:
    """The messages of a replay: of a live recording each piece as it comes, of a stored one as many as fit."""
    held: list[bytes] = []
    size = 0
    async for piece in pieces:
        made = replayed.feed(piece)
        if not made:
            continue
        held.append(made)
        size += len(made)
        if live or size >= BATCH:
            yield b"".join(held)
            held, size = [], 0
    held.append(replayed.end())
    rest = b"".join(held)
    if rest:
        yield rest


async def paced(messages: AsyncIterator[bytes], pause: float) -> AsyncIterator[bytes]:
    """The events one by one, `pause` seconds apart."""
    first = True
    async for message in messages:
        for one in events_in(message):
            if not first:
                await asyncio.sleep(pause)
            first = False
            yield one
