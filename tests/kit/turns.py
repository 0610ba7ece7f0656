"""Turns of the event loop, and tasks that are given up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


async def turns(n: int = 5) -> None:
    """Let all others run for as many turns of the loop."""
    for _ in range(n):
        await asyncio.sleep(0)


async def cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel it, and see that this is how it ends."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def given_up(task: asyncio.Future[Any]) -> None:
    """Cancel it, and wait until it has ended, however it does."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
