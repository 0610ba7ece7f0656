"""Server-sent events from bytes that are cut anywhere (WHATWG HTML, section 9.2.6; data fields only)."""

from __future__ import annotations

from .errors import ProtocolFault

MAX_EVENT = 16 * 2**20


class EventParser:
    """Bytes in, `data` payloads out. Accepts LF and CRLF, blanks before a line end, comments, several data
    lines.

    Works on bytes, so that a cut inside a UTF-8 sequence does no harm. Memory is bounded by `MAX_EVENT`.
    """

    __slots__ = ("_data", "_held", "_rest")

    def __init__(self) -> None:
        self._rest, self._held = b"", 0
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that `chunk` completes, in order. Raises ProtocolFault for an event without end."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) + self._held > MAX_EVENT:
            raise ProtocolFault(f"a server-sent event exceeds {MAX_EVENT} bytes")
        events = []
        for line in lines:
            line = line.strip()
            if line.startswith(b"data:"):
                self._data.append(line[5:].lstrip())
                self._held += len(line)
            elif not line and self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                if data:  # one that says nothing keeps the connection open
                    events.append(data)
                self._data, self._held = [], 0
        return events
