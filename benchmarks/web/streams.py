"""Open-loop latencies, and memory over very many streams of which a third are cut by their clients."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import statistics
import struct
import time
from contextlib import ExitStack, suppress
from typing import Any

from . import apps
from .load import HEADERS, asgi_post, free_port, process, rss_of, uvicorn


async def _post(port: int, body: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            b"POST %b HTTP/1.1\r\n%bconnection: close\r\ncontent-length: %d\r\n\r\n%b"
            % (apps.CHAT.encode(), HEADERS, len(body), body)
        )
        return await reader.read()
    finally:
        writer.close()


def open_loop(rounds: int, rate: float = 60.0) -> dict[str, Any]:
    """Misses that arrive at random (Poisson), whether or not those before them were answered."""

    async def run(ports: dict[str, int]) -> dict[str, list[float]]:
        rng = random.Random(7)
        found: dict[str, list[float]] = {name: [] for name in ports}

        async def one(name: str, n: int) -> None:
            started = time.perf_counter()
            await _post(ports[name], apps.chat_body(10**6 + n))
            found[name].append(time.perf_counter() - started)

        tasks = []
        for n in range(rounds // 2):
            for name in ports:
                tasks.append(asyncio.ensure_future(one(name, n)))
                await asyncio.sleep(rng.expovariate(rate * 2))
        await asyncio.gather(*tasks)
        return found

    with ExitStack() as stack:
        ports = {}
        for name, app in (("without", "web.apps:plain"), ("with", "web.apps:cached")):
            ports[name] = free_port()
            stack.enter_context(process(uvicorn(app, ports[name]), ports[name]))
        found = asyncio.run(run(ports))
    result: dict[str, Any] = {"arrivals_per_s": rate}
    for name, samples in found.items():
        ordered = sorted(samples[50:])
        result[name] = {
            "p50_us": round(statistics.median(ordered) * 1e6, 1),
            "p99_us": round(ordered[int(0.99 * len(ordered))] * 1e6, 1),
        }
    result["added_p50_us"] = round(result["with"]["p50_us"] - result["without"]["p50_us"], 1)
    result["p99_ratio"] = round(result["with"]["p99_us"] / result["without"]["p99_us"], 2)
    return result


def _cut(port: int, body: bytes, *, cut: bool) -> int:
    """One stream over a connection of its own; a cut one is reset after its first bytes."""
    with socket.create_connection(("127.0.0.1", port), 10) as one:
        head = b"POST %b HTTP/1.1\r\n%bconnection: close\r\ncontent-length: %d\r\n\r\n"
        one.sendall(head % (apps.CHAT.encode(), HEADERS, len(body)) + body)
        got = 0
        while part := one.recv(256 if cut else 65536):
            got += len(part)
            if cut:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                break
        return got


def memory_in_process(streams: int) -> dict[str, Any]:
    """The same without sockets, by the resident megabytes of this very process."""

    async def one(body: bytes, *, cut: bool) -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        left = asyncio.Event()

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if left.is_set():
                raise OSError("the client is gone")
            if cut and message.get("body"):
                left.set()

        with suppress(OSError):
            await app(asgi_post(apps.CHAT), receive, send)

    async def run() -> dict[int, float]:
        rng, told = random.Random(3), {}
        for n in range(streams + 1):
            if n % (streams // 10) == 0:
                told[n] = round(rss_of(os.getpid()) / 2**20, 1)
                print(f"  {n} streams: {told[n]} MB", flush=True)
            asked = n if rng.random() < 0.5 else rng.randrange(200)
            await one(apps.chat_body(asked, stream=True), cut=rng.random() < 1 / 3)
        return told

    app = apps.with_cache()
    told = asyncio.run(run())
    return _growth(told, streams)


def _growth(told: dict[int, float], streams: int) -> dict[str, Any]:
    settled = [mb for n, mb in told.items() if n >= 0.4 * streams]
    return {
        "streams": streams,
        "rss_mb": told,
        "growth_mb_over_last_60_percent": round(settled[-1] - settled[0], 1),
        "memory_limit_mb": 64,
    }


def memory(streams: int) -> dict[str, Any]:
    """Resident megabytes of the server; half of the streams are new, half hits, a third are cut."""
    rng = random.Random(3)
    port = free_port()
    with process(uvicorn("web.apps:cached", port), port) as pid:
        told: dict[int, float] = {}
        for n in range(streams + 1):
            if n % (streams // 10) == 0:
                told[n] = round(rss_of(pid) / 2**20, 1)
                print(f"  {n} streams: {told[n]} MB", flush=True)
            asked = n if rng.random() < 0.5 else rng.randrange(200)
            _cut(port, apps.chat_body(asked, stream=True), cut=rng.random() < 1 / 3)
    return _growth(told, streams)
