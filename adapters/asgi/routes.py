"""What is cached: how a route's requests are read, what of them is compared by meaning, how answers are read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson

from cachelayer.checks import either
from cachelayer.errors import ConfigurationError
from cachelayer.exact.keys.chat import acts
from cachelayer.types import Reason

from ..openai_wire import NotAnAnswer, chunks_in

OWN = "cachelayer_"
_OWN = b'"cachelayer_'
"""Names in a request's body that begin so are the middleware's own: a body that has one is not cached."""

MOST_NESTED = 65_536
"""Lists and objects that a body may hold: each takes a microsecond or two, however few bytes it has."""

_SEGMENT = "[!-.0-~]+"
"""What stands for `{name}` in a template: visible ASCII, so that no two spellings of a path are read as one."""

_SAID = frozenset({"choices", "content", "output", "error"})
"""One of them says something in whatever a model's API answers; `{"status": "loading"}` is no answer."""

_TOLD = _SAID | {"type"}
"""The same of what a stream tells, of which some name the kind of each event."""

_CHOICE = frozenset({"message", "text", "delta", "finish_reason"})


class Wanted(NamedTuple):
    """How a request wants its answer."""

    stream: bool = False
    usage: bool = False
    """Whether a stream ends with the usage chunk."""


WHOLE = Wanted()


class Unreadable(ValueError):
    """Not cached, and why; the request goes to the app as it came."""


class Route:
    """One POST route of JSON requests. Derive from it for an API of your own.

    `{name}` in `path` stands for a segment, or a part of one, that belongs to the key. `text` names the field that is
    compared by meaning (None: exact only). `openai`: answers are OpenAI's, whole and streamed forms are made of each
    other, and each replay gets a fresh id; otherwise they stay as they were.
    Raises ConfigurationError.
    """

    def __init__(self, path: str, *, text: str | None = None, openai: bool = False) -> None:
        if not (text is None or (isinstance(text, str) and text)):
            raise ConfigurationError("text", text, "name a field of the request's body, as text='query'")
        either("openai", openai)
        self.path, self.text, self.openai = path, text, openai
        self.template = _template(path)
        """What its paths look like, where `path` is a template."""
        self.by_item = False
        """Whether what is kept are the items of an answer, which no stream has."""
        self.identified = openai
        """Whether a whole answer has an identity of its own, to be made fresh at each replay."""
        own = type(self).view_stream is not JsonRoute.view_stream
        self.streams_left = "" if own else str(Reason.NOT_KEEPABLE)
        """Why none of its streams is kept; "" where some are."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"

    def stands_at(self, path: str) -> bool:
        """Whether a request's path is this route's."""
        return path == self.path if self.template is None else self.template.fullmatch(path) is not None

    def wanted(self, body: dict[str, Any]) -> Wanted:
        """Whether a stream is wanted. Raises Unreadable."""
        stream = body.get("stream")
        if stream is None or stream is False:
            return WHOLE
        if stream is not True:
            raise Unreadable("stream is not a boolean")
        options = body.get("stream_options")
        return Wanted(True, isinstance(options, dict) and options.get("include_usage") is True)

    def fields(self, body: dict[str, Any]) -> dict[str, Any]:
        """What identifies the answer, by name. Raises Unreadable for a request that is not to be cached."""
        if self.openai and acts(body):
            raise Unreadable("store" if body.get("store") else "conversation")
        if self.openai and "stream" in body:
            return {name: value for name, value in body.items() if name != "stream"}
        return body

    def view(self, whole: bytes) -> Any:
        """What the cache reads of a whole answer: whether it is complete, its text, its tokens. Or a Reason against."""
        try:
            found = orjson.loads(whole)
        except orjson.JSONDecodeError:
            return Reason.INCOMPLETE
        if self.openai and (
            not isinstance(found, dict) or not any(map(found.get, _SAID)) or not _chosen(found)
        ):
            return Reason.INCOMPLETE
        return found

    def view_stream(self, stream: bytes) -> Any:
        """The same of a stream: the list of its chunks."""
        try:
            chunks = chunks_in(stream)
        except NotAnAnswer:
            return Reason.INCOMPLETE
        return Reason.INCOMPLETE if self.openai and not any(map(_tells, chunks)) else chunks

    def seen(self, answer: Any) -> Any:
        """What the cache reads of an answer as it is kept (see `Exchange.ask`)."""
        if type(answer) is tuple:
            return self.view(answer[3])
        if not isinstance(answer, list):  # its caller's alone
            return Reason.ERROR
        return self.view_stream(b"".join(answer[1:]))


class JsonRoute(Route):
    """Any JSON API whose whole answers are JSON. Streams are not kept: nothing says when one ended well."""

    def view_stream(self, stream: bytes) -> Any:
        return Reason.NOT_KEEPABLE


def _chosen(answer: dict[str, Any]) -> bool:
    """Whether an answer's choices, if it has any, are such."""
    choices = answer.get("choices") or []
    return isinstance(choices, list) and all(map(_is_choice, choices))


def _tells(chunk: dict[str, Any]) -> bool:
    """Whether this is more of a stream than JSON of something else would be."""
    choices = chunk.get("choices")
    if isinstance(choices, list):
        return any(map(_is_choice, choices))
    return choices is None and any(map(chunk.get, _TOLD))


def _is_choice(one: Any) -> bool:
    return isinstance(one, dict) and any(map(one.get, _CHOICE))


def _template(path: str) -> re.Pattern[str] | None:
    parts = re.split(r"\{\w+\}", path) if isinstance(path, str) else []
    if not parts or not path.startswith("/") or not set("{}?#").isdisjoint("".join(parts)):
        raise ConfigurationError("path", path, "give a path as '/rerank', or as '/models/{name}/infer'")
    return re.compile(_SEGMENT.join(map(re.escape, parts))) if len(parts) > 1 else None


DEPLOYMENT = "/openai/deployments/{deployment}"
"""Where Azure has the routes of a model that was deployed there; the name is the model's."""
CHAT = Route("/v1/chat/completions", text="messages", openai=True)
COMPLETIONS = Route("/v1/completions", text="prompt", openai=True)


def parse(body: bytes) -> dict[str, Any]:
    """A request's JSON object, read so strictly that no other parser could read it differently. Raises Unreadable.

    Two names that are alike, NaN, numbers beyond 64 bits and encodings other than UTF-8 mean different things to
    different parsers; an answer kept under one meaning must not be served for the other.
    """
    if nests_more(body, MOST_NESTED):
        raise Unreadable("too many lists and objects")
    found = _plain(body)
    spelled = found is not None
    if found is None:
        try:
            text, numbers = body.decode(), _LARGE if _may_be_large(body) else {}
            found = json.loads(text, object_pairs_hook=_once, parse_constant=_constant, **numbers)
        except (ValueError, RecursionError) as fault:
            raise Unreadable(str(fault) if isinstance(fault, Unreadable) else "invalid JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("not a JSON object")
    if (_OWN in body or not spelled) and any(name.startswith(OWN) for name in found):
        raise Unreadable(f"a field whose name begins with {OWN}")
    return found


def nests_more(body: bytes, than: int) -> bool:
    """Whether a body may hold more lists and objects: brackets within its texts count, too."""
    return len(body) > than and body.count(b"[") + body.count(b"{") > than


def _plain(body: bytes) -> Any:
    """The value of what reads and writes to the same bytes, as most clients send it: it says everything once."""
    try:
        found = orjson.loads(body)
        return found if orjson.dumps(found) == body else None
    except (ValueError, TypeError):
        return None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Unreadable("a name given twice")
    return made


def _constant(name: str) -> Any:
    raise Unreadable(f"{name} is not JSON")


def _int(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise Unreadable("a number beyond 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unreadable("a number beyond 64 bits")
    return number


def _may_be_large(body: bytes) -> bool:
    """Whether a number may be beyond 64 bits, by a look that costs a fiftieth of one at each number."""
    said = body.translate(_DIGITS, b"+")
    return b"0" * 19 in said or b"0e000" in said


_DIGITS: Final = bytes.maketrans(b"123456789E", b"000000000e")
_LARGE: Final[dict[str, Any]] = {"parse_int": _int, "parse_float": _float}
