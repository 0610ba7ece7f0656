"""Answers built on answers, dropped and aged by hand in every order: none holds what it may not."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock

LIVES = (7, 20, 50, 1000)
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.just(0), st.sampled_from([3, 10, 30])),
    st.tuples(st.sampled_from(["arguments", "tag", "function", "wrong"]), st.just(0), st.integers(0, 3)),
)


@settings(max_examples=80)
@given(st.lists(STEPS, max_size=40))
async def test_no_answer_holds_one_that_expired_or_was_declared_invalid(script: list[Any]) -> None:
    """Three layers of functions: each of a layer reads two of the layer below; leaves tell when they were made."""
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl="1d")) as layer:
        valid = [clock.monotonic()] * 4
        leaves = []
        for n, life in enumerate(LIVES):

            async def leaf(of: int) -> dict[int, float]:
                return {of: clock.monotonic()}

            leaves.append(layer.wrap(leaf, name=f"leaf{n}", ttl=life, tags=[f"tag{n}"]))

        @layer.cached
        async def middle(n: int) -> dict[int, float]:
            return {**await leaves[n](n), **await leaves[(n + 1) % 4]((n + 1) % 4)}

        @layer.cached
        async def top(n: int) -> dict[int, float]:
            return {**await middle(n), **await middle((n + 2) % 4)}

        for what, depth, n in script:
            if what == "wait":
                clock.advance(n)
                continue
            if what == "ask":
                told = await (leaves[n], middle, top)[depth](n)
                for one, made in told.items():
                    assert made >= valid[one] and clock.monotonic() - made <= LIVES[one]
                continue
            clock.advance(0.001)
            if what == "arguments":
                await leaves[n].invalidate(n)
            elif what == "tag":
                await layer.invalidate(tags=[f"tag{n}"])
            elif what == "function":
                await layer.invalidate(scope={"function": f"leaf{n}"})
            else:
                await layer.report_wrong(await leaves[n].outcome(n))
            valid[n] = clock.monotonic()
