"""Scopes as decorators, and calls that begin elsewhere than they were made: nobody shares who did not ask to."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, LooseningError, Reason, Source
from cachelayer.testing import ManualClock

LAYER = CacheLayer(semantic=False)


@LAYER.cached(name="inner")
async def ask(question: str) -> str:
    return question


@LAYER.cached(name="inner plain")
def ask_now(question: str) -> str:
    return question


async def asked(question: str) -> AsyncIterator[str]:
    yield await ask(question)


def asked_now(question: str) -> Iterator[str]:
    yield ask_now(question)


stream = LAYER.cached(asked)
stream_now = LAYER.cached(asked_now)
acme = LAYER.scope(tenant="acme")


@acme
async def coroutine(question: str) -> str:
    return await ask(question)


@acme
def plain(question: str) -> str:
    return ask_now(question)


@acme
def lazy(question: str) -> Any:
    """A plain function, whose body is that of another."""
    return ask(question)


async def told(made: Any) -> Any:
    """What a call of any kind gives."""
    if isinstance(made, str):
        return made
    if hasattr(made, "__await__"):
        return await made
    return [item async for item in made] if hasattr(made, "__aiter__") else list(made)


@pytest.fixture(autouse=True)
async def _forgotten() -> None:
    await LAYER.erase()


async def nobody_has(question: str) -> bool:
    """Whether callers in the scope here find no answer."""
    return {(await ask.explain(question)).verdict, ask_now.explain(question).verdict} == {"miss"}


@pytest.mark.parametrize(
    "covered",
    [
        coroutine, plain, lazy, acme(asked), acme(asked_now), acme(lambda q: asked(q)), acme(lambda q: asked_now(q)),
        acme(ask), acme(ask.outcome), acme(ask_now).aio, acme(stream), acme(stream_now), acme(acme(ask)),
    ],
)  # fmt: skip
async def test_a_decorated_function_of_any_kind_runs_in_its_scope_to_its_end(covered: Any) -> None:
    for _ in range(2):
        await told(covered("q"))
    assert await nobody_has("q")
    with acme:
        assert not await nobody_has("q")


async def test_what_a_decorated_cached_function_offers_is_in_its_scope_too() -> None:
    covered: Any = acme(ask)
    assert (await covered.outcome("q")).source is Source.BACKEND
    assert await nobody_has("q") and await covered.invalidate("q") == 1


async def test_who_reads_a_decorated_generator_stays_outside() -> None:
    steps: Any = acme(asked_now)("q")
    assert next(steps) == "q"
    ask_now("between")
    assert not list(steps) and not await nobody_has("between")
    async for _ in acme(asked)("q"):
        await ask("among")
    assert not await nobody_has("among")


async def test_a_decorated_generator_is_sent_thrown_into_and_closed_as_ever() -> None:
    ends: list[str] = []

    def body() -> Iterator[Any]:
        given = ""
        try:
            while given != "end":
                try:
                    given = yield given
                except KeyError:
                    given = "caught"
            return "returned"
        finally:
            ends.append(given)

    def outer(covered: Any) -> Iterator[Any]:
        ends.append((yield from covered()))

    both: Any = acme(body)()
    assert next(both) == "" and both.send("a") == "a" and both.throw(KeyError()) == "caught"
    both.close()
    again: Any = outer(acme(body))
    next(again)
    with pytest.raises(StopIteration):
        again.send("end")
    assert ends == ["caught", "end", "returned"]


async def test_a_decorated_asynchronous_generator_is_sent_thrown_into_and_closed_as_ever() -> None:
    ends: list[Any] = []

    async def body() -> AsyncIterator[Any]:
        given: Any = ""
        try:
            while True:
                try:
                    given = yield given
                except KeyError:
                    given = "caught"
        finally:
            ends.append(given)

    both: Any = acme(body)()
    assert await both.asend(None) == "" and await both.asend("a") == "a"
    assert await both.athrow(KeyError()) == "caught"
    await both.aclose()
    assert ends == ["caught"]


async def test_a_stream_belongs_to_the_scope_it_was_made_in_with_all_that_its_function_asks() -> None:
    for made in (stream, stream_now):
        with acme, LAYER.tighten(max_age=60):
            chunks: Any = made("q")
        with LAYER.scope(tenant="beta"):
            assert await told(chunks) == ["q"]
            assert await nobody_has("q")
        assert await nobody_has("q")


async def test_a_stream_that_is_passed_on_uncached_belongs_to_its_scope_as_well() -> None:
    unkept = LAYER.tighten(no_cache=True, no_store=True)
    for made in (stream, stream_now):
        with acme, unkept:
            chunks: Any = made("q")
        assert await told(chunks) == ["q"]
        ask_now("read on")
        assert await nobody_has("q") and not await nobody_has("read on")


async def test_one_scope_serves_one_block_after_the_other_and_never_two_at_once() -> None:
    both = LAYER.scope(tenant="acme")
    for _ in range(2):
        with both:
            await ask("q")
            with pytest.raises(ConfigurationError, match="entered again"), both:
                pass
            assert (await ask.outcome("q")).source is Source.MEMORY
    assert await nobody_has("q")


async def test_generators_that_are_read_in_turn_end_their_own_scopes_in_any_order() -> None:
    def named(tenant: str) -> Iterator[bool]:
        with LAYER.scope(tenant=tenant):
            for _ in range(2):
                ask_now(tenant)
                yield ask_now.explain(tenant).verdict == "exact hit"

    for order in itertools.permutations(range(3)):
        await LAYER.erase()
        ask_now("mine")
        steps: list[Any] = [named(f"{n}") for n in range(3)]
        assert all(map(next, steps))
        with acme:
            for n in order[:2]:
                steps[n].close()
            ask_now("acme's")
        assert next(steps[order[2]])
        steps[order[2]].close()
        assert not await nobody_has("mine")
        assert all([await nobody_has(question) for question in ("0", "1", "2", "acme's")])


async def test_a_decorator_tightens_as_a_block_does_at_each_call() -> None:
    clock = ManualClock()
    layer = CacheLayer(semantic=False, clock=clock)

    @layer.cached
    async def f(question: str) -> str:
        return question

    unkept = layer.tighten(no_cache=True, no_store=True)(f.outcome)
    await f("q")
    for _ in range(2):
        assert (await unkept("q")).misses["memory"] is Reason.NO_STORE
    loose: Any = layer.tighten(max_age=9)(f)
    with layer.tighten(max_age=5), pytest.raises(LooseningError):
        await loose("q")
    clock.advance(8)
    assert (await loose.outcome("q")).source is Source.MEMORY


class Agent:
    @acme
    @LAYER.cached(share_self=True)
    def now(self, question: str) -> str:
        return question

    @acme
    @LAYER.cached(share_self=True)
    async def later(self, question: str) -> str:
        return question

    @acme
    @classmethod
    @LAYER.cached
    def of(cls, question: str) -> str:
        return question

    @acme
    @staticmethod
    async def alone(question: str) -> str:
        return await ask(question)


async def test_methods_of_every_kind_bind_in_their_scope_with_what_they_offer() -> None:
    agent, (a, b, c, d) = Agent(), (f"method {n}?" for n in "abcd")
    assert agent.now(a) == agent.now.outcome(a).answer == await agent.now.aio(a) == a
    assert (await agent.now.aio.outcome(a)).source is Source.MEMORY
    assert await agent.later(b) == (await agent.later.outcome(b)).answer == b
    assert agent.of(c) == Agent.of(c) == agent.of.outcome(c).answer == c
    assert await agent.alone(d) == await Agent.alone(d) == d
    assert await LAYER.erase(tenant="acme", dry_run=True) >= 4
    assert (await ask.outcome(d)).source is Source.BACKEND  # in nobody's


@pytest.mark.parametrize("wrong", [None, "acme", Agent, property(lambda self: 1)])
def test_what_no_scope_can_cover_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^fn=.*give a function of any kind"):
        acme(wrong)


@pytest.mark.parametrize("wrong", [{"nocache": True}, {"max_age": "soon"}, {"no_store": 1}])
def test_a_restriction_that_cannot_be_is_told_where_it_is_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        LAYER.tighten(**wrong)
