"""How fast the tool itself is here: the same requests to a target that answers at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from .drive import closed_loop
from .measured import Counts, Sample
from .targets import Endpoint, Function, Target
from .traffic import Item

SECONDS = 1.5
"""That it takes, and a third of that to measure what one request alone takes."""
_CHUNK = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    % (3 * len(_CHUNK) + 14)
    + 3 * _CHUNK
    + b"data: [DONE]\n\n"
)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Requests a second that the tool can send on this machine, and what it adds to a latency; seconds."""

    rate: float
    p50: float
    p99: float


async def measure(items: Sequence[Item], *, endpoint: bool) -> Ceiling:
    """The ceiling at a function that does nothing, or at a server in this process (whose work counts, too, so the true
    ceiling is higher)."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0) if endpoint else None
    target: Target
    if server is not None:
        port = server.sockets[0].getsockname()[1]
        target = Endpoint(f"http://127.0.0.1:{port}", headers={}, stream=True, timeout=10.0)
    else:
        target = Function(_nothing, cached=True)
    try:
        await closed_loop(items[:20], target, lambda place, sample: None, concurrency=1)
        alone = await _run(items, target, SECONDS / 3, concurrency=1)
        many = await _run(items, target, SECONDS, concurrency=32)
    finally:
        await target.aclose()
        if server is not None:
            server.close()
    counts = Counts()
    counts.add([sample.last - sample.due for sample in alone])
    spent = max(sample.last for sample in many) - min(sample.due for sample in many)
    return Ceiling(len(many) / max(spent, 1e-9), counts.percentile(0.5), counts.percentile(0.99))


async def _run(items: Sequence[Item], target: Target, seconds: float, *, concurrency: int) -> list[Sample]:
    samples: list[Sample] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        batch = list(islice(cycle(items), 200))
        await closed_loop(
            batch, target, lambda place, sample: samples.append(sample), concurrency=concurrency
        )
    return samples


async def _nothing(**body: object) -> str:
    return "x"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """HTTP/1.1 for one kind of client: reads a body by its content-length, answers a short stream."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.partition(b":")[2])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            writer.write(_STREAM)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
