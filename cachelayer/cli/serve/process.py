"""Runs the gateway's app under uvicorn, in one process or several."""

from __future__ import annotations

import importlib
import os
import signal
from types import FrameType
from typing import Any

import orjson

from ...errors import MissingExtra
from .config import Places, build
from .gateway import Gateway
from .parts import Config

HANDED = "_CACHELAYER_SERVE"
"""The environment variable that hands the checked settings to worker processes."""


def app() -> Gateway:
    """A worker's app: called by uvicorn in each process."""
    return Gateway(build(orjson.loads(os.environ[HANDED]), Places("settings handed to a worker", "")))


def serve(config: Config) -> int:
    """Serve until told to stop; the exit status. Raises MissingExtra."""
    try:
        uvicorn: Any = importlib.import_module("uvicorn")
    except ImportError:
        raise MissingExtra("cachelayer serve", "uvicorn", "serve") from None
    part = config.server
    options: dict[str, Any] = {
        "host": part.host, "port": part.port, "log_level": "warning", "access_log": False, "lifespan": "on",
        "timeout_graceful_shutdown": round(part.drain), "backlog": part.backlog, "server_header": False,
        "date_header": True,
    }  # fmt: skip
    if part.tls_cert:
        options |= {"ssl_certfile": part.tls_cert, "ssl_keyfile": part.tls_key}
    if part.workers > 1:
        os.environ[HANDED] = orjson.dumps(config.plain()).decode()
        uvicorn.run("cachelayer.cli.serve.process:app", factory=True, workers=part.workers, **options)
        return 0
    gateway = Gateway(config)

    class Server(uvicorn.Server):  # type: ignore[misc]
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Drain; at the second SIGINT stop. (uvicorn's own would end the process by the signal afterwards.)"""
            gateway.draining = True
            self.force_exit = bool(gateway.stopping) and sig == signal.SIGINT
            self.should_exit = gateway.stopping = True

    Server(uvicorn.Config(gateway, **options)).run()
    return 0
