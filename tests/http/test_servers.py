"""The same line works under every server and in every framework at hand."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

APPS = """
import sys
sys.path[:0] = {paths!r}
from cachelayer import CacheLayer
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

def layer():
    return CacheLayer(semantic=False)

bare = CacheLayerMiddleware(Upstream(), layer=layer())

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount
starlette = Starlette(
    routes=[Mount("/", Upstream())],
    middleware=[Middleware(GZipMiddleware), Middleware(CacheLayerMiddleware, layer=layer())],
)

from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse
fastapi = FastAPI()
fastapi.add_middleware(GZipMiddleware, minimum_size=1)
fastapi.add_middleware(CacheLayerMiddleware, layer=layer())

@fastapi.post("/v1/chat/completions", response_model=None)
async def chat(body: dict):
    told = Upstream()
    script = {{"say": body["messages"][-1]["content"]}}
    if body.get("stream"):
        return StreamingResponse(iter(told.events(body, script, True)), media_type="text/event-stream")
    return JSONResponse(told.whole(body, script, True))
"""
SERVERS = {
    "uvicorn": ["uvicorn", "--port", "{port}", "--log-level", "error"],
    "hypercorn": ["hypercorn", "--bind", "127.0.0.1:{port}", "--log-level", "error"],
    "granian": [
        "granian",
        "--interface",
        "asgi",
        "--port",
        "{port}",
        "--log-level",
        "error",
        "--workers",
        "1",
    ],
}


@pytest.fixture
def running(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Callable[[str, str], str]]:
    processes = []

    def start(server: str, app: str) -> str:
        port = free_port()
        (tmp_path / "apps.py").write_text(APPS.format(paths=[str(Path(__file__).parent), str(tmp_path)]))
        words = [word.format(port=port) for word in SERVERS[server]]
        command = [str(Path(sys.executable).parent / words[0])]
        if not Path(command[0]).exists():
            command = [sys.executable, "-m", words[0]]
        processes.append(subprocess.Popen([*command, *words[1:], f"apps:{app}"], cwd=tmp_path))
        return f"http://127.0.0.1:{port}/v1"

    yield start
    for process in processes:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("server", "app"), [
    ("uvicorn", "bare"), ("uvicorn", "starlette"), ("uvicorn", "fastapi"), ("hypercorn", "fastapi"),
    ("granian", "fastapi"),
])  # fmt: skip
def test_the_line_works(running: Any, server: str, app: str) -> None:
    with openai.OpenAI(base_url=running(server, app), api_key="k", max_retries=0) as client:
        messages: list[Any] = [{"role": "user", "content": "hello"}]
        create = client.chat.completions.with_raw_response.create
        give_up = time.monotonic() + 30
        while True:
            try:
                answers = [create(model="m", messages=messages)]
                break
            except openai.APIConnectionError:
                assert time.monotonic() < give_up, f"{server} does not start"
                time.sleep(0.05)
        answers += [create(model="m", messages=messages, stream=stream) for stream in (False, True, True)]
        hits = ["hit" in answer.headers["cache-status"] for answer in answers]
        texts = [answer.parse() for answer in answers]
        told = [t.choices[0].message.content for t in texts[:2]]  # type: ignore[union-attr]
        told += ["".join(c.choices[0].delta.content or "" for c in stream) for stream in texts[2:]]  # type: ignore
    assert hits == [False, True, True, True] and len(set(told)) == 1
