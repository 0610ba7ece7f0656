"""A gateway in front of two Triton replicas: one is killed and brought back while clients stream.

    python3 dev.py test --collect-only     # once: brings Triton into .venv-triton
    python examples/two_replicas.py

The servers are real tritonservers on the CPU with the models that the tests use, which say what their prompt tells
them to; the gateway is `cachelayer serve`; the clients are the official openai package. What must hold: a client
that had nothing yet never sees the death of a replica, a stream that was cut says so, and what was answered once
is answered without a model.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import openai

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/backend/standins"))

# ruff: noqa: E402  the tests' servers are not a package
from script import prompt
from triton_server import TritonServer

CLIENTS = 8


class Clients:
    """People who ask through the gateway, and what became of their streams."""

    def __init__(self, url: str, gate: Path) -> None:
        self.openai = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="demo", max_retries=0, timeout=60)
        self.gate = gate
        """Models wait for this file after three tokens."""
        self.began: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
        """Released by each stream of a wave with its first text."""

    async def ask(self, wave: str, number: int) -> str:
        """'whole', 'cut' (an error event after the first text) or 'failed' (an error before it)."""
        text = f"The answer to question {number} of the {wave} wave."
        asked = prompt(text, hold=str(self.gate), hold_after=3)
        heard = ""
        try:
            stream = await self.openai.completions.create(
                model="llmapi", prompt=asked, max_tokens=64, stream=True
            )
            async for chunk in stream:
                if not heard:
                    self.began[wave].release()
                heard += chunk.choices[0].text
        except openai.APIError:
            return "cut" if heard else "failed"
        return "whole" if heard == text else "garbled"

    def start(self, wave: str) -> list[asyncio.Task[str]]:
        """All clients at once."""
        return [asyncio.create_task(self.ask(wave, number)) for number in range(CLIENTS)]

    async def streaming(self, wave: str, count: int = CLIENTS) -> None:
        """Wait until so many of a wave have had their first text."""
        async with asyncio.timeout(60):
            for _ in range(count):
                await self.began[wave].acquire()


def start_gateway(replicas: list[TritonServer]) -> tuple[subprocess.Popen[bytes], str]:
    """`cachelayer serve` in a process of its own; the process and its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "cachelayer", "serve", "--port", str(port), "--semantic", "off"]
    for replica in replicas:
        command += ["--upstream", f"triton://{replica.address}/llmapi"]
    return subprocess.Popen([*command, "--log", "off"]), f"http://127.0.0.1:{port}"


async def up(url: str) -> None:
    """Wait until the gateway listens."""
    port = int(url.rpartition(":")[2])
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


class Story:
    """What happens, and how it is told."""

    def __init__(self, replicas: list[TritonServer], clients: Clients) -> None:
        self.replicas, self.clients = replicas, clients
        self.seen = [0, 0]

    def tell(self, wave: str, *waves: list[str]) -> None:
        """How the streams of a phase ended, and which replica began how many."""
        begun = [sum(event == "start" for _, event, _ in replica.events()) for replica in self.replicas]
        calls = [now - before for now, before in zip(begun, self.seen, strict=True)]
        self.seen = begun
        counts = "; ".join(
            ", ".join(f"{n} {end}" for end, n in sorted(Counter(ends).items())) for ends in waves
        )
        print(f"{wave:<52} {counts:<26} begun by A, B: {calls[0]}, {calls[1]}", flush=True)

    async def run(self) -> None:
        """Kill, go on, bring back, repeat."""
        clients, victim = self.clients, self.replicas[0]
        first = clients.start("first")
        await clients.streaming("first")
        victim.kill()
        second = clients.start("second")
        await clients.streaming("second", 1)  # the others queue: B takes no more than it can serve
        clients.gate.touch()
        ends = await asyncio.gather(*first), await asyncio.gather(*second)
        self.tell("streaming when A is killed; asked after that:", *ends)
        restart = asyncio.create_task(asyncio.to_thread(victim.start))
        meanwhile: list[str] = []
        while not restart.done():
            meanwhile += await asyncio.gather(*clients.start(f"meanwhile {len(meanwhile)}"))
        await restart
        self.tell("asked while A comes back:", meanwhile)
        after: list[str] = []
        async with asyncio.timeout(60):
            while sum(event == "start" for _, event, _ in victim.events()) == self.seen[0]:
                after += await asyncio.gather(*clients.start(f"after {len(after)}"))
        self.tell("asked until A has work again:", after)
        self.tell("asked once more, word for word:", await asyncio.gather(*clients.start("second")))


async def main() -> None:
    """The whole story."""
    with tempfile.TemporaryDirectory() as folder:
        replicas = []
        gateway: subprocess.Popen[bytes] | None = None
        try:
            for name in "AB":
                (Path(folder) / name).mkdir()
                replicas.append(TritonServer(Path(folder) / name))
                replicas[-1].start()
            gateway, url = start_gateway(replicas)
            await up(url)
            await Story(replicas, Clients(url, Path(folder) / "gate")).run()
        finally:
            if gateway is not None:
                gateway.terminate()
                gateway.wait()
            for replica in replicas:
                replica.stop()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except RuntimeError as error:
        sys.exit(str(error))
