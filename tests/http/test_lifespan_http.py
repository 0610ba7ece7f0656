"""The lifespan is the app's and the layer's: both start and end with the server, and no failure of an app is lost."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer

UP, DOWN = "lifespan.startup.complete", "lifespan.shutdown.complete"


class Layer(CacheLayer):
    """Tells of its life."""

    def __init__(self) -> None:
        super().__init__(semantic=False)
        self.life: list[str] = []

    async def start(self) -> None:
        await super().start()
        self.life.append("started")

    async def aclose(self, timeout: Any = "5s") -> None:
        await super().aclose(timeout)
        self.life.append("closed")


async def lived(app: Any) -> tuple[list[str], list[str], str]:
    """What the server was told, what the layer did, and what was raised."""
    layer, told, raised = Layer(), list[str](), ""
    asked = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return asked.pop(0)

    async def send(message: Any) -> None:
        assert message["type"].startswith("lifespan."), message
        told.append(message["type"])

    try:
        await CacheLayerMiddleware(app, layer=layer)({"type": "lifespan"}, receive, send)
    except RuntimeError as fault:
        raised = str(fault)
    return told, layer.life, raised


async def plain(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"


async def careless(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def silent(scope: Any, receive: Any, send: Any) -> None:
    return


async def brief(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": UP})


@pytest.mark.parametrize("app", [Upstream(), plain, careless, silent, brief])
async def test_the_layer_starts_and_ends_with_the_server(app: Any) -> None:
    assert await lived(app) == ([UP, DOWN], ["started", "closed"], "")


async def test_an_app_that_fails_to_start_is_not_taken_for_one_without_a_lifespan() -> None:
    async def raises(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise RuntimeError("no database")

    async def says_so(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    assert await lived(raises) == ([], [], "no database")
    assert await lived(says_so) == (["lifespan.startup.failed"], [], "")


async def test_the_layer_is_drained_though_the_app_fails_to_stop() -> None:
    async def raises(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": UP})
        await receive()
        raise RuntimeError("it hangs")

    assert await lived(raises) == ([UP], ["started", "closed"], "it hangs")
