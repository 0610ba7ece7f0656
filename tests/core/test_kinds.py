"""Every kind of callable: plain functions from threads and loops, generators, methods, partials, wrapped clients."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Source


@pytest.fixture
def layer() -> CacheLayer:
    return CacheLayer(semantic=False)


def test_a_plain_function_is_cached_without_any_loop(layer: CacheLayer) -> None:
    calls, before = [], threading.active_count()

    @layer.cached
    def classify(text: str) -> list[str]:
        """Says what it is."""
        calls.append(text)
        return [text]

    assert classify("a") == classify("a") == ["a"] and calls == ["a"]
    assert classify.__name__ == "classify" and classify.__doc__ == "Says what it is."
    assert classify.outcome("a").source is Source.MEMORY
    assert classify.bypass("a") == ["a"] and classify.refresh("a") == ["a"] and len(calls) == 3
    assert classify.invalidate("a") == 1
    assert threading.active_count() <= before
    assert classify.explain("a").verdict == "miss"


def test_64_threads_make_one_call(layer: CacheLayer) -> None:
    calls, go = [], threading.Event()

    @layer.cached
    def slow(text: str) -> str:
        calls.append(text)
        go.wait(10)
        return text

    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(slow("a"))) for _ in range(64)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert answers == ["a"] * 64 and len(calls) == 1


async def test_a_plain_function_has_awaitables_that_share_its_answers(layer: CacheLayer) -> None:
    threads = []

    @layer.cached
    def slow(text: str) -> str:
        threads.append(threading.current_thread())
        return text

    assert await slow.aio("a") == slow("a") == "a"
    assert threads != [threading.main_thread()] and len(threads) == 1
    assert (await slow.aio.outcome("a")).source is Source.MEMORY
    assert slow("b") == "b"  # from inside a running loop, in its thread
    assert threads[1] is threading.current_thread()


async def test_a_plain_call_inside_the_loop_does_not_wait_for_a_flight_of_that_loop(
    layer: CacheLayer,
) -> None:
    entered, release = threading.Event(), threading.Event()

    @layer.cached
    def slow(text: str) -> str:
        if not entered.is_set():
            entered.set()
            release.wait(10)
        return text

    flight = asyncio.create_task(slow.aio("a"))
    await asyncio.to_thread(entered.wait, 10)
    assert slow("a") == "a"
    release.set()
    assert await flight == "a"


async def test_coroutine_functions_stay_coroutine_functions(layer: CacheLayer) -> None:
    @layer.cached
    async def ask(question: str, *, model: str = "m") -> str:
        return question + model

    assert inspect.iscoroutinefunction(ask)
    assert list(inspect.signature(ask).parameters) == ["question", "model"]
    assert await ask("a") == await ask(question="a") == await ask("a", model="m") == "am"
    assert ask.function.stats.backend_calls == 1


async def test_a_wrong_call_fails_as_it_would_without_the_cache(layer: CacheLayer) -> None:
    @layer.cached
    async def ask(question: str) -> str:
        return question

    with pytest.raises(TypeError, match="question"):
        await ask()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        await ask("a", colour="red")  # type: ignore[call-arg]


@dataclass(frozen=True)
class Model:
    name: str


class Shop:
    """Methods that are wrapped in the body of a class."""

    layer = CacheLayer(semantic=False)

    def __init__(self, city: str, stock: int = 0) -> None:
        self.city, self.stock = city, stock

    @layer.cached(self_key="city")
    async def ask(self, question: str) -> str:
        return f"{self.city}: {question}"

    @layer.cached(share_self=True)
    def motto(self, question: str) -> str:
        return question

    @layer.cached
    async def undeclared(self, question: str) -> str:
        return question

    @classmethod
    @layer.cached
    async def founded(cls, question: str) -> str:
        return f"{cls.__name__} {question}"

    @layer.cached
    @classmethod
    async def named(cls, question: str) -> str:
        return f"{cls.__name__} {question}"

    @layer.cached
    @staticmethod
    async def opens(question: str) -> str:
        return f"nine {question}"


async def test_methods_key_what_of_self_changes_the_answer() -> None:
    paris, rome, paris2 = Shop("Paris"), Shop("Rome"), Shop("Paris", stock=9)
    assert await paris.ask("when") == "Paris: when" and await rome.ask("when") == "Rome: when"
    assert (await paris2.ask.outcome("when")).source is Source.MEMORY
    assert inspect.iscoroutinefunction(paris.ask)
    assert paris.motto("x") == "x" and rome.motto.outcome("x").source is Source.MEMORY
    assert await Shop.founded("when") == "Shop when" == await paris.founded("when")
    if sys.version_info < (3, 13):  # `classmethod` on top of a wrapped function binds its calls alone since
        assert (await Shop.founded.outcome("when")).source is Source.MEMORY
    assert await Shop.named("when") == "Shop when"  # type: ignore[call-arg, arg-type]
    assert (await Shop.named.outcome("when")).source is Source.MEMORY  # type: ignore[call-arg, arg-type]
    assert (await paris.named.outcome("when")).source is Source.MEMORY
    assert await Shop.opens("when") == "nine when" == await paris.opens("when")
    assert await paris.ask.invalidate("when") == 1


async def test_an_undeclared_self_says_so_at_the_first_call() -> None:
    with pytest.raises(ConfigurationError, match=r"self_key='model'"):
        await Shop("Paris").undeclared("when")


async def test_frozen_dataclasses_key_themselves(layer: CacheLayer) -> None:
    @dataclass(frozen=True)
    class Client:
        model: str

        async def ask(self, question: str) -> str:
            return f"{self.model} {question}"

    Client.ask = layer.cached(Client.ask)  # type: ignore[method-assign, assignment]
    one, two = Client("a"), Client("b")
    ask = layer.wrap(one.ask, name="bound")
    assert await ask("x") == "a x"
    assert await two.ask("x") == "b x"


async def test_partials_and_callable_objects_are_understood(layer: CacheLayer) -> None:
    async def complete(model: str, prompt: str) -> str:
        return f"{model} {prompt}"

    class Client:
        async def __call__(self, prompt: str) -> str:
            return prompt

    ask = layer.wrap(functools.partial(complete, "m"), name="partial")
    assert await ask("x") == "m x" and (await ask.outcome("x")).source is Source.MEMORY
    call = layer.wrap(Client(), name="client")
    assert await call("x") == "x" and (await call.outcome("x")).source is Source.MEMORY


def test_a_generator_is_recorded_and_replayed(layer: CacheLayer) -> None:
    pulled = []

    @layer.cached
    def stream(prompt: str) -> Iterator[str]:
        for i in range(3):
            pulled.append(i)
            yield f"{prompt}{i}"

    first = stream("a")
    assert next(first) == "a0" and list(stream("a")) == ["a0", "a1", "a2"]  # joins the live one
    assert list(first) == ["a1", "a2"] and pulled == [0, 1, 2]
    assert list(stream("a")) == ["a0", "a1", "a2"] and pulled == [0, 1, 2]


def test_a_generator_that_is_left_or_fails_is_not_kept(layer: CacheLayer) -> None:
    runs = []

    @layer.cached
    def stream(prompt: str) -> Iterator[int]:
        runs.append(prompt)
        yield 1
        if prompt == "bad":
            raise ValueError(prompt)
        yield 2

    left = stream("a")
    next(left)
    left.close()  # type: ignore[attr-defined]
    assert list(stream("a")) == [1, 2] and runs == ["a", "a"]
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            list(stream("bad"))
    assert runs == ["a", "a", "bad", "bad"]


async def test_a_coroutine_that_returns_an_iterator_streams(layer: CacheLayer) -> None:
    calls = []

    @layer.cached
    async def chat(messages: list[dict[str, Any]], stream: bool = False) -> Any:
        calls.append(stream)
        if not stream:
            return "whole"

        async def chunks() -> AsyncIterator[str]:
            for word in ("a", "b"):
                yield word

        return chunks()

    said = [{"role": "user", "content": "hi"}]
    for _ in range(2):
        assert [c async for c in await chat(said, stream=True)] == ["a", "b"]
        assert await chat(said) == "whole"
    assert calls == [True, False]


async def test_the_openai_clients_methods_are_understood_as_wire_form(layer: CacheLayer) -> None:
    calls = []

    class Completions:
        cachelayer_wire = True

        async def __call__(self, **body: Any) -> dict[str, Any]:
            calls.append(body)
            return {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}

    create = layer.wrap(Completions(), name="create")
    said = [{"role": "user", "content": "hi"}]
    await create(model="m", messages=said)
    await create(messages=said, model="m", user="u1", temperature=1.0, metadata={"a": "b"}, n=1, tools=None)
    assert len(calls) == 1
    await create(model="m", messages=said, temperature=0)
    await create(model="m2", messages=said)
    assert len(calls) == 3


def test_two_functions_under_one_name_are_refused(layer: CacheLayer) -> None:
    layer.wrap(lambda question: 1, name="f")
    with pytest.raises(ConfigurationError, match="name='f'"):
        layer.wrap(lambda question: 2, name="f")
