"""`cachelayer bench` beside a server that logs the delays it applied: every percentile, and the tool's own ceiling.

    python benchmarks/bench_accuracy.py --out benchmarks/results/bench_accuracy.json

The server is a process of its own. It draws a delay to the first token and between tokens, sleeps, and logs what its
own clock says passed between the end of a request's head and each write. The tool's figures are compared with that log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from record import heading, keep, parser_of

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
CHUNK = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'
)
DONE = b"data: [DONE]\n\n"


async def serve(log: Path) -> None:
    """A server of streams with logged delays; its port is its first line of output."""
    rng, lines = random.Random(7), log.open("w")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                started = time.monotonic()
                first, gap = rng.lognormvariate(-1.6, 0.5), 0.02 + 0.03 * rng.random()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                stamps = []
                for delay in (first, *[gap] * 6):
                    await asyncio.sleep(delay)
                    stamps.append(time.monotonic())
                    writer.write(b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))
                writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(DONE), DONE))
                done = time.monotonic()
                row = {"ttft": stamps[0] - started, "itl": np.diff(stamps).tolist(), "e2e": done - started}
                lines.write(json.dumps(row) + "\n")
                lines.flush()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def applied(log: Path) -> dict[str, list[float]]:
    """The seconds that the server applied, by series."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    return {
        "ttft": [row["ttft"] for row in rows],
        "itl": [gap for row in rows for gap in row["itl"]],
        "tpot": [float(np.mean(row["itl"])) for row in rows],
        "e2e": [row["e2e"] for row in rows],
    }


def percentile(values: list[float], share: float) -> float:
    """The smallest value that this share does not exceed: the rule of HdrHistogram, and of `cachelayer bench`."""
    return float(np.quantile(values, share, method="inverted_cdf"))


def compared(log: Path, figures: dict[str, Any]) -> list[dict[str, Any]]:
    told = figures["arms"]["with cache"]["latency"]["all"]
    rows = []
    for series, values in applied(log).items():
        for share in SHARES:
            true, seen = percentile(values, share), told[series][f"p{100 * share:g}"]["value"]
            rows.append(
                {"series": series, "share": share, "applied": true, "told": seen, "off": seen / true - 1}
            )
    return rows


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """The address of a server that logs there."""
    log.unlink(missing_ok=True)
    server = subprocess.Popen([sys.executable, __file__, "--serve", log], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.kill()
        server.wait()


def bench(url: str, requests: int, rate: float, work: Path) -> dict[str, Any]:
    """What `cachelayer bench` tells of that server."""
    traffic, out = work / "asked.jsonl", work / "told.json"
    traffic.write_text("".join(json.dumps({"q": f"question {i}"}) + "\n" for i in range(requests)))
    command = ["-m", "cachelayer", "bench", url, str(traffic), "--rate", str(rate), "--warmup", "0"]
    subprocess.run([sys.executable, *command, "--no-report", "--json", out], check=True)
    told: dict[str, Any] = json.loads(out.read_text())
    return told


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--work", type=Path, default=Path("/tmp"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve))
        return 0
    log, about = args.work / "delays.jsonl", heading(" ".join(["python", *sys.argv]))
    with serving(log) as url:
        figures = bench(url, args.requests, args.rate, args.work)
    rows = compared(log, figures)
    for row in rows:
        print(f"{row['series']:5} p{100 * row['share']:<5g} applied {row['applied'] * 1e3:8.2f} ms, told "
              f"{row['told'] * 1e3:8.2f} ms, off {row['off']:+.2%}")  # fmt: skip
    worst = max(abs(row["off"]) for row in rows)
    print(f"worst: {worst:.2%}")
    if args.out:
        told = {**about, "requests": args.requests, "rate": args.rate, "worst": worst, "rows": rows}
        told["tool"] = figures["tool"]
        keep(args.out, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
