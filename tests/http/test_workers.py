"""`cachelayer serve --workers 2`: what one process answered the other finds, through Redis or one unix socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest
from redis_servers import Server as Redis
from upstream import Server, Upstream


@pytest.fixture(params=["redis", "unix"])
def store(request: Any, tmp_path: Path) -> Any:
    """A server for all machines, or for this one alone: (its URL, how many entries it holds)."""
    options = ["--unixsocket", str(tmp_path / "s")] if request.param == "unix" else []
    server = Redis(tmp_path / "redis", *options).start()
    yield (f"unix://{tmp_path / 's'}?lag=5s" if options else server.url), lambda: server.do("DBSIZE")
    server.kill()


def test_several_worker_processes_share_what_they_know(
    store: Any, serving: Callable[..., Server], upstream: Upstream, free_port: Callable[[], int]
) -> None:
    url, entries = store
    port = free_port()
    key = {"TENANT": "acme", "ENV": "K", "TRUSTED": "true"}
    environment = {**os.environ, **{f"CACHELAYER_KEY__0__{n}": v for n, v in key.items()}, "K": "sk-acme",
                   "CACHELAYER_CACHE__REDIS_BUDGET": "2s"}  # fmt: skip
    command = [sys.executable, "-m", "cachelayer", "serve", "--upstream", serving(upstream).url, "--port", str(port),
               "--workers", "2", "--redis", url, "--semantic", "off"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            for _ in range(2):
                assert json.loads(process.stdout.readline())["event"] == "started"
            first = _ask(port)
            give_up = time.monotonic() + 20
            while not entries():  # the write that follows the first answer
                assert time.monotonic() < give_up
            found = ""
            while "detail=redis" not in found:  # the kernel gave that connection to the other process
                found = _ask(port)
                assert "hit" in found and time.monotonic() < give_up, found
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert "stored" in first and len(upstream.requests) == 1


def _ask(port: int) -> str:
    """What the cache says of one question over a connection of its own."""
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-acme", max_retries=0, timeout=20
    ) as client:
        messages: Any = [{"role": "user", "content": "hello"}]
        create = client.chat.completions.with_raw_response.create
        return str(create(model="m", messages=messages).headers["cache-status"])
