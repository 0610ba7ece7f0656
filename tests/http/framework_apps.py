"""One answer in six frameworks, each behind the one line that its own manual would have; served by any ASGI server.

Which framework answers is told by the header `x-framework`. POST /open lets streams go on that hold after their first
event and say what it names. Every framework gets the server's lifespan, and each layer says when it starts and ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import django
import fastapi
import fastapi.responses
import litestar
import litestar.response
import quart
import starlette.applications
import starlette.middleware
import starlette.requests
import starlette.responses
import starlette.routing
from cachelayer.adapters.asgi import CacheLayerMiddleware
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path
from upstream import Upstream, script_of

from cachelayer import CacheLayer

CHAT, EVENTS = "/v1/chat/completions", "text/event-stream"
opened: dict[str, asyncio.Event] = {}
"""By what the streams say."""


class Layer(CacheLayer):
    """Tells of its life."""

    def __init__(self, name: str) -> None:
        super().__init__(semantic=False)
        self.name = name

    async def start(self) -> None:
        await super().start()
        print("started", self.name, flush=True)

    async def aclose(self, timeout: Any = "5s") -> None:
        await super().aclose(timeout)
        print("closed", self.name, flush=True)


async def answered(body: dict[str, Any]) -> AsyncIterator[bytes] | bytes:
    told = Upstream()
    script = script_of(body["messages"][-1]["content"])
    if not body.get("stream"):
        return json.dumps(told.whole(body, script, True)).encode()

    async def events() -> AsyncIterator[bytes]:
        for at, event in enumerate(told.events(body, script, True)):
            if at == 1:
                await opened.setdefault(script["say"], asyncio.Event()).wait()
            yield event

    return events()


# Starlette ----------------------------------------------------------------------------------------------------------


async def starlette_chat(request: starlette.requests.Request) -> starlette.responses.Response:
    answer = await answered(await request.json())
    if isinstance(answer, bytes):
        return starlette.responses.Response(answer, media_type="application/json")
    return starlette.responses.StreamingResponse(answer, media_type=EVENTS)


in_starlette = starlette.applications.Starlette(
    routes=[starlette.routing.Route(CHAT, starlette_chat, methods=["POST"])],
    middleware=[starlette.middleware.Middleware(CacheLayerMiddleware, layer=Layer("starlette"))],
)

# FastAPI ------------------------------------------------------------------------------------------------------------

in_fastapi = fastapi.FastAPI()
in_fastapi.add_middleware(CacheLayerMiddleware, layer=Layer("fastapi"))


@in_fastapi.post(CHAT, response_model=None)
async def fastapi_chat(body: dict[str, Any]) -> fastapi.Response:
    answer = await answered(body)
    if isinstance(answer, bytes):
        return fastapi.Response(answer, media_type="application/json")
    return fastapi.responses.StreamingResponse(answer, media_type=EVENTS)


# Litestar -----------------------------------------------------------------------------------------------------------


@litestar.post(CHAT, status_code=200)
async def litestar_chat(data: dict[str, Any]) -> litestar.Response[Any]:
    answer = await answered(data)
    if isinstance(answer, bytes):
        return litestar.Response(answer, media_type="application/json")
    return litestar.response.Stream(answer, media_type=EVENTS)


# Litestar makes the middlewares of its own list once for every route: what stands before all stands outside.
in_litestar = CacheLayerMiddleware(litestar.Litestar([litestar_chat]), layer=Layer("litestar"))

# Quart --------------------------------------------------------------------------------------------------------------

in_quart = quart.Quart(__name__)


@in_quart.post(CHAT)
async def quart_chat() -> quart.Response:
    answer = await answered(await quart.request.get_json())
    return quart.Response(answer, mimetype="application/json" if isinstance(answer, bytes) else EVENTS)


in_quart.asgi_app = CacheLayerMiddleware(in_quart.asgi_app, layer=Layer("quart"))  # type: ignore[method-assign]

# Django -------------------------------------------------------------------------------------------------------------


async def django_chat(request: Any) -> Any:
    answer = await answered(json.loads(request.body))
    if isinstance(answer, bytes):
        return HttpResponse(answer, content_type="application/json")
    return StreamingHttpResponse(answer, content_type=EVENTS)


urlpatterns = [path(CHAT[1:], django_chat)]
settings.configure(SECRET_KEY="of a test", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[])
django.setup()
in_django = CacheLayerMiddleware(get_asgi_application(), layer=Layer("django"))

# bare ASGI, and all of them -----------------------------------------------------------------------------------------


async def chat(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        raise ValueError("no lifespan here")
    answer = await answered(json.loads((await receive())["body"]))
    media = b"application/json" if isinstance(answer, bytes) else EVENTS.encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", media)]})
    if isinstance(answer, bytes):
        await send({"type": "http.response.body", "body": answer})
        return
    async for event in answer:
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


FRAMEWORKS: dict[str, Any] = {
    "starlette": in_starlette, "fastapi": in_fastapi, "litestar": in_litestar, "quart": in_quart, "django": in_django,
    "bare": CacheLayerMiddleware(chat, layer=Layer("bare")),
}  # fmt: skip


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespans(receive, send)
    elif scope["path"] == "/open":
        said = json.loads((await receive())["body"]).get("say", "")
        opened.setdefault(said, asyncio.Event()).set()
        await Upstream._reply(send, 200, b"open", [(b"content-type", b"text/plain")])
    else:
        await FRAMEWORKS[dict(scope["headers"])[b"x-framework"].decode()](scope, receive, send)


async def _lifespans(receive: Any, send: Any) -> None:
    given: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in FRAMEWORKS]
    told: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in FRAMEWORKS]
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    running = [
        asyncio.ensure_future(one(dict(scope), g.get, t.put))
        for one, g, t in zip(FRAMEWORKS.values(), given, told, strict=True)
    ]
    for kind in ("startup", "shutdown"):
        await receive()
        for one in given:
            await one.put({"type": f"lifespan.{kind}"})
        said = [(await one.get())["type"] for one in told]
        failed = sorted({one for one in said if not one.endswith("complete")})
        await send({"type": failed[0] if failed else f"lifespan.{kind}.complete"})
    await asyncio.gather(*running)
