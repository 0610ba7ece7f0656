"""What cannot be copied truthfully is not kept; what is too large is found out early."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import math
import pathlib
import socket
import threading
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from answer_samples import Bag, Node

from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.answers.frozen import NotKeepable
from cachelayer.types import Reason

FREEZER = Freezer()


class Tagged(OrderedDict[str, int]):
    pass


@dataclasses.dataclass
class OwnCopy:
    n: int

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnCopy:
        return OwnCopy(self.n + 1)


@dataclasses.dataclass
class Failure(Exception):
    n: int


class Later:
    def __await__(self) -> Iterator[int]:
        return generator()


class Tensor:
    def __array__(self) -> Any:
        raise NotImplementedError


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> None: ...


class Label(str):
    """Has an instance dict, so it can change."""


def unkeepable() -> list[Any]:
    locked = {"a": [threading.Lock()]}
    return [
        generator(),
        iter([1]),
        threading.Lock(),
        socket.socket,
        math,
        math.sin,
        lambda: 0,
        object(),
        np.array([object()]),
        Tagged(a=1),
        OwnCopy(1),
        Failure(1),
        Label("x"),
        memoryview(b"x"),
        locked,
        {"a": generator()},
        [Node("n", extra=generator())],
        defaultdict(lambda: 0),
        types.SimpleNamespace(a=1),
        np.zeros(1, [("a", "i4")])[0],
        np.ma.masked_array([1], [True]),
    ]


@pytest.mark.parametrize("value", unkeepable(), ids=lambda v: type(v).__name__)
def test_what_cannot_be_copied_truthfully_is_not_kept(value: Any) -> None:
    with pytest.raises(NotKeepable) as caught:
        FREEZER.freeze(value)
    assert caught.value.reason is Reason.NOT_KEEPABLE and caught.value.detail


def test_live_things_are_not_kept(tmp_path: pathlib.Path) -> None:
    waiting = coroutine()
    loop = asyncio.new_event_loop()
    with open(tmp_path / "f", "w") as file, socket.socket() as sock:
        for value in (waiting, loop.create_future(), loop, file, sock):
            with pytest.raises(NotKeepable):
                FREEZER.freeze(value)
    loop.close()
    with pytest.raises(NotKeepable, match="only once"):
        FREEZER.freeze(waiting, share=True)
    waiting.close()


class Raw:
    """As what `with_raw_response` of openai's client and its like returns; parse() reads of it what is an answer."""

    http_request = None

    def __init__(self, chunks: list[int]) -> None:
        self._stream = iter(chunks)

    def parse(self) -> Iterator[int]:
        return self._stream


@pytest.mark.parametrize("share", [False, True])
def test_a_raw_response_is_not_kept_since_it_hides_whether_its_answer_may_be(share: bool) -> None:
    with pytest.raises(NotKeepable, match=r"return what its parse\(\) returns") as caught:
        FREEZER.freeze(Raw([1]), share=share)
    assert caught.value.reason is Reason.NOT_KEEPABLE


@dataclasses.dataclass
class Lazy:
    """Loads its fields when they are read, as objects of a database session do, and may not by now."""

    n: int

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise LookupError("the session is closed")


@dataclasses.dataclass(frozen=True)
class Forgetful:
    n: int

    def __hash__(self) -> int:
        if self.n > 1:
            raise LookupError("no hash any more")
        return self.n


def test_what_raises_while_it_is_read_is_not_kept() -> None:
    key = Forgetful(1)
    changed = {key: "a"}
    object.__setattr__(key, "n", 2)
    for value in (changed, Lazy(1)):
        with pytest.raises(NotKeepable, match="something in the answer raised LookupError"):
            FREEZER.freeze(value)
    with pytest.raises(NotKeepable, match="LookupError"):
        FREEZER.freeze(Lazy(1), share=True)


class Events:
    """A stream as botocore's: each `iter` reads on in one response."""

    def __iter__(self) -> Any:
        return generator()

    def close(self) -> None:
        raise NotImplementedError


class Session(Events):
    """Iterates over what it holds, as SQLAlchemy's."""

    def __contains__(self, one: object) -> bool:
        raise NotImplementedError


class Manager:
    """What begins a stream when it is entered, as `messages.stream` of anthropic's client returns."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


def test_share_hands_out_the_very_object_but_not_what_can_be_used_once() -> None:
    for value in ({"a": [1]}, threading.Lock(), object(), np.zeros(5), [Session()]):
        kept = FREEZER.freeze(value, share=True)
        assert kept.thaw is None and kept.answer() is value and kept.nbytes > 0
    for once in (generator(), {"body": generator()}, {"stream": [Events()]}):
        with pytest.raises(NotKeepable, match="only once"):
            FREEZER.freeze(once, share=True)


@pytest.mark.parametrize(
    ("value", "instead"),
    [
        (io.BytesIO(b"text"), "return what it reads"),
        (iter(["text"]), "return a list of what it yields"),
        (Later(), "make the function async, await it there and return the result"),
        ({"stream": Events()}, "return a list of what it yields, or cache a generator that yields it"),
        (Manager(), "cache what is called inside it, since each caller enters its own"),
        ({"logits": Tensor()}, "return what numpy.asarray makes of it, or set share=True"),
        (np.ma.masked_array([1], [True]), "return a plain value, or set share=True"),
    ],
    ids=["file", "iterator", "awaitable", "stream", "manager", "tensor", "masked"],
)
def test_what_to_return_in_place_of_what_cannot_be_kept_fits_what_it_is(value: Any, instead: str) -> None:
    with pytest.raises(NotKeepable, match=instead):
        FREEZER.freeze(value)


def test_share_weighs_a_cycle_once() -> None:
    loop: list[Any] = ["x" * 1000]
    loop.append(loop)
    assert 1000 < FREEZER.freeze(loop, share=True).nbytes < 2000


def cycles() -> list[Any]:
    a: list[Any] = []
    a.append(a)
    b: dict[str, Any] = {}
    b["b"] = [b, b]
    c = Node("c")
    c.children.append(c)
    d: list[Any] = [1]
    e = ({"d": d},)
    d.extend([e] * 20)
    f: deque[Any] = deque()
    f.append(f)
    g: list[Any] = []
    for _ in range(120):
        g = [g]
    frozen = Bag([])
    object.__setattr__(frozen, "things", frozen)
    return [a, b, c, d, f, g, frozen]


@pytest.mark.parametrize("value", cycles(), ids=lambda v: type(v).__name__)
def test_cycles_and_bottomless_nesting_are_not_kept(value: Any) -> None:
    with pytest.raises(NotKeepable):
        FREEZER.freeze(value)


def test_nesting_up_to_the_limit_is_kept() -> None:
    value: Any = []
    for i in range(90):
        value = [value] if i % 2 else {"a": value}
    assert FREEZER.freeze(value).answer() == value


def test_oversize_stops_early() -> None:
    bomb: Any = []
    for _ in range(60):
        bomb = [bomb, bomb]  # 2**60 lists if walked to the end
    for value in (bomb, "x" * 2000, ["x" * 2000], [1.5] * 200, np.zeros(2000), [[i] for i in range(100)]):
        with pytest.raises(NotKeepable) as caught:
            FREEZER.freeze(value, limit=1000)
        assert caught.value.reason is Reason.OVERSIZE


@pytest.mark.parametrize("rows", [3, 3000])
def test_an_answer_is_too_large_by_what_is_kept_of_it(rows: int) -> None:
    answer = [{"id": {}, "place": {"at": {"x": 1.5}, "by": []}, "tags": [["a"], []]} for _ in range(rows)]
    held = FREEZER.freeze(answer).nbytes
    assert FREEZER.freeze(answer, limit=held).nbytes == held
    with pytest.raises(NotKeepable):
        FREEZER.freeze(answer, limit=held - 1)
