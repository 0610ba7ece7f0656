"""What HTTP clients cost an asyncio process: CPU time an answer and an event of a stream, by httpx, aiohttp and ours.

    python benchmarks/clients.py                        # about a minute
    python benchmarks/clients.py --out benchmarks/results/clients

Ours is `cachelayer.flow.http`, which misses take through the gateway and the TensorRT-LLM adapter. The server is an app
under uvicorn in another process; `gap` is what it waits before each of a stream's 23 events. Clients take turns.

    python benchmarks/clients.py --gateways cachelayer OTHER/bin/cachelayer

measures the CPU time of gateway processes instead, a miss: several versions in turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from record import heading, keep, parser_of
from web import apps, load

from cachelayer.flow.http import Http

Ask = Callable[[bytes], Awaitable[int]]
"""Asks with a body; how many pieces the answer had."""


async def by_httpx(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    client = httpx.AsyncClient(base_url=url, trust_env=False, limits=httpx.Limits(max_connections=1024))

    async def ask(body: bytes) -> int:
        async with client.stream("POST", apps.CHAT, content=body) as response:
            return len([piece async for piece in response.aiter_raw()])

    return ask, client.aclose


async def by_aiohttp(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    session = aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=1024), auto_decompress=False)

    async def ask(body: bytes) -> int:
        async with session.post(apps.CHAT, data=body) as response:
            return len([piece async for piece, _ in response.content.iter_chunks() if piece])

    return ask, session.close


async def by_ours(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    http = Http(url, connect=5.0, needed_by="the benchmark", extra="serve")

    async def ask(body: bytes) -> int:
        answer = await http.send("POST", apps.CHAT, body=body)
        try:
            return len([piece async for piece in answer.pieces()])
        finally:
            answer.close()

    return ask, http.aclose


KINDS = {
    "whole, one task": (1, 100, False),
    "stream, one task": (1, 20, True),
    "stream, 32 tasks": (32, 96, True),
}
"""How many tasks ask, how many answers a turn has, whether they are streams."""
CLIENTS = {"httpx": by_httpx, "aiohttp": by_aiohttp, "cachelayer.flow.http": by_ours}


async def cost(ask: Ask, tasks: int, requests: int, *, stream: bool) -> float:
    """CPU seconds of an answer, with so many asked for at a time."""
    bodies = [apps.chat_body(n, stream=stream) for n in range(requests)]

    async def some(at: int) -> None:
        for body in bodies[at::tasks]:
            pieces = await ask(body)
            assert pieces == (len(apps.EVENTS) if stream else 1), f"{pieces} pieces"

    started = time.process_time()
    await asyncio.gather(*[some(at) for at in range(tasks)])
    return (time.process_time() - started) / requests


async def measured(url: str, gap: float, rounds: int) -> dict[str, Any]:
    """Medians over rounds in which the clients take turns, microseconds."""
    taken: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in CLIENTS} for kind in KINDS}
    opened = {name: await make(url) for name, make in CLIENTS.items()}
    for turn in range(rounds + 1):
        for kind, (tasks, requests, stream) in KINDS.items():
            for name, (ask, _) in opened.items():
                cpu = await cost(ask, tasks, requests, stream=stream)
                if turn:  # the first opens connections
                    taken[kind][name].append(cpu * 1e6)
        print(f"gap {gap}: {turn}/{rounds}", file=sys.stderr, flush=True)
    for _, close in opened.values():
        await close()
    found: dict[str, Any] = {}
    for kind, by_name in taken.items():
        median = {name: statistics.median(times) for name, times in by_name.items()}
        found[f"{kind}, CPU us an answer"] = {name: round(us) for name, us in median.items()}
        if kind.startswith("stream"):
            found[f"{kind}, CPU us an event"] = {
                name: round(us / len(apps.EVENTS), 1) for name, us in median.items()
            }
    return found


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that a process has taken."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


async def missed(url: str, tasks: int, numbers: range, *, stream: bool) -> None:
    """Ask what was not asked before, so many at a time."""
    http = Http(url, connect=5.0, needed_by="the benchmark", extra="serve")
    headers = [(b"authorization", b"Bearer sk-bench"), (b"content-type", b"application/json")]

    async def some(part: range) -> None:
        for n in part:
            answer = await http.send(
                "POST", apps.CHAT, headers=headers, body=apps.chat_body(n, stream=stream)
            )
            assert answer.status == 200, f"status {answer.status}"
            await answer.read()
            answer.close()

    await asyncio.gather(*[some(numbers[at::tasks]) for at in range(tasks)])
    await http.aclose()


def through_gateways(programs: list[str], upstream: str, rounds: int) -> dict[str, Any]:
    """CPU microseconds of a gateway's process a miss, by program; medians of rounds."""
    taken: dict[str, dict[str, list[float]]] = {}
    for turn in range(rounds):
        for program in programs:
            port = load.free_port()
            command = [program, "serve", "--upstream", upstream, "--port", str(port), "--semantic", "off"]
            with load.process(command, port) as pid:
                at = 0
                for kind, (tasks, _, stream) in KINDS.items():
                    for count in (64, 320):  # the first warms up
                        before = cpu_of(pid)
                        asyncio.run(
                            missed(f"http://127.0.0.1:{port}", tasks, range(at, at + count), stream=stream)
                        )
                        at += count
                    cpu = (cpu_of(pid) - before) / count * 1e6
                    taken.setdefault(kind, {}).setdefault(program, []).append(cpu)
            print(f"{program}: {turn + 1}/{rounds}", file=sys.stderr, flush=True)
    return {
        f"{kind}, CPU us a miss": {program: round(statistics.median(us)) for program, us in by.items()}
        for kind, by in taken.items()
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="turns of each client (default: 7)")
    parser.add_argument(
        "--gateways", nargs="+", metavar="CACHELAYER", help="measure `CACHELAYER serve` instead"
    )
    parser.add_argument("--out", type=Path, help="write PATH.json")
    options = parser.parse_args()
    import uvloop

    told = heading("python benchmarks/clients.py" + (" --gateways ..." if options.gateways else ""))
    told["rounds"] = options.rounds
    for gap in (0.0, 0.002):
        port = load.free_port()
        server = [sys.executable, *f"-m uvicorn web.apps:plain --port {port} --log-level warning".split()]
        url, name = f"http://127.0.0.1:{port}", f"gap of {gap * 1000:g} ms"
        with (
            load.process(server, port, env={"BENCH_GAP": str(gap)}),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            if options.gateways:
                programs = [str(Path(p).resolve()) if os.sep in p else p for p in options.gateways]
                told[name] = through_gateways(programs, url, options.rounds)
            else:
                told[name] = runner.run(measured(url, gap, options.rounds))
    print(json.dumps(told, indent=1))
    keep(options.out, told)


if __name__ == "__main__":
    main()
