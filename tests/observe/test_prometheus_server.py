"""A real Prometheus scrapes a real gateway: PromQL's answers are those of the traffic, a flush raises the alarm."""

from __future__ import annotations

import asyncio
import html
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
import yaml

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

MONITORING = Path(__file__).resolve().parents[2] / "examples/deploy/monitoring"
DASHBOARD = json.loads((MONITORING / "grafana/dashboard.json").read_text())
PATIENCE = 40.0


class Served:
    """An ASGI application served by uvicorn in a thread of its own."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(app, port=0, log_level="error", lifespan="on")
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        until(lambda: self.server.started)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def _run(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.server.serve())
        self.loop.close()

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(10)


async def model(scope: Any, receive: Any, send: Any) -> None:
    """An OpenAI-style server that answers at once."""
    if scope["type"] == "lifespan":
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    message = {"role": "assistant", "content": "yes"}
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def until(true: Callable[[], Any]) -> Any:
    """What `true()` gives once it gives something."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return found


@pytest.fixture
def gateway() -> Iterator[tuple[Gateway, Served]]:
    behind = Served(model)
    settings = {"cache.semantic": "off", "server.log": "off", "server.metrics": True, "callers.public": True}
    gateway = Gateway(load(None, {}, {"upstream": [{"url": behind.url}], **settings}))
    served = Served(gateway)
    yield gateway, served
    served.stop()
    behind.stop()


@pytest.fixture
def prometheus(tmp_path: Path, free_port: Callable[[], int], gateway: Any) -> Iterator[str]:
    """The address of a Prometheus that scrapes the gateway, with the alert rules at a pace for tests."""
    if shutil.which("prometheus") is None:
        pytest.skip("needs the Debian package prometheus: run dev.py test")
    rules = (MONITORING / "alerts.yml").read_text()
    for slow, fast in (("[1m]", "[3s]"), ("[1h]", "[60s]"), ("for: 30s", "for: 1s")):
        assert slow in rules
        rules = rules.replace(slow, fast)
    (tmp_path / "alerts.yml").write_text(rules)
    config = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "500ms"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [gateway[1].url.removeprefix("http://")]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus", f"--web.listen-address={address}", f"--config.file={tmp_path}/prometheus.yml",
               f"--storage.tsdb.path={tmp_path}/data", "--log.level=error"]  # fmt: skip
    process = subprocess.Popen(command)
    try:
        until(lambda: _ready(f"http://{address}"))
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready").status_code == 200
    except httpx.TransportError:
        return False


def ask(url: str, questions: list[str]) -> None:
    """Ask them all, a few at a time."""
    with httpx.Client(base_url=url, timeout=PATIENCE) as client, ThreadPoolExecutor(4) as threads:

        def one(question: str) -> None:
            messages = [{"role": "user", "content": question}]
            client.post("/v1/chat/completions", json={"model": "m", "messages": messages}).raise_for_status()

        list(threads.map(one, questions))


def answer(prometheus: str, query: str, at: float | None = None) -> float | None:
    """Now, or as of a moment."""
    asked = {"query": query} if at is None else {"query": query, "time": at}
    told = httpx.get(f"{prometheus}/api/v1/query", params=asked, timeout=PATIENCE).json()["data"]["result"]
    return float(told[0]["value"][1]) if told else None


def scraped(prometheus: str, requests: int) -> float:
    """The moment of a scrape that saw so many. A later one may run over its time, and nothing is known from then on."""
    query = f"max(timestamp(cachelayer_requests_total)) and sum(cachelayer_requests_total) == {requests}"
    seen: float = until(lambda: answer(prometheus, query))
    return seen


def test_promql_s_answers_are_those_of_the_traffic(gateway: Any, prometheus: str) -> None:
    ask(gateway[1].url, [f"question {i}" for i in range(10)])
    ask(gateway[1].url, [f"question {i % 10}" for i in range(40)])
    told = partial(answer, prometheus, at=scraped(prometheus, 50))
    misses = 'sum(cachelayer_requests_total{match="none"}) / sum(cachelayer_requests_total)'
    assert told(misses) == pytest.approx(0.2)
    assert told("sum(cachelayer_calls_total)") == 10
    assert told("sum(cachelayer_entries)") == 10
    assert told('sum(cachelayer_stage_seconds_count{stage="backend"})') == 10
    slow = 'histogram_quantile(0.99, sum by (le) (cachelayer_request_seconds_bucket{result="miss"}))'
    assert 0 < (told(slow) or 0) < 10
    assert told("up") == 1


def test_the_alarm_goes_off_when_the_cache_is_flushed_under_load(gateway: Any, prometheus: str) -> None:
    app, served = gateway
    questions, flushed, over = [f"question {i}" for i in range(20)], threading.Event(), threading.Event()

    def load() -> None:
        while not over.is_set():
            ask(served.url, questions)
            if flushed.is_set():
                asyncio.run_coroutine_threadsafe(app.layer.erase(), served.loop).result(PATIENCE)

    loading = threading.Thread(target=load)
    loading.start()
    try:
        until(lambda: (answer(prometheus, "cachelayer:hit_rate:1m") or 0) > 0.8)
        assert firing(prometheus) == set()
        flushed.set()
        until(lambda: "CacheHitRateCollapsed" in firing(prometheus))
    finally:
        over.set()
        loading.join()


def firing(prometheus: str) -> set[str]:
    alerts = httpx.get(f"{prometheus}/api/v1/alerts", timeout=PATIENCE).json()["data"]["alerts"]
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def test_every_panel_is_drawn_from_a_prometheus_answers(
    gateway: Any, prometheus: str, tmp_path: Path
) -> None:
    ask(gateway[1].url, [f"question {i % 10}" for i in range(40)])
    scraped(prometheus, 40)
    more = count()

    def drawable() -> bool:
        """A rate needs traffic between two scrapes, of each kind."""
        ask(gateway[1].url, ["question 1", f"one more {next(more)}"])
        kinds = "count(sum by (match) (rate(cachelayer_requests_total[5s])) > 0)"
        return answer(prometheus, kinds) == 2

    until(drawable)
    out = tmp_path / "page.html"
    command = [sys.executable, MONITORING / "draw.py", "--prometheus", prometheus, "--last", "10"]
    subprocess.run([*command, "--window", "5s", "--out", out], check=True)
    page = out.read_text()
    for panel in DASHBOARD["panels"]:
        assert html.escape(panel["title"]) in page
    assert page.count("<svg") >= 6 and "memory exact" in page and "backend none" in page
