"""The layer starts and ends with the server: the ASGI lifespan protocol, whether the app behind speaks it or not."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from cachelayer import CacheLayer
from cachelayer.layer import engine_of

from .exchange import App, Message, Receive, Send

_STOP = "lifespan.shutdown"
_STARTED, _STOPPED = "lifespan.startup.complete", "lifespan.shutdown.complete"


class Lifespan:
    """Passes the lifespan on; the layer starts before the app says that it has, and is drained after it stopped."""

    def __init__(self, app: App, layer: CacheLayer) -> None:
        self.app, self.layer = app, layer

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        asked: list[str] = []
        answered: list[str] = []

        async def hear() -> Message:
            message = await receive()
            asked.append(message["type"])
            return message

        async def tell(message: Message) -> None:
            if message["type"] == _STARTED:
                await self._start()
            elif message["type"] == _STOPPED or message["type"] == "lifespan.shutdown.failed":
                await self.layer.aclose()
            await send(message)
            answered.append(message["type"])

        with _Unheard(asked):
            try:
                await self.app(scope, hear, tell)
            except Exception:
                if asked and asked[-1] == _STOP:
                    await self.layer.aclose()
                raise
        if not answered or answered[-1] == _STARTED:
            await self._alone(asked, bool(answered), receive, send)

    async def _start(self) -> None:
        """Models load, connections open. A fault of the cache keeps no server from starting."""
        with engine_of(self.layer).faults.guard("start"):
            await self.layer.start()

    async def _alone(self, asked: list[str], started: bool, receive: Receive, send: Send) -> None:
        """What the app does not do, or no more."""
        if not asked:
            asked.append((await receive())["type"])
        if not started and asked[-1] != _STOP:
            await self._start()
            await send({"type": _STARTED})
        if asked[-1] != _STOP:
            await receive()
        await self.layer.aclose()
        await send({"type": _STOPPED})


class _Unheard:
    """An app without a lifespan raises at the sight of one, before it has `asked` anything: that is no failure."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        return isinstance(fault, Exception) and not self._asked
