"""Server-sent events as bytes (WHATWG HTML, section 9.2): framing that neither merges nor splits an event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

DONE = b"data: [DONE]\n\n"
"""The event that ends an OpenAI stream."""
_DONE = re.compile(rb"[\r\n]data: ?\[DONE\]\s*\Z")
_BROKE = re.compile(rb"(?:^|[\r\n])(?:event: ?error[\r\n]|error:)")
"""An event of the kind "error", whatever its data say; or llama.cpp's, whose field is called so."""
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_LINES = re.compile(rb"\r\n|\n|\r")


class NotAnAnswer(ValueError):
    """What was recorded is no OpenAI answer that ended well; the message says why."""


class Framer:
    """Bytes that were cut anywhere in, whole events out, in the spelling in which they came."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The events that `data` completes, one after the other; b"" if it completes none."""
        rest = self._rest
        if not rest and data.endswith(b"\n\n"):
            return data
        rest += data
        end = 0
        for found in _END.finditer(rest, max(0, len(self._rest) - 3)):
            end = found.end()
        self._rest = rest[end:]
        return rest[:end]

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._rest = self._rest, b""
        return rest


def event(data: bytes) -> bytes:
    """One event of one line of data."""
    return b"data: " + data + b"\n\n"


def events_in(stream: bytes) -> Iterator[bytes]:
    """The events one by one, in their spelling; what follows the last whole one comes last."""
    start = 0
    for found in _END.finditer(stream):
        yield stream[start : found.end()]
        start = found.end()
    if start < len(stream):
        yield stream[start:]


def payloads(stream: bytes) -> Iterator[bytes]:
    """The data of each whole event, its lines joined by a newline; comments and other fields are left out."""
    data: list[bytes] = []
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    for line in _LINES.split(stream) if b"\r" in stream else stream.split(b"\n"):
        if not line:
            if data:
                yield b"\n".join(data)
                data = []
        elif line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])


def said_all(end: bytes) -> bool:
    """Whether the end of a stream is [DONE]; what a server sends after that is no part of its answer."""
    return _DONE.search(end) is not None


def chunks_in(stream: bytes) -> list[dict[str, Any]]:
    """The chunks of a whole stream. Raises NotAnAnswer for one that did not end, or is not JSON objects.

    A stream ends with [DONE]. Some servers (`transformers serve`) leave it out: there every choice must have said why
    it ended, and no event may be cut off.
    """
    usual = _usual(stream)
    if usual is not None:
        return usual
    if _BROKE.search(stream):
        raise NotAnAnswer("an event that reports an error")
    chunks: list[dict[str, Any]] = []
    done = False
    for data in payloads(stream):
        if done:
            raise NotAnAnswer("events after [DONE]")
        if data.strip() == b"[DONE]":
            done = True
            continue
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise NotAnAnswer("an event that is not JSON") from None
        if not isinstance(chunk, dict):
            raise NotAnAnswer("an event that is not a JSON object")
        chunks.append(chunk)
    if not done and not _ended(chunks):
        raise NotAnAnswer("neither [DONE] at its end nor a finish reason for every choice")
    if not done and not _at_an_end(stream):
        raise NotAnAnswer("an event that is cut off")
    return chunks


def _usual(stream: bytes) -> list[dict[str, Any]] | None:
    """The same of a stream of one line an event, with nothing between them, that [DONE] ends: read in one go.

    Each event becomes a list of its own. Only where events end do such lists meet, so that what is no JSON by itself
    does not become any beside its neighbours.
    """
    if not stream.startswith(b"data: {") or not stream.endswith(b"}\n\n" + DONE) or b"],[" in stream:
        return None
    lists = stream[6 : -len(DONE) - 2].replace(b"\n\ndata: ", b"],[")
    try:
        chunks = [chunk for [chunk] in orjson.loads(b"[[%b]]" % lists)]
    except ValueError:
        return None
    usual = len(chunks) == stream.count(b"\n\n") - 1 and {*map(type, chunks)} == {dict}
    return chunks if usual else None


def _ended(chunks: list[dict[str, Any]]) -> bool:
    ends: dict[int, Any] = {}
    for chunk in chunks:
        for place, choice in enumerate(chunk.get("choices") or ()):
            ends[choice.get("index", place)] = choice.get("finish_reason")
    return bool(ends) and all(ends.values())


def _at_an_end(stream: bytes) -> bool:
    """Whether nothing follows the last whole event, unless it is a comment, or a [DONE] without its blank line."""
    rest = _END.split(stream)[-1].strip()
    return not rest or rest.startswith(b":") or said_all(stream)
