"""Texts that were embedded are known after a restart, to their tenant alone, and leave the disk with an erasure."""

from __future__ import annotations

import asyncio
from pathlib import Path

from counting import Counting

from cachelayer import CacheLayer, Policy
from cachelayer.testing import Gate

ASKED = "where is the violin"


class Life:
    """A layer in a directory, from a start to a close."""

    def __init__(self, place: Path) -> None:
        self.embedder = Counting()
        self.layer = CacheLayer(index=place, embedder=self.embedder, policy=Policy(shadow=0))
        self.asked = self.layer.wrap(Gate(opened=True), name="ask")

    async def ask(self) -> None:
        await self.asked(ASKED)
        await self.layer.flush()


def told(place: Path) -> bool:
    """Whether any file tells what was asked."""
    return any(ASKED.encode() in file.read_bytes() for file in place.rglob("*") if file.is_file())


async def test_a_text_that_was_embedded_before_a_restart_is_not_embedded_again(tmp_path: Path) -> None:
    life = Life(tmp_path)
    async with life.layer:
        await life.ask()
        assert ASKED in life.embedder.texts
    life = Life(tmp_path)
    async with life.layer:
        await life.layer.invalidate(scope={"function": "ask"})
        await life.ask()
        assert life.embedder.texts == []


async def test_an_erasure_leaves_no_text_on_the_disk_whatever_becomes_of_the_process_then(
    tmp_path: Path,
) -> None:
    life = Life(tmp_path)
    async with life.layer:
        await life.ask()
    assert told(tmp_path)
    life = Life(tmp_path)
    async with life.layer:
        await life.layer.erase()
        assert not told(tmp_path)
        await life.ask()
        assert ASKED in life.embedder.texts


async def test_a_text_that_another_model_embeds_anew_after_a_restart_is_known_to_its_tenant_alone(
    tmp_path: Path,
) -> None:
    life = Life(tmp_path)
    async with life.layer:
        with life.layer.scope(tenant="acme"):
            await life.ask()
    life = Life(tmp_path)
    life.embedder.identity = "another model"
    async with life.layer:
        while life.layer.stats()["similar"]["entries"] == 0:
            await asyncio.sleep(0)
        assert life.embedder.texts == [ASKED]
        await life.ask()
        assert life.embedder.texts == [ASKED] * 2
