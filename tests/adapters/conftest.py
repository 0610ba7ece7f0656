"""A Redis for the adapters, and the helpers of their neighbours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for place in (".", "../redis", "../http"):
    sys.path.insert(0, str(Path(__file__).parent / place))  # helpers; test directories are no packages

from redis_servers import Server  # noqa: E402 - found in the directories above


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis") / "adapters").start()
    yield server
    server.kill()
