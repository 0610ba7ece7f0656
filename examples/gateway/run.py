"""Gateway -> layer -> two replicas, on one CPU machine, by one command; a replica dies and comes back meanwhile:

python examples/gateway/run.py               Triton where the test environment has one, else stand-ins for trtllm-serve
python examples/gateway/run.py --seconds 30 --clients 16

Clients stream all the time. Nobody whose stream had sent nothing sees an error; a stream that was cut after its first
word ends with an error event. Exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import httpx
from cachelayer.adapters.tensorrt_llm import BackendError, TensorRTLLM

HERE = Path(__file__).resolve().parent
STANDINS = HERE.parents[1] / "tests" / "backend" / "standins"
EARLY = "ERROR BEFORE THE FIRST WORD"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Standin:
    """A replica without Triton."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"trtllm://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, str(HERE / "replica.py"), str(self.port)])
        wait_for(self.port, self.process)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    stop = kill


class Replica(Protocol):
    """What can die and come back."""

    def start(self) -> None: ...
    def kill(self) -> None: ...
    def stop(self) -> None: ...


def replicas(work: Path) -> dict[str, Replica]:
    """Two of the best kind there is, and where they are asked."""
    triton = Path(os.environ.get("CACHELAYER_TRITON_ENV", HERE.parents[1] / ".venv-triton"))
    if not (triton / "bin/python").exists():
        return {one.url: one for one in (Standin(), Standin())}
    sys.path.insert(0, str(STANDINS))
    from triton_server import TritonServer

    found: dict[str, Replica] = {}
    for name in ("a", "b"):
        (work / name).mkdir()
        server = TritonServer(work / name, HERE / "models")
        found[f"triton://{server.address}/words"] = server
    return found


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until somebody listens."""
    give_up = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("a process of the example does not start") from None
            time.sleep(0.05)


def begin(url: str, replica: Replica, loop: asyncio.Runner) -> None:
    """Until it answers: on a busy machine Triton may say that it is ready while it takes its model for dead."""

    async def asked() -> None:
        async with TensorRTLLM.connect(url) as one:
            await one(model="words", prompt="are you there?", max_tokens=10)

    for tries_left in (2, 1, 0):
        replica.start()
        try:
            loop.run(asked())
            return
        except BackendError as fault:
            replica.stop()
            if not tries_left:
                raise
            print(f"started again: {fault}", flush=True)


@contextmanager
def gateway(urls: list[str]) -> Iterator[str]:
    """`cachelayer serve` in front of the replicas."""
    port = free_port()
    upstreams = [word for url in urls for word in ("--upstream", url)]
    command = [sys.executable, "-m", "cachelayer", "serve", *upstreams, "--port", str(port)]
    process = subprocess.Popen([*command, "--semantic", "off", "--log", "off"])
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(40)


def failed(seen: Counter[str], told: str) -> None:
    """Count an error before the first word, and tell of the first one."""
    seen[EARLY] += 1
    if seen[EARLY] == 1:
        print(f"the first error: {told}", flush=True)


async def stream(client: httpx.AsyncClient, prompt: str, seen: Counter[str]) -> None:
    """One stream, counted by how it went."""
    words = 0
    asked = {"model": "words", "prompt": prompt, "stream": True, "max_tokens": 100}
    async with client.stream("POST", "/v1/completions", json=asked) as answer:
        how = "hit" if "; hit" in answer.headers.get("cache-status", "") else "miss"
        if answer.status_code != 200:
            failed(seen, (await answer.aread()).decode())
            return
        async for line in answer.aiter_lines():
            if line == "data: [DONE]":
                seen[f"complete, {how}"] += 1
                return
            if line.startswith("data:"):
                event = json.loads(line[5:])
                if "error" in event:
                    if words:
                        seen["cut, ended by an error event"] += 1
                    else:
                        failed(seen, line)
                    return
                words += bool(event["choices"] and event["choices"][0]["text"])
    seen["CUT WITHOUT A WORD ABOUT IT"] += 1


async def traffic(url: str, mortal: Replica, options: argparse.Namespace) -> Counter[str]:
    """Clients that stream while one replica is killed and restored."""
    seen: Counter[str] = Counter()
    over = time.monotonic() + options.seconds
    headers = {"authorization": "Bearer example"}
    limits = httpx.Limits(max_connections=options.clients)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as client:

        async def one(number: int) -> None:
            turn = 0
            while time.monotonic() < over:
                turn += 1
                topic = f"client {number} round {turn}" if turn % 2 else "what everybody asks"
                await stream(
                    client, f"{topic}: one two three four five six seven eight nine ten eleven", seen
                )

        running = [asyncio.ensure_future(one(number)) for number in range(options.clients)]
        await asyncio.sleep(options.seconds / 4)
        print("a replica is killed", flush=True)
        await asyncio.to_thread(mortal.kill)
        await asyncio.sleep(options.seconds / 4)
        print("and restored", flush=True)
        await asyncio.to_thread(mortal.start)
        await asyncio.gather(*running)
    return seen


def main() -> int:
    """Start everything, let clients stream, tell what they saw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of traffic (default: 8)")
    parser.add_argument("--clients", type=int, default=8, help="that stream at once (default: 8)")
    options = parser.parse_args()
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        loop = stack.enter_context(asyncio.Runner())  # one for all: gRPC complains where another ended before
        found = replicas(work)
        for one, replica in found.items():
            begin(one, replica, loop)
            stack.callback(replica.stop)
        print(f"two replicas: {', '.join(found)}", flush=True)
        url = stack.enter_context(gateway([*found]))
        seen = loop.run(traffic(url, next(iter(found.values())), options))
    for what, count in sorted(seen.items()):
        print(f"{count:6}  {what}")
    return 1 if any(what.isupper() for what in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
