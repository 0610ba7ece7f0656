"""`wrap(client)`: the official `openai` client, sync or async, with a layer before what it asks models.

Answers to `chat.completions` and `responses` (`create`, `parse` and `stream`), `completions.create` and
`embeddings.create` are cached, whole and streamed; everything else goes to the client untouched.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, TypeVar, cast

from cachelayer import CacheLayer
from cachelayer.errors import ConfigurationError, MissingExtra, broken
from cachelayer.exact.keys.chat import HEADERS
from cachelayer.types import Reason
from cachelayer.wrap.options import OPTIONS, check, policy_fields

try:
    from openai import AsyncOpenAI, OpenAI
except ImportError as fault:
    raise MissingExtra("cachelayer.adapters.openai", "openai", "openai", broken("openai", fault)) from fault

from .openai_streams import AsyncStream, Stream, own

ClientT = TypeVar("ClientT", OpenAI, AsyncOpenAI)
_TEXTS = {
    "chat.completions.create": "messages",
    "completions.create": "prompt",
    "responses.create": "input",
    "embeddings.create": "input",
}
"""What is cached, and the field compared by meaning."""
_HELPERS = ("chat.completions.parse", "chat.completions.stream", "responses.parse", "responses.stream")
_ALIASES = {"beta.chat": "chat"}
"""Where what is cached is found under an older name."""
_BESIDE = {
    "headers": "extra_headers",
    "params": "extra_query",
    "extra_json": "extra_body",
    "timeout": "timeout",
}
"""What the client's options of a request are called where one asks for it."""
_OFFERED = ("outcome", "explain", "invalidate")
"""What each of them offers beside its answers, as any wrapped function does."""
_BY_SERVER = ("create", "extra_headers")
"""What is no field of a request: whom it asks, and what is told with it, are in what `of` returns."""
_SET = frozenset({"name", "text", "view"})
"""Options that are the client's own."""
_COPIES = frozenset({"with_options", "copy"})
_OWN = frozenset({"_inner", "_path", "_endpoints", "_client"})


def wrap(client: ClientT, *, layer: CacheLayer | None = None, **options: Any) -> ClientT:
    """The same client with a cache before it; `layer` defaults to an embedded one, `options` are those of `layer.wrap`.

    Clients of one layer share answers where they ask the same server (base URL, organization, project). Give callers
    who must not share `layer.scope(tenant=...)`. Raises ConfigurationError for what is no client of `openai` and for
    options that cannot work, and its endpoints for options other than those that another client of the layer has.
    """
    if type(client) is _Wrapped or not isinstance(client, OpenAI | AsyncOpenAI):
        raise ConfigurationError("client", client, "give openai.OpenAI(...) or openai.AsyncOpenAI(...)")
    if not (layer is None or isinstance(layer, CacheLayer)):
        raise ConfigurationError("layer", layer, "give a cachelayer.CacheLayer")
    for option in _SET & options.keys():
        raise ConfigurationError(option, options[option], "leave it out: the form of the requests says it")
    check({name: given for name, given in options.items() if name in OPTIONS})
    layer = CacheLayer() if layer is None else layer
    layer.policy.override(**policy_fields(options))
    return cast(ClientT, _Wrapped(client, "", _Endpoints(layer, client, options)))


class _Endpoints:
    """The cached endpoints of one layer, one server and one kind of client."""

    def __init__(self, layer: CacheLayer, client: Any, options: dict[str, Any]) -> None:
        self.layer, self.options = layer, options
        self.awaited = isinstance(client, AsyncOpenAI)

    def of(self, client: Any, body: dict[str, Any]) -> str:
        """What sets answers of different servers apart, and of one that is asked with other queries or headers."""
        server = f"{client.base_url}|{client.organization or ''}|{client.project or ''}"
        query = client.default_query  # what one call adds is a field of its own
        headers = {**client._custom_headers, **(body.get("extra_headers") or {})}
        varying = {name.lower(): str(value) for name, value in headers.items() if name.lower() in HEADERS}
        return f"{server}|{sorted(query.items())}|{sorted(varying.items())}" if query or varying else server

    def _agree(self, path: str, theirs: dict[str, Any]) -> None:
        """One policy for one endpoint: raise ConfigurationError for the first option that another client has not."""
        if theirs is self.options:
            return
        for option in {**self.options, **theirs}:
            mine, other = self.options.get(option), theirs.get(option)
            if not _alike(mine, other):
                remedy = f"another client of this layer has {path} with {other!r}: give both the same, or a layer each"
                raise ConfigurationError(option, mine, remedy)

    def cached(self, path: str, client: Any, create: Callable[..., Any]) -> Callable[..., Any]:
        """`create`, or the cached function of its endpoint with `create` as its backend."""
        name = self._name(path)
        known = self.layer.known(name)
        if known is None:
            more = self.options.get("ignore", ())
            ignored = more if isinstance(more, str) else [*_BY_SERVER, *more]  # a text is refused by name
            options = {
                **self.options,
                "name": name,
                "ignore": ignored,
                "view": _VIEWS.get(path),
                "text": _TEXTS[path],
            }
            if path == "embeddings.create":
                options["semantic"] = False
            asking: Any = _awaited() if self.awaited else _plain()
            asking.options = self.options
            known = self.layer.wrap(asking, **options)
        else:
            self._agree(path, known.handle.function.fn.options)

        def of(how: Callable[..., Any], /, **body: Any) -> Any:
            return how(create, self.of(client, body), **body)

        def made_own(answer: Any, body: dict[str, Any]) -> Any:
            of_caller = partial(own, body=body) if path == "responses.create" else _as_it_is
            if isinstance(answer, Iterator):
                return Stream(answer, of_caller)
            return AsyncStream(answer, of_caller) if isinstance(answer, AsyncIterator) else of_caller(answer)

        def call(**body: Any) -> Any:
            return made_own(of(known, **body), body)

        async def acall(**body: Any) -> Any:
            return made_own(await of(known, **body), body)

        made = acall if self.awaited else call
        for offered in _OFFERED:
            setattr(made, offered, partial(of, getattr(known, offered)))
        return made

    def _name(self, path: str) -> str:
        return f"openai {path}{'' if self.awaited else ' plain'}"


def _as_it_is(answer: Any) -> Any:
    return answer


def _alike(one: Any, other: Any) -> bool:
    """Whether options are the same; a function is, too, that was made anew of the same code."""
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(getattr(one, "__code__", one) == getattr(other, "__code__", other))


class _Wrapped:
    """A client or one of its resources; attributes come from it, those that ask models from the layer."""

    def __init__(self, inner: Any, path: str, endpoints: _Endpoints, client: Any = None) -> None:
        self._inner, self._path, self._endpoints = inner, path, endpoints
        self._client = inner if client is None else client

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # of a copy in the making
            raise AttributeError(name)
        found = getattr(self._inner, name)
        path = f"{self._path}.{name}".lstrip(".")
        path = _ALIASES.get(path, path)
        if path in _TEXTS:
            return self._endpoints.cached(path, self._client, found)
        if path in _HELPERS:
            create = self._endpoints.cached(f"{self._path}.create", self._client, self._inner.create)
            return getattr(_helping(self._inner, create, self._endpoints.awaited), name)
        if not self._path and name in _COPIES:
            return lambda *a, **k: _Wrapped(found(*a, **k), "", self._endpoints)
        if any(known.startswith(f"{path}.") for known in (*_TEXTS, *_ALIASES)):
            return _Wrapped(found, path, self._endpoints, self._client)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """What is set on the client counts for its requests: a new key, a timeout."""
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of what is wrapped: whoever is given a client asks whether it is one of `openai`'s."""
        return type(self._inner)

    def __dir__(self) -> Iterable[str]:
        return dir(self._inner)

    def __repr__(self) -> str:
        return f"<cached {self._inner!r}>"

    def __enter__(self) -> _Wrapped:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._inner.__exit__(*exc)

    async def __aenter__(self) -> _Wrapped:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._inner.__aexit__(*exc)


def _awaited() -> Callable[..., Any]:
    async def create(create: Callable[..., Any], server: str, **body: Any) -> Any:
        return await create(**body)

    create.cachelayer_wire = True  # type: ignore[attr-defined]
    return create


def _plain() -> Callable[..., Any]:
    def create(create: Callable[..., Any], server: str, **body: Any) -> Any:
        return create(**body)

    create.cachelayer_wire = True  # type: ignore[attr-defined]
    return create


def _helping(resource: Any, create: Any, awaited: bool) -> Any:
    """The resource for its own helpers: `stream` asks by `create`, `parse` by posting what it made of its arguments.

    An answer that cannot be parsed is not kept: who tries again asks again.
    """

    def request(body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        beside = {argument: options[name] for name, argument in _BESIDE.items() if name in options}
        return {**body, **beside}

    def post(path: str, *, body: Any, options: Any, **_: Any) -> Any:
        asked, parsed = request(body, options), None
        answer = create(**asked)
        try:
            parsed = _numbered(options["post_parser"](answer), answer)
            return parsed
        finally:
            if parsed is None:
                create.invalidate(**asked)

    async def apost(path: str, *, body: Any, options: Any, **_: Any) -> Any:
        asked, parsed = request(body, options), None
        answer = await create(**asked)
        try:
            parsed = _numbered(options["post_parser"](answer), answer)
            return parsed
        finally:
            if parsed is None:
                await create.invalidate(**asked)

    helping = copy(resource)
    helping.create, helping._post = create, apost if awaited else post
    return helping


def _numbered(parsed: Any, answer: Any) -> Any:
    """What was parsed, with the number of the request that was answered: the client gives it to all that it returns."""
    parsed._request_id = getattr(answer, "_request_id", None)
    return parsed


def _whole_response(answer: Any) -> Any:
    """What is read of the Responses API: a stream's last event; INCOMPLETE where none ended it."""
    if not isinstance(answer, list):
        return _with("output", answer)
    end: Any = answer[-1] if answer else None
    done = getattr(end, "type", "") in ("response.completed", "response.incomplete", "response.failed")
    return end.response if done else Reason.INCOMPLETE


def _whole_reply(answer: Any) -> Any:
    return answer if isinstance(answer, list) else _with("choices", answer)


def _with(field: str, answer: Any) -> Any:
    """An answer that has the field; INCOMPLETE for what the client makes of a page, or of JSON of something else."""
    return answer if isinstance(getattr(answer, field, None), list) else Reason.INCOMPLETE


_VIEWS: dict[str, Callable[[Any], Any]] = {
    "chat.completions.create": _whole_reply,
    "completions.create": _whole_reply,
    "responses.create": _whole_response,
}
