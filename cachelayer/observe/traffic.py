"""Recorded traffic: one JSON object a line, in files that only their owner can read, bounded in number and size."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from ..policy import Trace

MAX_TEXT = 64 * 1024
"""Characters of a question, and of an answer, past which a request is not recorded: a part of it is another one."""
_OWN = re.compile(r"traffic-\d{15}-\d+-\d+\.jsonl")
"""What a file is called: milliseconds, process, number."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it was served, before anything is cut, masked or digested."""

    at: float
    """Unix seconds of its arrival."""
    function: str
    scope: bytes
    question: str
    turns: Sequence[tuple[str, str]]
    answer: str | None
    tier: str
    match: str | None
    latency: float
    tokens: int = 0
    reason: str | None = None
    """Why the similar tier did not answer."""


def row(seen: Seen, trace: Trace) -> dict[str, Any] | None:
    """The line for `seen`, redacted; None if it is too long to be recorded whole. Raises what `redact` raises."""
    texts = [seen.question, *(text for _, text in seen.turns), seen.answer or ""]
    if any(len(text) > MAX_TEXT for text in texts):
        return None
    masked = trace.redact or _as_is
    line: dict[str, Any] = {
        "v": 1, "at": round(seen.at, 6), "function": seen.function, "scope": digest(seen.scope),
        "question": masked(seen.question),
    }  # fmt: skip
    if seen.turns:
        line["turns"] = [[role, masked(text)] for role, text in seen.turns]
    if seen.answer is not None and trace.answers == "text":
        line["answer"] = masked(seen.answer)
    if seen.answer is not None and trace.answers != "none":
        line["answer_digest"] = digest(" ".join(seen.answer.split()).encode("utf-8", "surrogatepass"))
    line |= {"tier": seen.tier, "match": seen.match, "latency": round(seen.latency, 6)}
    if seen.tokens:
        line["tokens"] = seen.tokens
    if seen.reason is not None:
        line["reason"] = seen.reason
    return line


def line_of(row: dict[str, Any]) -> bytes:
    """A row as a line of a file. Raises TypeError for a text that is none in UTF-8."""
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def digest(data: bytes) -> str:
    """16 bytes of BLAKE2b (RFC 7693), in hexadecimal: equal digests, equal data. It hides nothing easily guessed."""
    return blake2b(data, digest_size=16).hexdigest()


def _as_is(text: str) -> str:
    return text


class TrafficLog:
    """Appends lines to files of one directory; starts a new file when one is full and removes the oldest.

    Synchronous and thread-safe. Files are made anew (never opened where something stands already, never
    through a link), mode 0600, in a directory of mode 0700 where it has to be made. Raises OSError.
    """

    def __init__(self, trace: Trace, *, now: Callable[[], float] = time.time) -> None:
        self.trace, self._now = trace, now
        self._folder = Path(trace.path)
        self.reset()

    def reset(self) -> None:
        """Forget the open file: after a fork it is the parent's."""
        self._lock = threading.Lock()
        self._file: int | None = None
        self._size = 0
        self._made = 0

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines of `line_of`."""
        with self._lock:
            for line in lines:
                if self._file is None or self._size + len(line) > self.trace.max_bytes:
                    self._rotate()
                self._append(line)

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._size += len(line)

    def _rotate(self) -> None:
        self._close()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._made += 1
        there = sorted(p for p in self._folder.glob("traffic-*.jsonl") if _OWN.fullmatch(p.name))
        # a clock that was set back makes no file older than those before it; readers go by names
        at = max(int(self._now() * 1000), int(there[-1].name.split("-")[1]) if there else 0)
        name = f"traffic-{at:015d}-{os.getpid()}-{self._made:06d}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        self._file, self._size = os.open(self._folder / name, flags, 0o600), 0
        for old in there[: max(0, len(there) + 1 - self.trace.files)]:
            old.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the open file; the next row starts another."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
