"""A layer with a directory that is closed and started again, started late or twice, goes on as one that never was."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from held_model import Held
from verifiers import SameWords

from cachelayer import CacheLayer, ConfigurationError, Policy, Source
from cachelayer.semantic.index.files import Loaded
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.persistent import PersistentIndex
from cachelayer.testing import WordEmbedder

TOPICS = ("parcel", "refund", "invoice", "password", "garden", "engine", "violin", "harbour")


async def answer(question: str) -> str:
    return f"all about {question.split()[-1]}"


class Service:
    """One layer in a directory, and its function."""

    def __init__(self, directory: Path, embedder: WordEmbedder | None = None) -> None:
        policy = Policy(max_error_rate=0.05, shadow=0)
        self.layer = CacheLayer(
            index=directory, embedder=embedder or WordEmbedder(), verifier=SameWords(), policy=policy
        )
        self.ask = self.layer.wrap(answer, name="ask", tags=["kb:{question}"])

    async def answers(self, *topics: str) -> None:
        for topic in topics:
            await self.ask(f"please tell me everything about my {topic}")
        await self.layer.flush()

    async def sources(self, *topics: str) -> list[Source]:
        """Where answers to the same words in another order come from."""
        found = [await self.ask.outcome(f"tell me everything please about my {topic}") for topic in topics]
        await self.layer.flush()
        return [outcome.source for outcome in found]

    def tag(self, topic: str) -> str:
        return f"kb:please tell me everything about my {topic}"


async def restarted(directory: Path, *topics: str) -> list[Source]:
    service = Service(directory)
    async with service.layer:
        return await service.sources(*topics)


async def test_a_layer_that_is_started_again_goes_on_as_before(tmp_path: Path) -> None:
    service = Service(tmp_path)
    for life in range(4):
        async with service.layer:
            await service.answers(*TOPICS[2 * life : 2 * life + 2])
            with pytest.raises(ConfigurationError, match="another process"):
                await Service(tmp_path).layer.start()
            known = TOPICS[: 2 * life + 2]
            assert await service.sources(*known) == [Source.INDEX] * len(known)
    assert service.layer.stats()["elsewhere"]["discarded"] == 0
    assert await restarted(tmp_path, *TOPICS) == [Source.INDEX] * 8


async def test_what_is_invalidated_while_it_is_closed_does_not_come_back(tmp_path: Path) -> None:
    service = Service(tmp_path)
    async with service.layer:
        await service.answers(*TOPICS)
    assert await service.ask.invalidate("please tell me everything about my engine") == 1
    async with service.layer:
        assert await service.sources("parcel", "engine") == [Source.INDEX, Source.BACKEND]


async def test_what_another_process_did_meanwhile_is_found_when_it_is_started_again(tmp_path: Path) -> None:
    service, other = Service(tmp_path), Service(tmp_path)
    async with service.layer:
        await service.answers("parcel", "refund")
    async with other.layer:
        await other.answers("garden")
        assert await other.layer.invalidate(tags=[other.tag("parcel")]) == 1
    async with service.layer:
        again = await service.ask.outcome("please tell me everything about my parcel")
        assert again.source is Source.BACKEND
        while not service.layer.stats()["elsewhere"]["restored"]:  # embedded again in the background
            await asyncio.sleep(0)
        assert await service.sources("refund", "garden") == [Source.INDEX, Source.INDEX]
    assert await restarted(tmp_path, "refund", "garden", "parcel") == [Source.INDEX] * 3


@pytest.mark.parametrize("closed", [False, True])
async def test_before_a_start_and_after_a_close_the_directory_is_opened_for_what_is_to_go(
    tmp_path: Path, closed: bool
) -> None:
    service = Service(tmp_path)
    async with service.layer:
        await service.answers(*TOPICS)
    service = service if closed else Service(tmp_path)
    assert await service.layer.invalidate(tags=[service.tag("refund")], dry_run=True) == 1
    assert await service.layer.invalidate(tags=[service.tag("refund")]) == 1
    await service.layer.aclose()
    service = service if closed else Service(tmp_path)
    assert await service.layer.erase() == 7
    assert b"violin" not in (tmp_path / "entries").read_bytes()
    await service.layer.aclose()


async def test_a_call_before_the_start_costs_no_entry(tmp_path: Path) -> None:
    """Its warming and the start do not read the directory at once: each took the other's entries for strangers."""
    service = Service(tmp_path)
    async with service.layer:
        await service.answers(*TOPICS)
    embedder = Held()
    service = Service(tmp_path, embedder)
    await service.ask("something else")
    starting = asyncio.create_task(service.layer.start())
    await asyncio.sleep(0)
    embedder.let.set()
    await starting
    await service.layer.flush()
    told = service.layer.stats()["elsewhere"]
    assert (told["restored"], told["discarded"]) == (8, 0)
    await service.layer.aclose()


async def test_what_was_answered_before_the_start_is_not_replaced_by_what_comes_back_then(
    tmp_path: Path,
) -> None:
    versions = iter(("old", "new"))

    async def version(question: str) -> str:
        return next(versions)

    def life() -> tuple[CacheLayer, Any]:
        layer = CacheLayer(index=tmp_path, embedder=WordEmbedder(), verifier=SameWords())
        return layer, layer.wrap(version, name="ask")

    layer, ask = life()
    async with layer:
        assert await ask("which version is it") == "old"
        await layer.flush()
    layer, ask = life()
    assert await ask("which version is it") == "new"
    async with layer:
        assert layer.stats()["elsewhere"]["discarded"] == 1  # the old one was there
        assert await ask("which version is it") == "new"


async def test_a_layer_closed_as_it_warms_lets_the_directory_go(tmp_path: Path) -> None:
    class Stuck(Service):
        async def restore(self) -> None:
            self.begun.set()
            await asyncio.Event().wait()

        begun: Any

    service = Stuck(tmp_path)
    service.begun = asyncio.Event()
    assert service.layer._similar is not None
    service.layer._similar.restore = service.restore
    await service.ask("something")
    await service.begun.wait()
    await service.layer.aclose()
    async with Service(tmp_path).layer as next_owner:
        assert next_owner.stats()["similar"]["state"] == "ready"


async def test_a_layer_closed_as_a_thread_reads_the_directory_lets_it_go(tmp_path: Path) -> None:
    """The thread went on, and held the directory for a layer that was closed."""
    began, go = asyncio.Event(), threading.Event()

    class Reading(PersistentIndex):
        def load(self) -> Loaded:
            loop.call_soon_threadsafe(began.set)
            assert go.wait(30)
            return super().load()

    loop, service = asyncio.get_running_loop(), Service(tmp_path)
    tier = service.layer._similar
    assert tier is not None
    tier.make_index = lambda d, identity: Reading(PackedIndex(d), tmp_path / "vectors", identity)
    await service.ask("something")
    await began.wait()
    closing = asyncio.create_task(service.layer.aclose())
    assert not (await asyncio.wait((closing,), timeout=0.2))[0]
    go.set()
    await closing
    async with Service(tmp_path).layer as next_owner:
        assert next_owner.stats()["similar"]["state"] == "ready"


async def test_a_start_that_failed_because_of_another_process_is_made_good_by_the_next(
    tmp_path: Path,
) -> None:
    first, second = Service(tmp_path), Service(tmp_path)
    async with first.layer:
        await first.answers("parcel")
        with pytest.raises(ConfigurationError, match="another process"):
            await second.layer.start()
    async with second.layer:
        with pytest.raises(ConfigurationError, match="another process"):
            await Service(tmp_path).layer.start()
        assert await second.sources("parcel") == [Source.INDEX]


async def test_a_model_that_cannot_be_closed_keeps_neither_the_directory_nor_the_thread(
    tmp_path: Path,
) -> None:
    """Its error took the place of what the program itself raised, and the directory stayed "another process's"."""

    class Broken(WordEmbedder):
        async def aclose(self) -> None:
            raise OSError("reset by peer")

    service = Service(tmp_path, Broken())
    with pytest.raises(KeyError):
        async with service.layer:
            await service.answers("parcel")
            await asyncio.to_thread(service.layer.wrap(ascii, name="plain", text="obj"), "text")
            raise KeyError("the program's own")
    assert service.layer.stats()["faults"] == {"close:OSError": 1} and not service.layer._portal.running
    async with Service(tmp_path).layer as next_owner:
        assert next_owner.stats()["elsewhere"]["restored"] == 1


async def test_what_was_erased_does_not_come_back_with_a_machine_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file's name is on the disk as well, else the old one's content would be under it."""
    service = Service(tmp_path)
    async with service.layer:
        await service.answers(*TOPICS)
        synced: list[int] = []
        sync = os.fsync

        def noting(file: int) -> None:
            synced.append(os.fstat(file).st_ino)
            sync(file)

        monkeypatch.setattr(os, "fsync", noting)
        await service.layer.erase()
        new, folder = os.stat(tmp_path / "entries").st_ino, os.stat(tmp_path).st_ino
        assert folder in synced[synced.index(new) :]


def test_an_index_that_was_closed_leaves_its_dead_behind_when_it_is_used_again() -> None:
    index, rows = PackedIndex(4), np.eye(4, dtype=np.float32)
    index.close()
    for at in range(0, 8192, 4):
        index.add(b"", np.arange(at, at + 4), rows)
    index.remove(np.arange(6000))
    assert index.due
    index.maintain()
    assert index.work(b"") < 4096


class Own:
    """A class whose objects no file can hold."""


async def test_what_no_file_can_hold_stays_findable_over_a_close_and_a_start(tmp_path: Path) -> None:
    policy = Policy(max_error_rate=0.05, shadow=0)
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder(), verifier=SameWords(), policy=policy)
    made = Own()

    async def find(question: str) -> Own:
        return made

    ask = layer.wrap(find, name="find", share=True)
    for number in range(2):
        async with layer:
            if not number:
                await ask("please tell me everything about my parcel")
                await layer.flush()
            again = await ask.outcome("tell me everything please about my parcel")
            assert (again.answer, again.source) == (made, Source.INDEX), number
