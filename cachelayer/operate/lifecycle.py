"""From when to when a layer is open: `async with`, `with` for programs without a loop, and a framework's lifespan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from ..durations import Duration, seconds
from ..errors import CacheLayerError
from ..flow.loops import running_loop
from ..flow.portal import Portal


class Lifecycle:
    """What `CacheLayer` offers to begin and to end it."""

    _portal: Portal

    async def start(self) -> None:
        """Connect and load models: when it returns, every tier serves. Without it, tiers start when first used."""
        raise NotImplementedError

    async def _stop(self, limit: float) -> None:
        """Finish background writes within `limit` seconds, then stop everything but the portal."""
        raise NotImplementedError

    async def aclose(self, timeout: Duration = "5s") -> None:
        """Finish background writes within `timeout`, then stop everything."""
        try:
            await self._stop(seconds("timeout", timeout))
        finally:
            self._portal.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        """For plain programs. Raises CacheLayerError where a loop runs in this thread, which must not be blocked."""
        if running_loop() is not None:
            raise CacheLayerError("a loop runs here, which this would block: use `async with layer`")
        self._portal.run(self.start())
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._portal.run(self._stop(5.0))
        finally:
            self._portal.close()

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """For `FastAPI(lifespan=layer.lifespan)` and similar frameworks."""
        async with self:
            yield
