"""What one tenant asked is read anew for another: a text that is known takes less time, which would tell of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from counting import Counting
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.pairs.close_reader import CloseReader
from cachelayer.semantic.pairs.late_interaction import Tokens
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Query


class Counted(Counting):
    """It reads token by token, too."""

    async def read_tokens(self, texts: Sequence[str]) -> list[Any]:
        self.texts += texts
        return [Tokens(np.arange(3), np.ones((2, 3, 16), np.float16) / 4) for _ in texts]


@given(
    st.lists(
        st.tuples(st.sampled_from([None, "", "a", "a1", "\0", "1:"]), st.text("\0-01:a", max_size=4)),
        max_size=40,
    )
)
def test_what_one_tenant_asked_is_embedded_anew_for_another(asked: list[tuple[str | None, str]]) -> None:
    """A text that is known takes microseconds, which would tell that somebody had asked it."""
    counted = Counted()
    cached = CachedEmbedder(counted)

    async def scenario() -> None:
        for tenant, text in asked:
            made = await cached.embed([text], tenant)
            assert np.array_equal(made.vectors, (await WordEmbedder().embed([text])).vectors)

    asyncio.run(scenario())
    assert len(counted.texts) == len(set(asked)) == len(cached)


async def test_a_layer_embeds_for_each_tenant_what_another_asked_before() -> None:
    counted = Counted()
    layer = CacheLayer(embedder=counted, policy=Policy(shadow=0))

    @layer.cached
    async def ask(question: str) -> str:
        return str(len((await layer.embeddings([question]))[0]))

    async with layer:
        for tenant in ("acme", "globex", None):
            with layer.scope(tenant=tenant):
                await ask("is it announced in spring")
            await layer.flush()
    assert counted.texts.count("is it announced in spring") == 3


async def test_what_was_read_closely_for_one_tenant_is_read_anew_for_another() -> None:
    counted, reader = Counted(), CloseReader()
    query = Query("is it announced", np.zeros(3, np.float32))
    for tenant in ("acme", "acme", "globex", None):
        await reader.read(counted, query, Candidate(1, 0.9, "was it announced", None), tenant)
    assert counted.texts.count("is it announced") == 3
