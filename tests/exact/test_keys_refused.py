"""What a user reads whose argument cannot be part of a key: which it is, why, and what to do that works."""

from __future__ import annotations

import io
import threading
from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from starlette.requests import Request as StarletteRequest

from cachelayer import CacheLayer
from cachelayer.errors import ConfigurationError


async def ask(question: Any) -> str:
    return "answer"


async def ask_all(*questions: Any) -> str:
    return "answer"


async def chat(messages: Any) -> str:
    return "answer"


class Client:
    model = threading.Lock()

    async def ask(self, question: str) -> str:
        return "answer"


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


IGNORE = "ignore=['question']"
OF_REQUEST = "pass the parts on which the answer depends (of a request its path, query and body, say)"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: threading.Lock(), f"(_thread.lock): name it in {IGNORE}"),
        (lambda: {"held": [object()]}, "(a dict that holds builtins.object)"),
        *[
            (lambda made=kind: made([object()]), f"(a {kind.__name__} that holds builtins.object)")
            for kind in (list, tuple, set, frozenset)
        ],
        (lambda: nested(100_000), f"(nested too deeply): name it in {IGNORE}"),
        (lambda: io.BytesIO(b"text"), "pass its path, or what it reads; else name it in"),
        (lambda: Django(), f"{OF_REQUEST}; else name it in"),
        (lambda: Aiohttp(), f"{OF_REQUEST}; else name it in"),
        (lambda: make_mocked_request("GET", "/a"), f"{OF_REQUEST}; else name it in"),
        (lambda: StarletteRequest({"type": "http", "headers": []}), f"{OF_REQUEST}; else name it in"),
        (lambda: iter(["text"]), "pass a list of what it yields; else name it in"),
        (lambda: Tensor(), "pass what numpy.asarray makes of it; else name it in"),
        (lambda: [Tensor()], "pass what numpy.asarray makes of it; else name it in"),
        (lambda: Awaited(), "await it first and pass the result; else name it in"),
    ],
)
async def test_it_says_what_to_pass_instead(make: Callable[[], Any], said: str) -> None:
    asked = CacheLayer(semantic=False).wrap(ask)
    with pytest.raises(ConfigurationError) as raised:
        await asked(make())
    assert "argument 'question'" in str(raised.value) and said in str(raised.value)
    assert "give key=, a function of all arguments" in str(raised.value)


class Django:
    def read(self) -> bytes:
        raise NotImplementedError


class Aiohttp(UserDict[str, Any]):
    """A mapping whose items say nothing of what was asked: each request was answered with the first one's answer."""

    async def read(self) -> bytes:
        raise NotImplementedError


class Tensor:
    def __array__(self) -> Any:
        raise NotImplementedError


class Awaited:
    def __await__(self) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("wrap", "said"),
    [
        (lambda layer: layer.wrap(ask, key=lambda question: object()), "what key= returns"),
        (lambda layer: layer.wrap(ask, vary=[object]), "what vary= returns"),
        (lambda layer: layer.wrap(Client().ask, self_key=lambda client: client.model), "what vary= returns"),
        (lambda layer: layer.wrap(ask_all), "argument '*questions'"),
    ],
)
async def test_it_does_not_advise_to_ignore_what_is_no_parameter(
    wrap: Callable[[Any], Any], said: str
) -> None:
    asked = wrap(CacheLayer(semantic=False))
    with pytest.raises(ConfigurationError) as raised:
        await asked(object())
    assert said in str(raised.value) and "ignore=" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "said"), [("model", "self.model cannot"), (lambda client: client.model, "what self_key= returns")]
)
async def test_it_names_what_self_key_names(key: Any, said: str) -> None:
    layer = CacheLayer(semantic=False)

    class Model:
        model = threading.Lock()

        @layer.cached(self_key=key)
        async def ask(self, question: str) -> str:
            return "answer"

    with pytest.raises(ConfigurationError) as raised:
        await Model().ask("question")
    assert said in str(raised.value) and "ignore=" not in str(raised.value)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (Tensor(), "Tensor): pass what numpy.asarray makes of it; else name it in"),
        (nested(100_000), "(nested too deeply): name it in ignore=['messages']"),
    ],
)
async def test_what_messages_hold_is_told_as_what_other_arguments_hold(shown: Any, said: str) -> None:
    """They were a class's bare name, and what goes too deep a fault of the key."""
    asked = CacheLayer(semantic=False).wrap(chat)
    with pytest.raises(ConfigurationError) as raised:
        await asked([{"role": "user", "content": [{"type": "image", "image": shown}]}])
    assert "argument 'messages' cannot be part of a key (" in str(raised.value) and said in str(raised.value)
