"""What retrievals are asked for, return and are told: counts of any class, generators, lists; nonsense by name."""

from __future__ import annotations

import asyncio
import threading
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy, Reason, Source
from cachelayer.testing import ManualClock, WordEmbedder

shelves = CacheLayer(semantic=False)


@dataclass(frozen=True)
class Shelf:
    place: str

    @shelves.retrieval
    async def search(self, query: str, k: int = 2) -> list[dict[str, Any]]:
        return [{"id": f"{self.place} {n}", "text": query} for n in range(k)]

    @shelves.retrieval
    @classmethod
    def every(cls, query: str) -> list[dict[str, Any]]:
        return [{"id": cls.__name__, "text": query}]

    @shelves.retrieval(corpus="fixed")
    @staticmethod
    async def fixed(query: str) -> list[dict[str, Any]]:
        return [{"id": query}]


class Wing(Shelf):
    """The same methods."""


async def lights(query: str, k: int = 2, *, kind: str = "any") -> list[dict[str, Any]]:
    return [{"id": id, "text": f"the {id} and its lights"} for id in ("hub", "lamp")][:k]


async def test_a_count_of_any_class_counts_and_what_is_no_count_goes_to_the_retriever_each_time() -> None:
    asked = []

    async def everything(query: str, k: Any = 2) -> list[dict[str, str]]:
        asked.append(k)
        return [{"id": f"d{n}"} for n in range(9)][: 9 if k in (-1, "all") else k]

    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(everything)
        assert [len(await search("word", k=np.int64(k))) for k in (2, 5, 3)] == [2, 5, 3] and asked == [2, 5]
        assert [len(await search("word", k=k)) for k in (-1, "all", -1)] == [9, 9, 9]  # not [:-1] of them
        assert len(await search("word", k=4)) == 4 and asked == [2, 5, -1, "all", -1]


async def test_generators_are_read_in_the_thread_that_runs_them_and_async_ones_as_they_come() -> None:
    """What they do between two documents holds up nobody else."""

    def generated(query: str) -> Iterator[dict[str, str]]:
        yield {"id": threading.current_thread().name}

    async def arriving(query: str) -> AsyncIterator[dict[str, str]]:
        yield {"id": "a"}

    async with CacheLayer(semantic=False) as layer:
        assert (await layer.retrieval(generated)("word"))[0]["id"] != threading.current_thread().name
        assert await layer.retrieval(arriving)("word") == [{"id": "a"}]


@pytest.mark.parametrize("returned", [None, "text", {"ids": ["a"]}, 3])
async def test_a_retriever_that_returns_no_list_is_told_what_it_returned(returned: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(lambda query: returned)
        with pytest.raises(ConfigurationError, match=r"it returned (None|one (str|dict|int)): return a list"):
            await search("word")


async def test_what_a_retrieval_is_told_wrongly_is_refused_by_name() -> None:
    async with CacheLayer(semantic=False) as layer:
        with pytest.raises(ConfigurationError, match=r"k='topk'.* it has query, k, kind"):
            layer.retrieval(lights, k="topk")
        with pytest.raises(ConfigurationError, match=r"ignore='kind'.*list of strings"):
            layer.retrieval(lights, ignore="kind")


@pytest.mark.parametrize("embedder", [None, WordEmbedder()], ids=["exact", "by meaning"])
async def test_documents_come_in_as_a_list_and_none_change_nothing(embedder: Any) -> None:
    """A lone text would be taken for its letters, and what it belongs into would stay."""
    async with CacheLayer(semantic=embedder is not None, embedder=embedder) as layer:
        search = layer.retrieval(lights)
        await search("lights")
        for alone in ("the lights", {"id": "a", "text": "the lights"}):
            with pytest.raises(ConfigurationError, match="documents="):
                await search.added(alone)  # type: ignore[arg-type]
        assert await search.added([]) == 0 and (await search.outcome("lights")).source is Source.MEMORY


@pytest.mark.parametrize("id", [7, 0, np.int64(7), 7.5, UUID(int=7), ("shelf", 7), "7"], ids=repr)
async def test_a_document_is_invalidated_by_the_id_that_its_retriever_gave_of_whatever_class(id: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(lambda query: [{"id": id, "text": query}])

        @layer.cached
        async def answer(question: str) -> str:
            layer.used(documents=[id])
            return question

        for ids in ([id], np.full(1, id) if isinstance(id, int | float) else {id}, {id: "as keys"}.keys()):
            await search("word")
            await answer("word")
            assert await layer.invalidate(documents=ids) == 2


@pytest.mark.parametrize(
    "documents", [7, "7", b"7", {"id": 7}, [None], [""], [{"id": 7, "text": "a document, not its id"}]]
)
async def test_what_is_no_list_of_ids_is_refused_and_never_taken_for_one(documents: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        with pytest.raises(ConfigurationError, match=r"documents=.*: give a list of ids, even for one"):
            await layer.invalidate(documents=documents)


async def test_a_retriever_that_is_written_in_a_class_binds_like_any_method() -> None:
    hall, attic = Shelf("hall"), Shelf("attic")
    async with shelves:
        for shelf in (hall, attic, hall):
            assert [one["id"] for one in await shelf.search("word")] == [
                f"{shelf.place} 0",
                f"{shelf.place} 1",
            ]
        outcome = await attic.search.outcome("word", k=1)
        assert (len(outcome.answer), outcome.source) == (1, Source.MEMORY)
        assert await Shelf.search(hall, "word") == await to_thread(Shelf("hall").search.now, "word")
        assert [(await of.every("word"))[0]["id"] for of in (hall, Wing, Wing("x"))] == [
            "Shelf",
            "Wing",
            "Wing",
        ]
        assert await hall.fixed("word") == await Shelf.fixed("word") == [{"id": "word"}]
        assert await hall.search.added(["a text"]) == 4 and hall.search.corpus == "default"


async def test_of_an_object_that_does_not_key_itself_a_retriever_is_told_what_does() -> None:
    layer = CacheLayer(semantic=False)

    class Index:
        name = "old"

        @layer.retrieval
        async def search(self, query: str) -> list[dict[str, str]]:
            return []

        @layer.retrieval(self_key="name")
        async def named(self, query: str) -> list[dict[str, str]]:
            return [{"id": self.name}]

    index = Index()
    async with layer:
        with pytest.raises(ConfigurationError, match="self_key='model'"):
            await index.search("word")
        assert await index.named("word") == [{"id": "old"}]
        index.name = "new"
        assert await index.named("word") == [{"id": "new"}]
        bound = layer.retrieval(Index.named._fn.__get__(index), name="bound", self_key="name")
        assert await bound("word") == [{"id": "new"}]
        index.name = "newest"
        assert await bound("word") == [{"id": "newest"}]


@pytest.mark.parametrize(
    "of",
    [
        lambda place: Shelf.search._fn.__get__(Shelf(place)),
        lambda place: partial(Shelf.search._fn, Shelf(place)),
    ],
    ids=["bound", "partial"],
)
def test_what_never_changes_of_a_retriever_is_part_of_its_keys(of: Any) -> None:
    """Two processes, each with a retriever of that name, share one Redis."""

    def canonical(fn: Any) -> bytes:
        made: bytes = CacheLayer(semantic=False).retrieval(fn).handle.now(("word",), {}).canonical
        return made

    assert canonical(of("hall")) == canonical(of("hall")) != canonical(of("attic"))


async def test_a_retriever_that_is_down_is_no_fault_of_the_cache_and_waited_for_once() -> None:
    """Each of its callers waited for it twice, and it was counted and told as a stage of the cache that failed."""
    asked, down = [], True

    async def find(query: str, k: int = 2) -> list[dict[str, str]]:
        asked.append(k)
        if down:
            raise ConnectionError
        return [{"id": query, "text": query}]

    async with CacheLayer(embedder=WordEmbedder()) as layer:
        search = layer.retrieval(find)
        for n in range(4):
            with pytest.raises(ConnectionError):
                await search(f"topic{n}")
        down = False
        for n in range(2):
            await search(f"topic{n}")
        assert asked == [8, 2, 2, 2, 2, 2, 8] and not layer.stats()["faults"]


async def test_a_retriever_that_fails_when_asked_for_more_is_asked_again_what_was_asked() -> None:
    layer, asked = CacheLayer(embedder=WordEmbedder()), []

    @layer.retrieval
    async def search(query: str, filters: dict[str, str], k: int = 2) -> list[dict[str, Any]]:
        asked.append((k, filters.pop("owner", None)))
        if k > 2:
            raise ValueError("at most 2")
        return [{"id": "hub", "text": "the hub"}]

    async with layer:
        await search("lights", {"owner": "me"})
    assert asked == [(8, "me"), (2, "me")]


async def test_who_wants_more_than_a_call_that_is_under_way_gets_them_all() -> None:
    async def numbered(query: str, k: int = 2) -> list[dict[str, int]]:
        await asyncio.sleep(0)
        return [{"id": n} for n in range(k)]

    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(numbered)
        for counts in ([1, 20, 50, 3], [60, 80, 70]):
            found = await asyncio.gather(*(search("lights", k=k) for k in counts))
            assert [len(one) for one in found] == counts


async def test_that_nothing_was_found_is_known_of_a_retriever_without_a_count_too() -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(lambda query: [], name="nothing")
        assert [(await search.outcome("lights")).source for _ in range(2)] == [Source.BACKEND, Source.MEMORY]


@pytest.mark.parametrize("everywhere", [False, True])
async def test_an_owner_is_asked_about_the_documents_whether_they_may_be_kept(everywhere: bool) -> None:
    asked: list[Any] = []
    option: dict[str, Any] = {"cache_if": lambda documents: asked.append(documents) or len(documents) == 1}
    policy = Policy(**option) if everywhere else Policy()
    async with CacheLayer(semantic=False, policy=policy) as layer:
        search = layer.retrieval(lights, **({} if everywhere else option))
        told = [(await search.outcome("lights", k=k)).stored for k in (2, 1)]
        assert told == [Reason.VETOED, None] and [len(documents) for documents in asked] == [2, 1]
        assert (await search.outcome("lights", k=1)).source is Source.MEMORY and len(asked) == 2
    with pytest.raises(ConfigurationError, match="cache_if"):
        layer.retrieval(lights, cache_if="never", corpus="other")


async def test_how_long_a_result_is_kept_may_depend_on_its_documents() -> None:
    clock, calls = ManualClock(), list[str]()

    async def search(query: str) -> list[dict[str, Any]]:
        calls.append(query)
        return [{"id": word} for word in query.split()]

    policy = Policy(ttl_jitter=0)
    async with CacheLayer(semantic=False, clock=clock, policy=policy) as layer:
        search = layer.retrieval(search, ttl=lambda documents: 10 * len(documents), negative_ttl=5)
        for seconds, asked in ((0, ["a b", "a", ""]), (6, ["a b", "a", ""]), (6, ["a b", "a", ""])):
            clock.advance(seconds)
            for query in asked:
                await search(query)
    assert calls == ["a b", "a", "", "", "a", ""]


async def test_an_erasure_leaves_no_query_of_a_retrieval_behind() -> None:
    async with CacheLayer(policy=Policy(shadow=0), embedder=WordEmbedder()) as layer:
        search = layer.retrieval(lights)
        for query in ("the lights", "my lights"):
            await search(query)
        await layer.flush()
        assert layer._similar is not None
        decider: Any = layer._similar.decider
        (known,) = decider.retrievals._functions.values()
        assert {text for _, text in known.seen} == {"the lights", "my lights"}
        await layer.erase()
        assert not known.seen
