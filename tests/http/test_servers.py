"""The same line works in every framework and under every server, whole and streamed, as the openai client sees it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

FRAMEWORKS = ("starlette", "fastapi", "litestar", "quart", "django", "bare")
SERVERS = {
    "uvicorn": "uvicorn --port {port} --log-level error framework_apps:app",
    "hypercorn": "hypercorn --bind 127.0.0.1:{port} --log-level error framework_apps:app",
    "granian": "granian --interface asgi --port {port} --log-level error --workers 1 framework_apps:app",
}
HERE = Path(__file__).parent


@pytest.fixture
def running(free_port: Callable[[], int]) -> Iterator[Callable[[str], tuple[str, Callable[[], str]]]]:
    """Starts a server: its URL, and what ends it and says what it printed."""
    processes: list[subprocess.Popen[str]] = []

    def start(server: str) -> tuple[str, Callable[[], str]]:
        port = free_port()
        program, *words = SERVERS[server].format(port=port).split()
        script = Path(sys.executable).parent / program
        command = [str(script)] if script.exists() else [sys.executable, "-m", program]
        process = subprocess.Popen([*command, *words], cwd=HERE, stdout=subprocess.PIPE, text=True)
        processes.append(process)

        def end() -> str:
            process.send_signal(signal.SIGTERM)
            return process.communicate(timeout=20)[0]

        _post(f"http://127.0.0.1:{port}/open", {}, lambda: process.poll() is None)
        return f"http://127.0.0.1:{port}", end

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _post(url: str, body: Any, alive: Callable[[], bool] = bool) -> None:
    """POST, again while nobody listens yet."""
    give_up = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=20).close()
            return
        except urllib.error.URLError:
            assert alive() and time.monotonic() < give_up, "the server does not start"
            time.sleep(0.05)


@pytest.mark.parametrize("server", SERVERS)
def test_the_line_works_in_every_framework(running: Any, server: str) -> None:
    """Three of four are hits, in the caller's form; a stream's first event comes while the rest is not made yet."""
    url, end = running(server)
    for framework in FRAMEWORKS:
        with openai.OpenAI(
            base_url=f"{url}/v1",
            api_key="k",
            max_retries=0,
            timeout=20,
            default_headers={"x-framework": framework},
        ) as client:
            create = client.chat.completions.with_raw_response.create
            asked: dict[str, Any] = {
                "model": "m",
                "messages": [{"role": "user", "content": f"hello {framework}"}],
            }
            text = f"You said: hello {framework}"
            first = create(**asked, stream=True)
            chunks = iter(first.parse())
            told = [next(chunks)]
            _post(f"{url}/open", {"say": text})
            told += list(chunks)
            answers = [create(**asked, stream=stream) for stream in (True, False, False)]
            texts = ["".join(chunk.choices[0].delta.content or "" for chunk in told)]
            texts += ["".join(c.choices[0].delta.content or "" for c in answers[0].parse())]
            texts += [answer.parse().choices[0].message.content for answer in answers[1:]]
            kinds = [answer.headers["content-type"].partition(";")[0] for answer in (first, *answers)]
        hits = ["hit" in answer.headers["cache-status"] for answer in (first, *answers)]
        assert hits == [False, True, True, True], framework
        assert set(texts) == {text}, framework
        assert kinds == [*["text/event-stream"] * 2, *["application/json"] * 2], framework
    said = end().split("\n")
    for framework in FRAMEWORKS:
        assert f"started {framework}" in said and f"closed {framework}" in said
