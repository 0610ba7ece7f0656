"""Retrievals: fewer from more, nothing for a short while, additions, similar queries within a learned bound."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Source
from cachelayer.partial.documents import Reading
from cachelayer.partial.sameness import STEPS, Sameness, listed, loss
from cachelayer.testing import ManualClock, WordEmbedder

PATIENT = Policy(shadow=0, budgets=Budgets(embed=5, search=5, verify=5))
TEXTS = {
    "hub": "the hub and its lights",
    "lamp": "a lamp with lights",
    "lock": "the lock of the door",
    "door": "a door with a bell",
}


class Shelf:
    """Ranks documents by the words that they share with the query."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts, self.calls = dict(texts), 0

    async def __call__(self, query: str, k: int = 2, *, kind: str = "any") -> list[dict[str, Any]]:
        self.calls += 1
        words = set(query.split())
        ranked = sorted(self.texts, key=lambda id: (-len(words & set(self.texts[id].split())), id))
        hits = [id for id in ranked if words & set(self.texts[id].split())]
        return [{"id": id, "text": self.texts[id]} for id in hits[:k]]


def ids(documents: Sequence[Any]) -> list[str]:
    return [document["id"] for document in documents]


async def test_a_cached_result_serves_fewer_and_is_fetched_again_for_more() -> None:
    shelf = Shelf({f"d{n}": "word" for n in range(9)})
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(shelf)
        assert len(await search("word", k=4)) == 4 and len(await search("word", k=2)) == 2
        assert shelf.calls == 1
        assert len(await search("word", k=7)) == 7 and len(await search("word", 4)) == 4 and shelf.calls == 2
        assert len(await search("word", k=20)) == 9 and len(await search("word", k=30)) == 9
        assert shelf.calls == 3  # there are no more


async def test_filters_are_scope() -> None:
    shelf = Shelf(TEXTS)
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(shelf)
        await search("lights", kind="x")
        await search("lights", kind="y")
        assert shelf.calls == 2


async def test_that_nothing_was_found_is_known_for_a_short_while() -> None:
    shelf, clock = Shelf({}), ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:
        search = layer.retrieval(shelf, negative_ttl="10s", ttl_jitter=0)
        assert await search("lights") == await search("lights") == [] and shelf.calls == 1
        shelf.texts.update(TEXTS)
        clock.advance(11)
        assert len(await search("lights")) == 2
        clock.advance(11)
        assert len(await search("lights")) == 2 and shelf.calls == 2


async def test_a_new_document_forgets_the_results_it_belongs_into_and_what_was_built_on_them() -> None:
    shelf = Shelf(TEXTS)
    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(shelf, semantic=False)

        @layer.cached(semantic=False)
        async def ask(question: str) -> list[str]:
            return ids(await search(question))

        assert await ask("lights of the hub") == ["hub", "lock"]
        assert await ask("bell of a door") == ["door", "lock"]
        shelf.texts["new"] = "lights of the hub"
        assert await search.added([{"id": "new", "text": "lights of the hub"}]) == 2
        assert await ask("lights of the hub") == ["new", "hub"]
        assert (await ask.outcome("bell of a door")).source is Source.MEMORY


async def test_a_result_with_room_for_more_goes_with_any_addition() -> None:
    shelf = Shelf({"hub": "the hub"})
    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(shelf, semantic=False)
        await search("the hub")
        await search("nothing like it")
        assert await search.added(["something else"]) == 2


async def test_where_nothing_can_be_compared_all_results_of_the_corpus_go() -> None:
    shelf, other = Shelf(TEXTS), Shelf(TEXTS)
    async with CacheLayer(semantic=False) as layer:
        search, elsewhere = layer.retrieval(shelf, name="a"), layer.retrieval(other, corpus="b", name="b")
        await search("lights")
        await elsewhere("lights")
        assert await search.added(["anything"]) == 1
        assert (await elsewhere.outcome("lights")).source is Source.MEMORY


async def test_a_retrieval_under_way_while_a_document_comes_in_is_not_kept() -> None:
    shelf, read, gate = Shelf(TEXTS), asyncio.Event(), asyncio.Event()

    async def slow(query: str) -> list[Any]:
        found = await shelf(query)
        read.set()
        await gate.wait()
        return found

    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(slow, semantic=False)
        first = asyncio.ensure_future(search("lights"))
        await read.wait()
        await search.added(["lights and more lights"])
        gate.set()
        await first
        assert (await search.outcome("lights")).source is Source.BACKEND


async def test_similar_queries_are_served_once_enough_comparisons_allow_it() -> None:
    shelf = Shelf({f"d{n}": f"topic{n} text" for n in range(80)})
    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(shelf, name="search")
        for n in range(80):
            for words in (f"tell me about topic{n}", f"about topic{n} tell me"):
                await search(words)
                await layer.flush()
        served = (await search.outcome("me about topic7 tell")).source
        told = layer.stats()["similar"]["decider"]["retrievals"]["search"]["compared"]
        assert served is Source.INDEX and told >= 49
        before = shelf.calls
        assert ids(await search("about me tell topic9", k=1)) == ["d9"] and shelf.calls == before


async def test_a_similar_query_gets_its_own_best_of_a_wider_result() -> None:
    words = "red green blue grey".split()
    shelf = Shelf({f"d{n}{w}": f"topic{n} item{n} {w}" for n in range(30) for w in words})
    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(shelf, name="search")
        for n in range(30):
            for first in range(3):
                await search(f"show me what there is on topic{n} item{n} {words[first]}", k=1)
                await layer.flush()
        before = shelf.calls
        outcome = await search.outcome("show me what there is on topic7 item7 grey", k=1)
        assert outcome.match == "similar" and ids(outcome.answer) == ["d7grey"] and shelf.calls == before
        await layer.invalidate(documents=["d7grey"])  # beyond what was asked for: no entry goes
        shelf.texts["d7grey"] = "nothing any more"
        assert (
            await search.outcome("show me what there is on topic7 item7 red", k=1)
        ).source is Source.MEMORY
        again = await search.outcome("what there is on topic7 item7 grey show me", k=1)
        assert ids(again.answer) != ["d7grey"]


async def test_who_else_has_a_document_of_that_id_does_not_rank_this_ones() -> None:
    """A translation, or another tenant's: its words were taken for those of the document that is here."""
    words = "red green blue grey".split()
    texts = {f"d{n}{w}": f"topic{n} item{n} {w}" for n in range(30) for w in words}
    theirs = dict(zip(texts, [*texts.values()][::-1], strict=True))
    shelves = {"acme": Shelf(texts), "globex": Shelf(theirs)}

    async def find(query: str, k: int = 1, *, of: str) -> list[dict[str, Any]]:
        return await shelves[of](query, k)

    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(find, name="search")
        for of in shelves:
            for n in range(30):
                for first in range(3):
                    await search(f"show me what there is on topic{n} item{n} {words[first]}", of=of)
                    await layer.flush()
        for of, held in (("acme", texts), ("globex", theirs)):
            best = next(id for id, text in held.items() if text == "topic7 item7 grey")
            outcome = await search.outcome("show me what there is on topic7 item7 grey", of=of)
            assert outcome.match == "similar" and ids(outcome.answer) == [best]


async def test_a_retriever_that_refuses_more_than_was_asked_for_is_asked_for_no_more() -> None:
    asked = []

    async def few(query: str, k: int = 2) -> list[dict[str, Any]]:
        asked.append(k)
        if k > 5:
            raise ValueError("at most 5")
        return [{"id": query, "text": query}]

    async with CacheLayer(policy=PATIENT, embedder=WordEmbedder()) as layer:
        search = layer.retrieval(few)
        for n in range(5):
            assert ids(await search(f"topic{n}")) == [f"topic{n}"]
        assert asked == [8, 2, 8, 2, 8, 2, 2, 2]
        with pytest.raises(ValueError, match="at most 5"):
            await search("more", k=6)
        with pytest.raises(ConfigurationError, match="wide"):
            layer.retrieval(few, name="other", wide=0)


@given(st.lists(st.tuples(st.floats(0.6, 1.0), st.floats(0.0, 1.0)), max_size=200), st.floats(0.001, 0.3))
def test_a_threshold_keeps_the_mean_loss_above_it_within_the_bound(
    seen: list[tuple[float, float]], bound: float
) -> None:
    sameness = Sameness()
    for similarity, lost in seen:
        sameness.add(similarity, lost, 5)
    allowed = sameness.threshold(bound)
    if allowed is not None:
        above = [lost for similarity, lost in seen if similarity >= allowed - 1e-6]
        assert above and sum(above) / len(above) <= bound + 1e-9 and STEPS > 0


def test_the_loss_is_the_share_of_the_fresh_result_that_is_missing() -> None:
    assert loss(listed(3, ["a", "b", "c"]), listed(2, ["b", "a"])) == 0.0
    assert loss(listed(2, ["a", "b"]), listed(4, ["a", "b", "c", "d"])) == 0.5
    assert loss(listed(2, ["c", "a"]), listed(1, ["a"])) == 1.0
    assert loss(listed(2, []), listed(2, [])) == 0.0 and loss(listed(2, ["a"]), listed(2, [])) == 1.0
    backwards = lambda ids: range(len(ids))[::-1]  # noqa: E731
    assert loss(listed(1, ["a", "b", "c"]), listed(1, ["c", "x"]), backwards) == 0.0
    assert loss(listed(1, ["a"]), listed(1, ["a"]), lambda ids: None) is None


async def test_documents_have_one_canonical_order() -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(Shelf(TEXTS))
        found = await search("lights lock", k=3)
        assert ids(search.in_order(found)) == ids(search.in_order(found[::-1])) == sorted(ids(found))


@pytest.mark.parametrize(
    ("returned", "told"),
    [([{"text": "x"}], "without an id"), ([{"id": 0}, {"id": 1}, {"id": "1"}], "the id '1'")],
)
async def test_a_retriever_without_ids_or_with_duplicate_ones_is_told_so(returned: Any, told: str) -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(lambda query: returned, name="search")
        with pytest.raises(ConfigurationError, match=told):
            await search("q")


def test_fields_are_read_from_mappings_objects_metadata_and_scored_pairs() -> None:
    reading = Reading("r", "source", "version", "text")
    shown = SimpleNamespace(page_content="text", metadata={"source": "a", "version": 3})
    for document in (
        shown,
        (shown, 0.5),
        (shown, np.float32(0.5)),
        {"source": "a", "version": 3, "content": "text"},
    ):
        assert reading.ids([document]) == ("a",) and reading.version(document) == 3
        assert reading.text(document) == "text"
    named = Reading("r", "source", "version", "abstract")
    assert named.text({"abstract": "in short", "text": "at length"}) == "in short"
    assert named.text({"text": "at length"}) is named.text({"abstract": ["no", "text"]}) is None
    assert (reading.text({"text": "", "body": "text"}), reading.text({"text": ""})) == ("text", None)
    with pytest.raises(ConfigurationError, match="version"):
        Reading("r", "id", "", "text")


async def test_embeddings_are_those_of_the_similar_tier() -> None:
    embedder = WordEmbedder()
    async with CacheLayer(policy=PATIENT, embedder=embedder) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            return "yes"

        vectors = await layer.embeddings(["one", "two", "one"])
        await ask("two")
        await layer.flush()
        assert vectors.shape == (3, 64) and np.array_equal(vectors[0], vectors[2]) and embedder.embedded == 2
        kept = (await layer.embeddings(["one"])).copy()
        for alone in (["one"], ["one", "two"]):
            mine = await layer.embeddings(alone)
            mine *= 2  # the caller's own: the next one is given what the model said
        assert np.array_equal(await layer.embeddings(["one"]), kept)
        assert (await layer.embeddings(text for text in ["one", "two"])).shape == (2, 64)
        assert (await layer.embeddings([])).shape == (0, 64)
        with pytest.raises(ConfigurationError, match="texts='abc'"):
            await layer.embeddings("abc")
    with pytest.raises(ConfigurationError, match="semantic"):
        await CacheLayer(semantic=False).embeddings(["x"])
