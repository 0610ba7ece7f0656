from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path


async def until(happened: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when `happened()` is true; fail when it is not within a generous bound."""
    async with asyncio.timeout(seconds):
        while not happened():
            await asyncio.sleep(0.001)


def open_gate(path: Path) -> None:
    """Let the models go on whose script holds at `path`."""
    path.touch()
