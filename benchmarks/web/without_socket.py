"""Requests through uvicorn's own protocol under uvloop, without a socket: what a server's process does for each."""

from __future__ import annotations

import asyncio
from typing import Any

import uvloop
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from . import apps, load

PAUSE = 0.0011
"""Seconds after every fourth request: what is kept in the background has its turn."""


class Wire(asyncio.Transport):
    """Takes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.out: list[bytes] = []

    def write(self, data: Any) -> None:
        self.out.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


def serve(app: str, requests: int, *, stream: bool = False, again: bool = False) -> None:
    """Answer so many requests of `apps`' app of that name: all different, or one `again` and again."""

    async def answered() -> None:
        config = Config(app=getattr(apps, app), access_log=False, log_level="warning", lifespan="off")
        config.load()
        protocol = HttpToolsProtocol(config=config, server_state=ServerState(), app_state={})
        wire = Wire()
        protocol.connection_made(wire)
        for number in range(requests):
            body = apps.chat_body(0 if again else number, stream=stream)
            head = b"POST %b HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n" % (
                apps.CHAT.encode(),
                load.HEADERS,
                len(body),
            )
            protocol.data_received(head + body)
            while not wire.out or not protocol.cycle.response_complete:  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0)
            wire.out.clear()
            if number % 4 == 3:
                await asyncio.sleep(PAUSE)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(answered())
