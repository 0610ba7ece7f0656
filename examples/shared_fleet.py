"""Four worker processes and one cache: a Redis Cluster of six nodes, started and stopped by this command.

    pip install '.[redis]'
    python examples/shared_fleet.py            # needs redis-server and redis-cli on the PATH
    python examples/shared_fleet.py --requests 400

Each worker answers the same kind of traffic with a slow function. Watch how few calls the fleet makes, and what an
invalidation by one worker does to the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cachelayer import Budgets, CacheLayer, Policy

NODES, WORKERS, QUESTIONS = 6, 4, 40


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on; their cluster bus ports (+10000) must exist too."""
    ports: list[int] = []
    while len(ports) < count:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < 55_000 and port not in ports:
            ports.append(port)
    return ports


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start_cluster(folder: Path) -> tuple[list[subprocess.Popen[bytes]], str]:
    """Six nodes, three of them primaries; the processes and the URL."""
    ports, nodes = free_ports(NODES), []
    for port in ports:
        own = folder / str(port)
        own.mkdir()
        options = f"--port {port} --bind 127.0.0.1 --cluster-enabled yes --dir {own} --save --appendonly no"
        nodes.append(subprocess.Popen(["redis-server", *options.split()], stdout=subprocess.DEVNULL))
    for port in ports:
        while not listens(port):
            time.sleep(0.05)
    members = [f"127.0.0.1:{port}" for port in ports]
    create = ["redis-cli", "--cluster", "create", *members, "--cluster-replicas", "1", "--cluster-yes"]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    while not all(serves(port) for port in ports):
        time.sleep(0.05)
    return nodes, f"redis+cluster://127.0.0.1:{ports[0]}"


def serves(port: int) -> bool:
    """Whether a node knows that all slots are served; for some moments after its creation it refuses reads."""
    asked = ["redis-cli", "-p", str(port), "cluster", "info"]
    return "cluster_state:ok" in subprocess.run(asked, check=True, capture_output=True, text=True).stdout


async def work(number: int, url: str, requests: int) -> None:
    """One worker: asks, reports as a line of JSON."""
    policy = Policy(ttl="10m", budgets=Budgets(store="1s"))
    layer = CacheLayer(policy=policy, store=url, semantic=False)
    calls = 0

    @layer.cached(name="fleet.ask", tags=["kb"])
    async def ask(question: str) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.2)
        return question.upper()

    rng = random.Random(number)
    async with layer:
        for _ in range(requests):
            await ask(f"question {int(QUESTIONS * rng.random() ** 2)}")
        await layer.flush()
        hits = layer.stats()["functions"]["fleet.ask"]["hits"]
    print(json.dumps({"worker": number, "requests": requests, "calls": calls, "hits": hits}), flush=True)


def run_fleet(url: str, requests: int) -> list[dict[str, object]]:
    """Four workers at once, each a process of its own."""
    command = [sys.executable, __file__, "--requests", str(requests), "--url", url, "--worker"]
    workers = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(WORKERS)
    ]
    told = [worker.communicate(timeout=300)[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        sys.exit("a worker failed: see above what it said")
    return [json.loads(report) for report in told]


def show(title: str, reports: list[dict[str, object]]) -> None:
    """A line a worker."""
    print(f"\n{title}")
    for report in reports:
        told = f"{report['requests']} requests, {report['calls']} calls, hits {report['hits']}"
        print(f"  worker {report['worker']}: {told}")
    print(
        f"  the fleet: {sum(int(str(r['calls'])) for r in reports)} calls for {QUESTIONS} different questions at most"
    )


async def invalidate(url: str) -> None:
    """What an owner does when the knowledge base changes."""
    async with CacheLayer(store=url, semantic=False) as layer:
        await layer.invalidate(tags=["kb"])


def main() -> None:
    """The whole story, or one worker's part in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=200, help="requests of each worker (default 200)")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        asyncio.run(work(options.worker, options.url, options.requests))
        return
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        sys.exit("redis-server and redis-cli are needed on the PATH: apt-get install redis-server")
    with tempfile.TemporaryDirectory() as folder:
        nodes, url = start_cluster(Path(folder))
        try:
            show("A cold fleet of four:", run_fleet(url, options.requests))
            show("Restarted, warm from the cluster:", run_fleet(url, options.requests))
            asyncio.run(invalidate(url))
            show("After one worker said that the knowledge base changed:", run_fleet(url, options.requests))
        finally:
            for node in nodes:
                node.kill()
                node.wait()


if __name__ == "__main__":
    main()
