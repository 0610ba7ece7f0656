"""What is asked behind a caller's back is what the caller asked, whatever becomes of the arguments since."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy, Source
from cachelayer.exact.answers.kinds import Kinds
from cachelayer.exact.keys.held import MOST, held
from cachelayer.testing import ManualClock, WordEmbedder

Messages = list[dict[str, str]]
HELLO = {"role": "user", "content": "hello"}
LATER = {"role": "user", "content": "something else"}


async def until(asked: list[Any], times: int) -> None:
    """Wait until as many calls of the backend have begun."""
    async with asyncio.timeout(10):
        while len(asked) < times:
            await asyncio.sleep(0)


def stale_layer(clock: ManualClock) -> CacheLayer:
    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=60)
    return CacheLayer(policy=policy, semantic=False, clock=clock)


@pytest.mark.parametrize("named", [False, True])
async def test_a_refresh_asks_what_was_asked_though_the_caller_goes_on_with_its_chat(named: bool) -> None:
    clock = ManualClock()
    layer, asked = stale_layer(clock), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> str:
        asked.append([*messages])
        return f"answer to {messages[-1]['content']}"

    async with layer:
        messages = [HELLO]
        await (chat(messages=messages) if named else chat(messages))
        clock.advance(30)
        stale = chat.outcome(messages=messages) if named else chat.outcome(messages)
        assert (await stale).source is Source.STALE
        messages += [{"role": "assistant", "content": "hi"}, LATER]
        await until(asked, 2)
        await layer.flush()
        fresh = chat.outcome(messages=[HELLO]) if named else chat.outcome([HELLO])
        assert (await fresh).answer == "answer to hello"
    assert asked == [[HELLO], [HELLO]]


async def test_so_does_that_of_a_plain_function_in_its_thread() -> None:
    clock, begun = ManualClock(), threading.Event()
    layer, asked = stale_layer(clock), list[Messages]()

    @layer.cached
    def chat(messages: Messages) -> str:
        if asked:
            begun.wait(10)
        asked.append([*messages])
        return "answer"

    async with layer:
        messages = [HELLO]
        chat(messages)
        clock.advance(30)
        chat(messages)
        messages.append(LATER)
        begun.set()
        await until(asked, 2)
    assert asked == [[HELLO], [HELLO]]


async def test_so_does_that_of_a_stream() -> None:
    clock = ManualClock()
    layer, asked = stale_layer(clock), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> AsyncIterator[str]:
        asked.append([*messages])
        yield "answer"

    async with layer:
        messages = [HELLO]
        assert [chunk async for chunk in chat(messages)] == ["answer"]
        await asyncio.sleep(0)  # in which the stream's flight ends
        clock.advance(30)
        assert [chunk async for chunk in chat(messages)] == ["answer"]
        messages.append(LATER)
        await until(asked, 2)
    assert asked == [[HELLO], [HELLO]]


async def test_a_check_of_a_similar_hit_asks_what_was_asked() -> None:
    layer = CacheLayer(policy=Policy(max_error_rate=0.1, shadow=1.0), embedder=WordEmbedder())
    asked = list[list[str]]()

    @layer.cached(name="ask", text="question")
    async def ask(question: str, turns: list[str]) -> str:
        asked.append([*turns])
        return "by the settings page"

    async with layer:
        turns = ["hello"]
        await ask("How do I reset the Hub 3?", turns)
        await layer.flush()
        hit = await ask.outcome("Hello, how do i reset the hub 3", turns)
        turns.append("and then?")
        await layer.flush()
        assert hit.match == "similar" and layer.stats()["functions"]["ask"]["shadow_checks"] == 1
    assert asked == [["hello"], ["hello"]]


async def test_a_reference_is_asked_what_the_function_was_though_that_changes_its_arguments() -> None:
    layer, asked = CacheLayer(semantic=False), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> str:
        messages.insert(0, {"role": "system", "content": "be brief"})
        return "short"

    async def reference(messages: Messages) -> str:
        asked.append([*messages])
        return "short"

    async with layer:
        layer.compare(chat, reference, share=1.0)
        await chat([HELLO])
        await layer.flush()
    assert asked == [[HELLO]]


async def test_clients_that_are_no_part_of_the_key_are_not_copied() -> None:
    clock, seen = ManualClock(), list[Any]()
    layer = stale_layer(clock)

    class Client:
        """A session, its socket and what it counts."""

        def __init__(self) -> None:
            self.sent = 0

        @layer.cached(share_self=True, ignore=["session"])
        async def ask(self, question: list[str], session: Any = None) -> str:
            seen.append((self, session))
            return "answer"

    async with layer:
        client, session = Client(), Client()
        await client.ask(["q"], session)
        clock.advance(30)
        await client.ask(["q"], session=session)
        await until(seen, 2)
    assert [(one is client, other is session) for one, other in seen] == [(True, True)] * 2


async def test_an_argument_that_cannot_be_copied_is_asked_as_it_is() -> None:
    clock = ManualClock()
    layer, asked = stale_layer(clock), list[Any]()

    class Odd:
        def __init__(self) -> None:
            self.name = "odd"

        def __deepcopy__(self, memo: Any) -> Odd:
            raise OSError("not to be copied")

    async def ask(thing: Odd) -> str:
        asked.append(thing)
        return "answer"

    cached = layer.wrap(ask, key=lambda thing: thing.name)
    async with layer:
        odd = Odd()
        await cached(odd)
        clock.advance(30)
        assert await cached(odd) == "answer"
        await until(asked, 2)
    assert asked == [odd, odd]


class Model(pydantic.BaseModel):
    """A message with a list in it."""

    parts: list[str]


@dataclasses.dataclass
class Record:
    """The same as a dataclass."""

    parts: list[str]


class Service:
    """What is no data: another's state would be changed in a copy of it."""

    def __init__(self) -> None:
        self.log: list[str] = []


async def test_objects_that_are_no_data_are_never_copied_though_key_lets_them_be_arguments() -> None:
    clock, seen = ManualClock(), list[Service]()
    layer = stale_layer(clock)

    @layer.cached(key=lambda service, questions: questions[0])
    async def ask(service: Service, questions: list[str]) -> str:
        seen.append(service)
        service.log.append(questions[-1])
        return "answer"

    async with layer:
        service, questions = Service(), ["q"]
        await ask(service, questions)
        clock.advance(30)
        await ask(service, questions)
        questions.append("and then?")
        await until(seen, 2)
    assert seen == [service, service] and service.log == ["q", "q"]


def test_what_the_key_need_not_hold_is_copied_within_bounds() -> None:
    weights, kinds = np.zeros(MOST), Kinds()
    assert held(weights, kinds, MOST) is weights and held([weights], kinds, MOST)[0] is weights
    small = [np.zeros(2)]
    assert held(small, kinds, MOST) is not small and held(weights, kinds) is not weights
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert held(deep, kinds, MOST) is deep


MARKER = type("Marker", (), {})()
LOCK = threading.Lock()


def test_all_that_can_change_is_copied_and_markers_and_what_cannot_be_copied_are_not() -> None:
    parts, array = ["a"], np.zeros(2)
    given = [
        Model(parts=parts),
        Record(parts),
        {"parts": parts},
        (parts,),
        deque(parts),
        {"a"},
        bytearray(b"a"),
    ]
    kept = held([*given, array, MARKER, LOCK, MARKER.__class__, asyncio.Lock], Kinds())
    assert kept[:7] == given and kept[8] is MARKER and kept[9] is LOCK and kept[10] is type(MARKER)
    given[0].parts.append("b")  # type: ignore[attr-defined]
    parts.append("b")
    array[0] = 1.0
    assert kept[0].parts == kept[1].parts == kept[2]["parts"] == kept[3][0] == ["a"]
    assert kept[7][0] == 0.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON)
def test_a_copy_is_equal_and_shares_no_container(value: Any) -> None:
    def containers(thing: Any) -> set[int]:
        if not isinstance(thing, list | dict):
            return set()
        inner = thing if isinstance(thing, list) else thing.values()
        return {id(thing)}.union(*map(containers, inner))

    copied = held(value, Kinds())
    assert copied == value and containers(copied).isdisjoint(containers(value))
