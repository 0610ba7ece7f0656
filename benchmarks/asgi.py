"""The middleware and the gateway over HTTP, beside the same app without them, a static route, and LiteLLM's proxy.

    python benchmarks/asgi.py                            # all but memory and peers
    python benchmarks/asgi.py --only hits,misses
    WRK=/path/to/wrk python benchmarks/asgi.py --litellm /path/to/litellm --out benchmarks/results/asgi

Systems that are compared are asked alternately in one run: latencies by one closed-loop connection that goes from one
to the other request by request, and by wrk in a process of its own, in turns, as rates are. On a busy machine the
ratios hold and the absolute figures do not. The app answers at once, that of `misses_of_a_model` after 10 ms. An
answer's latency ends with its last bytes; what a server does after them shows in the requests that follow at once, and
as CPU time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from record import heading, keep, parser_of
from web import apps, peers, streams
from web.load import Connection, asgi_post, cpu_of, free_port, process, uvicorn, wrk, wrk_misses, wrk_program

Result = dict[str, Any]


def quantiles(samples: list[float]) -> dict[str, float]:
    """p50 and p99 in microseconds."""
    ordered = sorted(samples)
    return {
        "p50_us": round(statistics.median(ordered) * 1e6, 1),
        "p99_us": round(ordered[int(0.99 * len(ordered))] * 1e6, 1),
    }


async def once(app: Any, body: bytes) -> tuple[float, float, float]:
    """(seconds to the first bytes of the answer, to its last ones, to the app's return), without a socket."""
    asked, first, last = False, 0.0, 0.0

    async def receive() -> Any:
        nonlocal asked
        if asked:
            await asyncio.Future()
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal first, last
        if message["type"].endswith("body"):
            last = time.perf_counter()
            first = first or last

    scope = asgi_post(apps.CHAT)
    started = time.perf_counter()
    await app(scope, receive, send)
    return first - started, last - started, time.perf_counter() - started


def in_process(rounds: int) -> Result:
    """Through ASGI without a socket, asked in turns: hits, misses, and first bytes of streamed misses."""

    async def run() -> Result:
        result: Result = {}
        for kind in ("hit", "miss", "miss, fresh='off'", "streamed miss, first byte"):
            app = apps.with_cache(**({"fresh": "off"} if "off" in kind else {}))
            stream = kind.startswith("streamed")
            found: dict[str, list[float]] = {"without": [], "with": []}
            ends: dict[str, list[float]] = {"without": [], "with": []}
            used = {"without": 0.0, "with": 0.0}
            for n in range(rounds + 100):
                body = apps.chat_body(0 if kind == "hit" else n + 1, stream=stream)
                for name, which in (("without", apps.upstream), ("with", app)):
                    before = time.thread_time()
                    first, whole, end = await once(which, body)
                    for _ in range(3):  # the turns in which a server reads on, and an answer is kept
                        await asyncio.sleep(0)
                    if n >= 100:
                        ends[name].append(end)
                        used[name] += time.thread_time() - before
                        found[name].append(first if stream else whole)
            result[kind] = {name: quantiles(samples) for name, samples in found.items()}
            for name, seconds in used.items():
                result[kind][name]["cpu_us"] = round(seconds / rounds * 1e6, 1)
                result[kind][name]["returns_p50_us"] = quantiles(ends[name])["p50_us"]
            added = result[kind]["with"]["p50_us"] - result[kind]["without"]["p50_us"]
            result[kind]["added_p50_us"] = round(added, 1)
        return {**result, "body_bytes": len(apps.chat_body())}

    return asyncio.run(run())


PAUSE, BLOCK = 0.0005, 250


def latencies(*, stream: bool, rounds: int, pause: float = 0.0) -> Result:
    """Misses: the same app with and without the middleware, two servers, asked in turns by one connection each.

    `pause` seconds lie between a request and the next, or none. Turns of `BLOCK` requests each, so that what one server
    does after its answer falls to its own next request, never to the other server's; the machine changes its speed
    meanwhile, so what is added, and the ratio of the p99s, are medians over pairs of turns.
    """
    with ExitStack() as stack:
        found: dict[str, list[float]] = {"without": [], "with": []}
        connections = {}
        for name, app in (("without", "web.apps:plain"), ("with", "web.apps:cached")):
            port = free_port()
            stack.enter_context(process(uvicorn(app, port), port))
            connections[name] = Connection(port)
        events = {}
        turns: dict[str, list[dict[str, float]]] = {name: [] for name in found}
        for start in range(0, rounds + BLOCK, BLOCK):
            bodies = [apps.chat_body(n, stream=stream) for n in range(start, start + BLOCK)]
            for name, connection in connections.items():
                taken = []
                for body in bodies:
                    if pause:
                        time.sleep(pause)
                    first, whole, got = connection.post(apps.CHAT, body)
                    events[name] = got.count(b"data: ")
                    taken.append(first if stream else whole)
                if start:
                    found[name] += taken
                    turns[name].append(quantiles(taken))
    result: Result = {name: quantiles(samples) for name, samples in found.items()}
    pairs = list(zip(turns["without"], turns["with"], strict=True))
    result["added_p50_us"] = round(statistics.median(b["p50_us"] - a["p50_us"] for a, b in pairs), 1)
    result["p99_ratio"] = round(statistics.median(b["p99_us"] / a["p99_us"] for a, b in pairs), 2)
    result["p99_ratio_of_all"] = round(result["with"]["p99_us"] / result["without"]["p99_us"], 2)
    if stream:
        result["events"] = events
    return result


def misses_by_wrk(rounds: int = 6, *, think: float = 0.0, connections: int = 1) -> Result:
    """Misses in closed loop by wrk in a process of its own, the two servers in turns: medians over the turns.

    `think`: seconds before the app answers.
    """
    body = apps.chat_body().replace(b"number 0.", b"number @.")
    with ExitStack() as stack:
        ports = {}
        for name, app in (("without", "web.apps:plain"), ("with", "web.apps:cached")):
            ports[name] = free_port()
            thinking = {"BENCH_THINK": str(think)}
            stack.enter_context(process(uvicorn(app, ports[name]), ports[name], env=thinking))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
        for turn in range(rounds + 1):
            for name, port in ports.items():
                first = 10**6 * (turn + 1)
                told = wrk_misses(port, apps.CHAT, body, first, connections=connections)
                if turn:
                    found[name].append(told)
    result: Result = {
        name: {
            "p50_us": statistics.median(p for p, _ in turns),
            "p99_us": statistics.median(q for _, q in turns),
        }
        for name, turns in found.items()
    }
    result["added_p50_us"] = round(result["with"]["p50_us"] - result["without"]["p50_us"], 1)
    result["p99_ratio"] = round(result["with"]["p99_us"] / result["without"]["p99_us"], 2)
    return result


def rates(rounds: int = 14) -> Result:
    """Hits a second beside a static POST route of the same server, for one process."""
    port, body = free_port(), apps.chat_body()
    with process(uvicorn("web.apps:both", port), port) as pid:
        routes = {"static": "/static", "hit": apps.CHAT, "starlette route": "/starlette"}
        found: dict[str, list[float]] = {name: [] for name in routes}
        cpu: dict[str, list[float]] = {name: [] for name in routes}
        for at in range(rounds + 1):
            for name, path in routes.items():
                before = cpu_of(pid)
                rate = wrk(port, path, body, seconds=1)
                used = cpu_of(pid) - before
                if at:
                    found[name].append(rate)
                    cpu[name].append(rate / used)
    result: Result = {
        n: {"per_s": round(statistics.median(v)), "per_cpu_s": round(statistics.median(cpu[n]))}
        for n, v in found.items()
    }
    shares = [h / s for h, s in zip(found["hit"], found["static"], strict=True)]
    result["share"] = round(statistics.median(shares), 3)
    routed = [h / s for h, s in zip(found["hit"], found["starlette route"], strict=True)]
    result["share_of_starlette_route"] = round(statistics.median(routed), 3)
    by_cpu = [h / s for h, s in zip(cpu["hit"], cpu["static"], strict=True)]
    result["share_per_cpu_s"] = round(statistics.median(by_cpu), 3)
    return result


PARTS: dict[str, Callable[[argparse.Namespace], Result]] = {
    "in_process": lambda o: in_process(o.rounds),
    "misses": lambda o: latencies(stream=False, rounds=o.rounds),
    "misses_with_pauses": lambda o: latencies(stream=False, rounds=o.rounds, pause=PAUSE),
    "streamed_misses": lambda o: latencies(stream=True, rounds=o.rounds),
    "streamed_misses_with_pauses": lambda o: latencies(stream=True, rounds=o.rounds, pause=PAUSE),
    "misses_by_wrk": lambda _: misses_by_wrk(),
    "misses_of_a_model": lambda _: misses_by_wrk(think=0.01),
    "misses_of_a_busy_model": lambda _: misses_by_wrk(think=0.01, connections=16),
    "rates": lambda _: rates(),
    "servers": lambda _: peers.servers(),
    "gateway": lambda o: peers.gateways(o.litellm),
    "open_loop": lambda o: streams.open_loop(o.rounds),
    "busy_open_loop": lambda o: streams.open_loop(4 * o.rounds, rate=400),
    "memory": lambda o: streams.memory(o.streams),
    "memory_in_process": lambda o: streams.memory_in_process(o.streams),
}


BY_WRK = ("misses_by", "misses_of", "rates", "servers", "gateway")


def parts_of(given: str) -> list[str]:
    chosen = list(PARTS) if given == "all" else given.split(",")
    if unknown := [name for name in chosen if name not in PARTS]:
        raise argparse.ArgumentTypeError(
            f"no part is called {unknown[0]!r}; parts: {', '.join(PARTS)}, or all"
        )
    return chosen


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only",
        type=parts_of,
        default="in_process,misses,streamed_misses,rates",
        help=f"of {', '.join(PARTS)}; or all",
    )
    parser.add_argument("--rounds", type=int, default=4000, help="requests a system (default: 4000)")
    parser.add_argument("--streams", type=int, default=100_000, help="streams for memory (default: 100000)")
    parser.add_argument(
        "--litellm", metavar="PROGRAM", help="LiteLLM's command, to be measured beside the gateway"
    )
    parser.add_argument(
        "--out", metavar="PATH", type=Path, help="write PATH.json; parts not run are kept from before"
    )
    options = parser.parse_args()
    old = (
        json.loads(options.out.with_suffix(".json").read_text())
        if options.out and options.out.with_suffix(".json").exists()
        else {}
    )
    parts: Result = old.get("parts", {})
    for name in options.only:
        if name.startswith(BY_WRK) and wrk_program() is None:
            print(f"{name}: not measured, wrk is not installed (or name it in WRK)")
            continue
        load = os.getloadavg()[0]
        print(f"{name} ...", flush=True)
        parts[name] = {**PARTS[name](options), "load_average": round(load, 1)}
        print(json.dumps(parts[name], indent=1), flush=True)
    command = "WRK=... python benchmarks/asgi.py --only all --litellm ... --out benchmarks/results/asgi"
    keep(options.out, {**heading(command), "parts": parts})


if __name__ == "__main__":
    main()
