"""The fixtures that all tests share keep what they promise."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest


async def test_the_meter_names_the_callback_that_held_the_loop(stall: Any) -> None:
    def busy_callback() -> None:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass

    asyncio.get_running_loop().call_soon(busy_callback)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert stall.seconds >= 0.02
    assert "busy_callback" in stall.callback


async def test_a_server_can_listen_on_a_free_port(free_port: Callable[[], int]) -> None:
    first, second = free_port(), free_port()
    assert first != second
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", first)
    _, writer = await asyncio.open_connection("127.0.0.1", first)
    writer.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", second)


def test_a_connection_beyond_loopback_is_refused() -> None:
    with socket.socket() as client, pytest.raises(RuntimeError, match="loopback only"):
        client.connect(("192.0.2.1", 80))
