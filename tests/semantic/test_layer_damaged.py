"""A directory whose files were damaged: what is told, and what is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from cachelayer import CacheLayer, Outcome, Policy, Source
from cachelayer.testing import WordEmbedder

QUESTION = "please tell me everything about my violin"


async def asked(directory: Path) -> Outcome:
    policy = Policy(max_error_rate=0.05, shadow=0)

    async def answer(question: str) -> str:
        return f"all about {question.split()[-1]}"

    async with CacheLayer(index=directory, embedder=WordEmbedder(), policy=policy) as layer:
        ask = layer.wrap(answer, name="ask")
        outcome = await ask.outcome(QUESTION)
        await layer.flush()
    return outcome


@pytest.mark.parametrize("file", ["manifest.json", "journal-1"])
async def test_damaged_vectors_are_told_and_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    """They were made anew, and nobody heard that a disk was going bad."""
    await asked(tmp_path)
    place = tmp_path / "vectors" / file
    place.write_bytes(b"?" + place.read_bytes()[1:])
    assert (await asked(tmp_path)).source is Source.MEMORY
    assert "bytes of vectors are torn or damaged" in caplog.text
    caplog.clear()
    assert (await asked(tmp_path)).source is Source.MEMORY
    assert caplog.text == ""


def contents(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("damage", [b"?", bytes(8), bytes(512)], ids=["a byte", "its kind", "a block"])
async def test_an_erasure_takes_a_log_whose_beginning_is_damaged(tmp_path: Path, damage: bytes) -> None:
    """It was put aside as another program's file, and what was erased stayed there for good."""
    await asked(tmp_path)
    log = tmp_path / "entries"
    log.write_bytes(damage + log.read_bytes()[len(damage) :] + b"about violins")
    outcome = await asked(tmp_path)
    assert (outcome.source is Source.MEMORY) is (len(damage) < 512)
    async with CacheLayer(index=tmp_path, embedder=WordEmbedder()) as layer:
        await layer.erase()
    assert b"violin" not in contents(tmp_path)
