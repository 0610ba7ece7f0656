"""One request on a cached route, from its headers to the last byte of its answer."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from cachelayer.exact.memory.slot import Slot

from . import status
from .answering import Answering
from .directives import NOTHING, Asked
from .exchange import BODY, START, Exchange, Message, Receive, Send, read_off
from .hot import Recognized
from .pages import Headers
from .principals import Principal
from .routes import WHOLE, Unreadable, Wanted, parse
from .settings import Facts, agrees, key_of

if TYPE_CHECKING:
    from .middleware import Served

TOO_LARGE = b'{"error":{"message":"The request body is larger than %d bytes.","type":"invalid_request_error","param":null,"code":"request_too_large"}}'  # noqa: E501 - one body


Work = Coroutine[Any, Any, None]


class Responder:
    """Made for one request."""

    body = b""
    plain = True
    """Whether the body cannot ask for a stream."""
    place = ""
    """What of the path is part of the key: where the app stands that the route is part of (ASGI's root_path), or all of
    it, where the route's own is a template."""
    vary = ""
    """The request headers that are part of the key, and the place."""
    wanted = WHOLE
    asked: Asked = NOTHING
    principal: Principal | None = None
    origin = b""
    """Of the web page that asks."""
    pages: Headers | None = ()
    """What the app tells that page with each answer; None if it was not asked yet."""
    reveals = True
    """Whether this caller may learn that an entry exists."""

    def __init__(self, served: Served, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.served, self.settings = served, served.settings
        self.scope, self.receive, self.send = scope, receive, send
        self.refusals = self.settings.accepted.refusals
        self.path = scope["path"]
        """As it came: Litestar writes into the scope what is left of it below the root path."""

    async def respond(self, messages: list[Message]) -> None:
        """Answer from the cache, or let the app answer. `messages`: what was read of the request already."""
        settings = self.settings
        # uvicorn adds trailers to its list: what the app sees has to be what identifies the answer
        self.scope["headers"] = [*self.scope["headers"]]
        facts = Facts(self.scope["headers"], self.served.told_apart)
        self.vary = f"{self.place}\0{facts.vary}" if self.place else facts.vary
        self.asked = facts.asked(settings.allow)
        if facts.origin:
            self.origin, self.pages = facts.origin, settings.pages.known(self.path, facts.origin)
        principal = None
        with self.served.guard("principal"):
            principal = await settings.principals.of(self.scope, facts.credentials)
        self.principal = principal  # whom the app refuses whatever they ask is shut out
        if facts.bypass:
            return await self.past(facts.bypass, messages)
        why = "too-large" if facts.length > settings.max_body else await self._read(messages)
        if why:
            return await self.past(why, messages)
        if principal is None:
            return await self.past("no-principal", messages)
        self.reveals = principal.own or await self._trusted()
        let_in = await self._let_in(principal)
        if let_in is None:
            return await self.past("unauthorized", messages)
        raw = self._raw(principal)
        at_once = let_in and self.asked is NOTHING and self.pages is not None
        slot = self.served.raws.find(raw) if at_once else None
        return await self._answer(raw, slot, messages, let_in)

    def go_on(self, request: Recognized) -> Work:
        """Answer a request whose caller `Hot` recognized."""
        self.body, self.principal, self.pages = request.message["body"], request.principal, request.pages
        raw = self._form(request.prefix)
        slot = request.slot if self.plain else self.served.raws.find(raw)
        return self._answer(raw, slot, [request.message], True)

    def _answer(self, raw: bytes, slot: Slot | None, messages: list[Message], let_in: bool) -> Work:
        if slot is not None:
            self.wanted = self._wanted_again()
            answering = Answering(self)
            if answering.suffices(slot.answer):
                return answering.hit_slot(slot)
        return self._ask(raw, messages, let_in)

    async def _trusted(self) -> bool:
        """Whether the owner trusts this caller in scopes that others share."""
        trust = self.settings.trust
        if isinstance(trust, bool):
            return trust
        with self.served.guard("trust"):
            return await agrees(trust, self.scope, self.settings.principals.patience)
        return False

    async def _let_in(self, principal: Principal) -> bool | None:
        """True: a hit may answer. False: the app has to see these credentials first. None: they are refused."""
        settings = self.settings
        if settings.authorize is not None:
            with self.served.guard("authorize"):
                said = await agrees(settings.authorize, self.scope, settings.principals.patience)
                return True if said else None
            return None
        grant = settings.accepted.grant(key_of(principal, self.path))
        return grant is not None and self.served.now() < grant.until

    def heard(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """The app answered this caller's own request."""
        if self.origin and 200 <= status < 300:
            self.settings.pages.heard(self.path, self.origin, headers)
        principal = self.principal
        if principal is not None and self.settings.authorize is None:
            key = key_of(principal, self.path)
            self.settings.accepted.heard(key, status, self.served.now(), self.refusals)

    def _raw(self, principal: Principal) -> bytes:
        """The request as bytes: equal where the key is."""
        whose = f"{principal.name}\0{self.vary}".encode("utf-8", "surrogatepass")
        query = self.scope.get("query_string", b"")
        prefix = b"%b%d,%d;%b%b" % (principal.credentials, len(whose), len(query), whose, query)
        if not query and not self.vary and self.served.hot is not None:
            self.served.hot.learn(principal, prefix)
        return self._form(prefix)

    def _form(self, prefix: bytes) -> bytes:
        """A body that may ask for a stream has a form of its own, so that the hot path need not look for that."""
        body = self.body
        named = body.count(b'"stream')
        if named:  # said to be wanted nowhere, as LangChain says with each request
            named -= body.count(b'"stream":false') + body.count(b'"stream": false')
        self.plain = not named and b"\\u00" not in body
        return prefix + body if self.plain else prefix + b"\0" + body

    def _wanted_again(self) -> Wanted:
        """How the answer is wanted, of a body that was read before."""
        if self.plain:
            return WHOLE
        return self.served.route.wanted(parse(self.body))

    def _ask(self, raw: bytes, messages: list[Message], let_in: bool) -> Work:
        route = self.served.route
        try:
            body = parse(self.body)
            self.wanted = route.wanted(body)
            fields = route.fields(body)
        except Unreadable as fault:
            return self.past(str(fault), messages)
        beside = self.beside()
        return Answering(self).ask({**fields, **beside} if beside else fields, raw, let_in)

    def beside(self) -> dict[str, Any]:
        """What identifies an answer in addition to the request's body."""
        query = self.scope.get("query_string", b"")
        if not query and not self.vary:
            return {}
        return {"cachelayer_request": [query.decode("latin-1"), self.vary]}

    def exchange(self) -> Exchange:
        """The app's side of this request, not asked yet."""
        return Exchange(self.served, self.scope, self.body, heard=self.heard, usage=self.wanted.usage)

    # the request's body ------------------------------------------------------------------------------------------

    async def _read(self, messages: list[Message]) -> str:
        """Read the whole body into `self.body`; "" or why that was given up. `messages` are what was read."""
        limit = self.settings.max_body
        parts: list[bytes] = []
        size, read = 0, list(messages)
        while True:
            message = read.pop(0) if read else await self.receive()
            if len(messages) == len(parts):
                messages.append(message)
            if message["type"] != "http.request":
                return "disconnected"
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > limit:
                return "too-large"
            if not message.get("more_body", False):
                self.body = bytes(parts[0] if len(parts) == 1 else b"".join(parts))
                return ""

    async def past(self, why: str, messages: list[Message]) -> None:
        """Let the app answer as if nothing stood before it, but for a word on why in Cache-Status."""
        if why == "too-large" and self.settings.too_large == "refuse":
            await self._rest_read(messages)
            await self.refuse(
                413, TOO_LARGE % self.settings.max_body, status.refused(why, self.settings.name)
            )
            return
        if self.asked.only_if_cached:
            await self.not_cached(why)
            return
        at, cache_status = 0, status.bypass(why, self.settings.name)

        async def receive() -> Message:
            nonlocal at
            if at < len(messages):
                at += 1
                return messages[at - 1]
            return await self.receive()

        async def send(message: Message) -> None:
            if message["type"] == START:
                self.heard(message["status"], message.get("headers", ()))
                message = {**message, "headers": [*message.get("headers", ()), cache_status]}
            await self.send(message)

        await self.served.app(self.scope, receive, send)

    async def _rest_read(self, messages: list[Message]) -> None:
        waits = not messages and any(name == b"expect" for name, _ in self.scope["headers"])
        if not waits and (not messages or messages[-1].get("more_body", False)):
            await read_off(self.receive)

    async def not_cached(self, why: str) -> None:
        """504 (RFC 9111, section 5.2.1.7): `only-if-cached` was asked and nothing is."""
        body = b'{"error":{"message":"Nothing is cached for this request.","type":"not_cached","param":null,"code":"only_if_cached"}}'  # noqa: E501
        await self.refuse(504, body, self.revealed(status.refused(why, self.settings.name)))

    def revealed(self, header: status.Header) -> status.Header:
        """A Cache-Status as far as this caller may know whether entries exist."""
        return header if self.reveals else status.veiled(header)

    async def refuse(self, code: int, body: bytes, cache_status: status.Header) -> None:
        """Answer with an error of the middleware's own."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            cache_status,
        ]
        headers += self.pages or ()
        if code == 413:
            headers.append((b"connection", b"close"))
        await self.send({"type": START, "status": code, "headers": headers})
        await self.send({"type": BODY, "body": body, "more_body": False})
