"""Texts that were embedded are known after a restart, and leave the disk with an erasure."""

from __future__ import annotations

from pathlib import Path

from counting import Counting

from cachelayer import CacheLayer, Policy
from cachelayer.testing import Gate

ASKED = "where is the violin"


def layer_in(place: Path) -> tuple[CacheLayer, Counting]:
    embedder = Counting()
    return CacheLayer(index=place, embedder=embedder, policy=Policy(shadow=0)), embedder


async def ask(layer: CacheLayer) -> None:
    await layer.wrap(Gate(opened=True), name="ask")(ASKED)
    await layer.flush()


async def test_a_text_that_was_embedded_before_a_restart_is_not_embedded_again(tmp_path: Path) -> None:
    layer, embedder = layer_in(tmp_path)
    async with layer:
        await ask(layer)
        assert ASKED in embedder.texts
    layer, embedder = layer_in(tmp_path)
    async with layer:
        await layer.invalidate(scope={"function": "ask"})
        await ask(layer)
        assert embedder.texts == []


async def test_an_erasure_leaves_no_text_on_the_disk_whatever_becomes_of_the_process_then(
    tmp_path: Path,
) -> None:
    layer, _ = layer_in(tmp_path)
    async with layer:
        await ask(layer)
    assert any(ASKED.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    layer, embedder = layer_in(tmp_path)
    async with layer:
        await layer.erase()
        assert not any(ASKED.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        await ask(layer)
        assert ASKED in embedder.texts
