"""Dependants against a brute-force model, and edits that race with lookups."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from books import Books
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer import CacheLayer

NAMES = "abcdef"


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["ask", "edit"]), st.integers(0, 5), st.integers(0, 3)), max_size=30)
)
async def test_exactly_the_dependants_of_a_brute_force_model_are_made_again(script: list[Any]) -> None:
    """Four layers of steps over documents; each step of a layer reads two of the layer below."""
    books = Books(**{name: name for name in NAMES})
    made: list[tuple[int, int]] = []

    def below(depth: int, n: int) -> list[int]:
        return [n, (n + depth) % 6]

    def documents(depth: int, n: int) -> set[int]:
        if depth == 0:
            return {n}
        return set().union(*(documents(depth - 1, inner) for inner in below(depth, n)))

    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached(semantic=False)
        async def work(depth: int, n: int) -> str:
            made.append((depth, n))
            if depth == 0:
                return str((await search(NAMES[n]))[0]["text"])
            return "(" + "".join([await work(depth - 1, inner) for inner in below(depth, n)]) + ")"

        def expected(depth: int, n: int) -> str:
            if depth == 0:
                return books.texts[NAMES[n]]
            return "(" + "".join(expected(depth - 1, inner) for inner in below(depth, n)) + ")"

        held: set[tuple[int, int]] = set()
        for what, n, depth in script:
            if what == "edit":
                books.edit(NAMES[n])
                await layer.invalidate(documents=[NAMES[n]])
                held = {one for one in held if n not in documents(*one)}
                continue
            del made[:]
            wanted, todo = [], [(depth, n)]
            while todo:
                one = todo.pop()
                if one not in held:
                    held.add(one)
                    wanted.append(one)
                    if one[0]:
                        todo += [(one[0] - 1, inner) for inner in below(*one)]
            assert await work(depth, n) == expected(depth, n)
            assert sorted(made) == sorted(wanted)


async def test_concurrent_edits_and_lookups_never_serve_what_is_older_than_a_returned_invalidation() -> None:
    books = Books(**{name: f"{name} v1" for name in NAMES})
    rng = random.Random(7)
    settled = dict.fromkeys(NAMES, 1)
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> list[int]:
            found = await search(question)
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)
            return [document["version"] for document in found]

        async def edit() -> None:
            for _ in range(150):
                name = rng.choice(NAMES)
                books.edit(name)
                version = books.versions[name]
                await layer.invalidate(documents=[name])
                settled[name] = max(settled[name], version)
                await asyncio.sleep(0)

        async def look() -> None:
            for _ in range(300):
                pair = rng.sample(NAMES, 2)
                least = [settled[name] for name in pair]
                got = await ask(" ".join(pair))
                assert all(version >= floor for version, floor in zip(got, least, strict=True))

        await asyncio.gather(edit(), edit(), *(look() for _ in range(6)))
        assert books.calls < 6 * 300  # some were hits, so there was something to be wrong about
