"""Servers under the middleware, and gateways side by side."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from . import apps
from .load import Connection, cpu_of, free_port, process, uvicorn, wrk

SERVERS = {
    "uvicorn, h11, asyncio": ["uvicorn", "--http", "h11", "--loop", "asyncio"],
    "uvicorn, httptools, asyncio": ["uvicorn", "--http", "httptools", "--loop", "asyncio"],
    "uvicorn, httptools, uvloop": ["uvicorn", "--http", "httptools", "--loop", "uvloop"],
    "hypercorn, asyncio": ["hypercorn"],
    "granian, asyncio": ["granian", "--loop", "asyncio"],
    "granian, uvloop": ["granian", "--loop", "uvloop"],
}


def _command(words: list[str], app: str, port: int) -> list[str]:
    if words[0] == "uvicorn":
        return uvicorn(app, port, *words[1:])
    if words[0] == "hypercorn":
        return [sys.executable, "-m", "hypercorn", app, "--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    return [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(port), "--log-level", "error",
            "--workers", "1", *words[1:], app]  # fmt: skip


def servers(rounds: int = 3) -> dict[str, Any]:
    """Hits a second through one process of each server, in turns."""
    body = apps.chat_body()
    with ExitStack() as stack:
        running = {}
        for name, words in SERVERS.items():
            port = free_port()
            running[name] = (
                port,
                stack.enter_context(process(_command(words, "web.apps:cached", port), port)),
            )
            Connection(port).post(apps.CHAT, body)
        found: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(rounds):
            for name, (port, _) in running.items():
                found[name].append(wrk(port, apps.CHAT, body, seconds=2))
    return {name: {"hits_per_s": round(statistics.median(rates))} for name, rates in found.items()}


LITELLM = """
model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "http://127.0.0.1:{port}/v1", api_key: sk-bench}}
litellm_settings:
  cache: true
  cache_params: {{type: local, ttl: 3600}}
  telemetry: false
"""


def gateways(litellm: str | None, rounds: int = 5) -> dict[str, Any]:
    """Hits a second through each gateway, one process each, the same upstream and the same client."""
    body = apps.chat_body()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        behind = free_port()
        stack.enter_context(process(uvicorn("web.apps:plain", behind), behind))
        running: dict[str, tuple[int, int]] = {}
        port = free_port()
        ours = [sys.executable, "-m", "cachelayer", "serve", "--semantic", "off"]
        ours += ["--upstream", f"http://127.0.0.1:{behind}", "--port", str(port)]
        running["cachelayer serve, logs off"] = (
            port,
            stack.enter_context(process([*ours, "--log", "off"], port)),
        )
        port = free_port()
        ours[ours.index("--port") + 1] = str(port)
        running["cachelayer serve, a log line a request"] = (port, stack.enter_context(process(ours, port)))
        if litellm:
            (folder / "litellm.yaml").write_text(LITELLM.format(port=behind))
            port = free_port()
            words = [
                litellm,
                "--config",
                str(folder / "litellm.yaml"),
                "--port",
                str(port),
                "--host",
                "127.0.0.1",
            ]
            env = {
                "LITELLM_MASTER_KEY": "sk-bench",
                "LITELLM_TELEMETRY": "False",
                "PYTHONPATH": "",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            }
            running["LiteLLM proxy, local cache"] = (port, stack.enter_context(process(words, port, env=env)))
        checks = {}
        for name, (port, _) in running.items():
            connection = Connection(port)
            answers = [
                json.loads(connection.post(apps.CHAT, body)[2].partition(b"\r\n\r\n")[2]) for _ in range(2)
            ]
            checks[name] = answers[1]["choices"][0]["message"]["content"] == apps.WORDS
        found: dict[str, list[float]] = {name: [] for name in running}
        cpu: dict[str, list[float]] = {name: [] for name in running}
        for at in range(rounds + 1):
            for name, (port, pid) in running.items():
                before = cpu_of(pid)
                rate = wrk(port, apps.CHAT, body, seconds=2)
                if at:
                    found[name].append(rate)
                    cpu[name].append(rate * 2 / max(cpu_of(pid) - before, 0.01))
    result: dict[str, Any] = {
        name: {"hits_per_s": round(statistics.median(rates)), "hits_per_cpu_s": round(statistics.median(cpu[name])),
               "right": checks[name]}
        for name, rates in found.items()
    }  # fmt: skip
    peer = result.get("LiteLLM proxy, local cache")
    if peer:
        result["times_litellm"] = round(
            result["cachelayer serve, logs off"]["hits_per_s"] / peer["hits_per_s"], 1
        )
    return result
