"""`cachelayer bench` beside a server that logs the delays it applied: every percentile, and the tool's own ceiling.

    python benchmarks/bench_accuracy.py --out benchmarks/results/bench_accuracy.json

The server is a process of its own. It draws a delay to the first token and between tokens, sleeps, and logs what its
own clock says passed between the end of a request's head and each write. The tool's figures are compared with that log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
CHUNK = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'


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
                writer.write(b"0\r\n\r\n")
                done = time.monotonic()
                row = {"ttft": stamps[0] - started, "itl": np.diff(stamps).tolist(), "e2e": done - started}
                lines.write(json.dumps(row) + "\n")
                lines.flush()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def compared(log: Path, figures: dict, warmup: int) -> list[dict]:
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    arm = figures["arms"]["with cache"]["latency"]["all"]
    out = []
    for series in ("ttft", "itl", "tpot", "e2e"):
        if series == "tpot":
            applied = [float(np.mean(row["itl"])) for row in rows]
        elif series == "itl":
            applied = [gap for row in rows for gap in row["itl"]]
        else:
            applied = [row[series] for row in rows]
        for share in SHARES:
            true = float(np.quantile(applied, share, method="inverted_cdf"))
            told = arm[series][f"p{100 * share:g}"]["value"]
            out.append(
                {"series": series, "share": share, "applied": true, "told": told, "off": told / true - 1}
            )
    return out


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--work", type=Path, default=Path("/tmp"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve))
        return 0
    log, traffic, out = (args.work / name for name in ("delays.jsonl", "asked.jsonl", "told.json"))
    traffic.write_text("".join(json.dumps({"q": f"question {i}"}) + "\n" for i in range(args.requests)))
    server = subprocess.Popen([sys.executable, __file__, "--serve", log], stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    command = ["-m", "cachelayer", "bench", f"http://127.0.0.1:{port}", traffic, "--rate", str(args.rate)]
    command += ["--warmup", "0", "--no-report", "--json", out]
    try:
        subprocess.run([sys.executable, *command], check=True)
    finally:
        server.kill()
    figures = json.loads(out.read_text())
    rows = compared(log, figures, 0)
    for row in rows:
        print(f"{row['series']:5} p{100 * row['share']:<5g} applied {row['applied'] * 1e3:8.2f} ms, told "
              f"{row['told'] * 1e3:8.2f} ms, off {row['off']:+.2%}")  # fmt: skip
    worst = max(abs(row["off"]) for row in rows)
    print(f"worst: {worst:.2%}")
    if args.out:
        told = {
            "command": " ".join(["python", *sys.argv]),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        told["machine"] = (
            f"{platform.machine()}, {os.cpu_count()} virtual cores, shared and busy, load {os.getloadavg()[0]:.1f}"
        )
        told |= {
            "requests": args.requests,
            "rate": args.rate,
            "worst": worst,
            "rows": rows,
            "tool": figures["tool"],
        }
        args.out.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
