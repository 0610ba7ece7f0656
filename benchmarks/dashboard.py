"""A picture of the dashboard: a layer under load, a real Prometheus that scrapes it, every panel from its answers.

    python benchmarks/dashboard.py --seconds 150 --html dashboard.html --png docs/dashboard.png

The demo's questions come as streams at 30 a second; half way the backend changes its answers, then Redis is stopped,
then the cache is flushed, so that the panels have something to show. Needs prometheus, redis-server and chromium.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from record import parser_of

from cachelayer import CacheLayer, Policy
from cachelayer.cli.demo.corpus import Corpus, load
from cachelayer.cli.demo.stream import Asked, traffic

MONITORING = Path(__file__).resolve().parents[1] / "examples/deploy/monitoring"
RATE = 30.0


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
    return port


class Desk:
    """A simulated model that streams the right article's answer, and can change its mind."""

    def __init__(self, stream: list[Asked], corpus: Corpus) -> None:
        self._says = {
            one.text: f"{one.label}. {corpus.articles[one.question.article].body}" for one in stream
        }
        self._rng = random.Random(3)
        self.changed = False

    async def answer(self, messages: list[dict[str, str]], model: str) -> AsyncIterator[dict[str, Any]]:
        await asyncio.sleep(self._rng.lognormvariate(-1.6, 0.4))
        words = self._says[messages[-1]["content"]].split()[:30] + ["Updated."] * self.changed
        for word in words:
            yield {"choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]}
            await asyncio.sleep(0.004 + 0.004 * self._rng.random())
        usage = {"prompt_tokens": 220, "completion_tokens": len(words), "total_tokens": 220 + len(words)}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}


async def loaded(seconds: float, port: int, store: str, stop_store: Callable[[], None]) -> None:
    """Serve the demo's questions for so long, with everything watched, and its metrics on `port`."""
    corpus, rng = load(), random.Random(5)
    stream = traffic(corpus, int(RATE * seconds), 1)
    desk = Desk(stream, corpus)
    layer = CacheLayer(policy=Policy(max_error_rate=0.02), store=store)
    layer.account(tenants=3)
    layer.quality()

    @layer.cached(name="help-desk")
    async def ask(messages: list[dict[str, str]], model: str) -> AsyncIterator[dict[str, Any]]:
        async for chunk in desk.answer(messages, model):
            yield chunk

    layer.compare(ask, desk.answer, share=0.1)
    server = uvicorn.Server(
        uvicorn.Config(layer.metrics().asgi(), port=port, log_level="error", lifespan="off")
    )
    serving = asyncio.create_task(server.serve())
    async with layer:
        begun = time.monotonic()

        async def one(text: str, tenant: str) -> None:
            with layer.scope(tenant=tenant):
                async for _ in ask(messages=[{"role": "user", "content": text}], model="gpt-4o-mini"):
                    pass

        async with asyncio.TaskGroup() as tasks:
            for place, asked in enumerate(stream):
                at = place / RATE
                await asyncio.sleep(max(begun + at - time.monotonic(), 0))
                desk.changed = at > 0.5 * seconds
                if at > 0.7 * seconds:
                    stop_store()
                if place == int(0.85 * len(stream)):
                    await layer.invalidate(
                        scope={"function": "help-desk"}
                    )  # Redis is away: an erasure would raise
                tasks.create_task(one(asked.text, rng.choice(("acme", "acme", "umbrella"))))
        await layer.flush()
        await asyncio.sleep(2)
        print(json.dumps(layer.stats()["functions"]["help-desk"]["hits"]))
    server.should_exit = True
    await serving


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--html", type=Path, default=Path("dashboard.html"))
    parser.add_argument("--png", type=Path)
    args = parser.parse_args()
    scraped, database, asked = free_port(), free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "prometheus.yml")
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 5s}\n"
            f"rule_files: [{MONITORING / 'alerts.yml'}]\n"
            f"scrape_configs: [{{job_name: cachelayer, static_configs: [{{targets: ['127.0.0.1:{scraped}']}}]}}]\n"
        )
        store = ("redis-server", "--port", str(database), "--save", "", "--maxmemory", "64mb",
                 "--maxmemory-policy", "allkeys-lfu", "--dir", folder)  # fmt: skip
        watch = ("prometheus", f"--web.listen-address=127.0.0.1:{asked}", f"--config.file={config}",
                 f"--storage.tsdb.path={folder}/data", "--log.level=error")  # fmt: skip
        with running(*store) as redis, running(*watch):
            time.sleep(1)
            asyncio.run(loaded(args.seconds, scraped, f"redis://127.0.0.1:{database}/0", redis.kill))
            draw = (sys.executable, MONITORING / "draw.py", "--prometheus", f"http://127.0.0.1:{asked}", "--window",
                    "10s", "--last", str(args.seconds + 5), "--out", args.html)  # fmt: skip
            subprocess.run([str(part) for part in draw], check=True)
    if args.png:
        shot = ("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1430,2160",
                f"--screenshot={args.png}", args.html.absolute().as_uri())  # fmt: skip
        subprocess.run(shot, check=True, stderr=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
