"""Stand-ins of model servers, and a real tritonserver."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import TensorRTLLM
from serve_server import ServeStandin
from triton_server import TritonServer


@pytest.fixture(scope="session")
def triton_runs() -> None:
    """Skips where no Triton server can be had."""
    if sys.version_info >= (3, 13):
        pytest.skip("Triton's server from PyPI needs a numpy that this Python is too new for")


@pytest.fixture(scope="session")
def triton(triton_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """One real server for the whole run; tests that kill servers start their own."""
    server = TritonServer(tmp_path_factory.mktemp("triton"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
async def serve() -> AsyncIterator[ServeStandin]:
    server = ServeStandin()
    await server.start()
    yield server
    await server.crash()


class Connect:
    """Clients that are closed after the test."""

    def __init__(self) -> None:
        self.clients: list[TensorRTLLM] = []

    def __call__(self, server: ServeStandin | TritonServer, model: str = "", **options: Any) -> TensorRTLLM:
        scheme = "trtllm" if isinstance(server, ServeStandin) else "triton"
        self.clients.append(TensorRTLLM.connect(f"{scheme}://{server.address}/{model}", **options))
        return self.clients[-1]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    clients = Connect()
    yield clients
    for client in clients.clients:
        await client.aclose()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A path that a script's `hold` waits for; touching it lets the model go on."""
    return tmp_path / "gate"
