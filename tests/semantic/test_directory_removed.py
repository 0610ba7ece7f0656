"""A directory that is removed under its process is made anew from what the process holds, unless it is another's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.index.files import TAKEN
from cachelayer.testing import WordEmbedder

FIRST, SECOND = ["reset the hub", "mount a camera"], ["cancel my order", "pair two lamps"]


class Kept:
    """A layer in a directory, with what it had to ask for."""

    def __init__(self, place: Path) -> None:
        self.calls: list[str] = []
        self.layer = CacheLayer(index=place, embedder=WordEmbedder(), policy=Policy(max_error_rate=0))
        self._ask = self.layer.wrap(self._answer, name="ask", tags=["about:{question}"])

    async def _answer(self, question: str) -> str:
        self.calls.append(question)
        return question.upper()

    async def ask(self, questions: list[str]) -> None:
        for question in questions:
            assert await self._ask(question) == question.upper()
        await self.layer.flush()

    @property
    def failure(self) -> Any:
        return self.layer.stats()["elsewhere"]["failure"]


async def found_again(place: Path, questions: list[str]) -> list[str]:
    """What a restart has to ask for."""
    again = Kept(place)
    async with again.layer:
        await again.ask(questions)
    return again.calls


def _emptied(place: Path) -> None:
    shutil.rmtree(place / "vectors")
    for path in place.iterdir():
        path.unlink()


def _log_alone(place: Path) -> None:
    (place / "entries").unlink()


def _vectors_alone(place: Path) -> None:
    shutil.rmtree(place / "vectors")


def _renamed(place: Path) -> None:
    place.rename(place.with_name("before"))


@pytest.mark.parametrize("remove", [shutil.rmtree, _emptied, _log_alone, _vectors_alone, _renamed])
async def test_all_that_is_held_is_written_to_a_directory_of_that_name(
    tmp_path: Path, remove: Callable[[Path], None]
) -> None:
    """All that came after went to files without a name, with no word of it."""
    place, kept = tmp_path / "kept", Kept(tmp_path / "kept")
    async with kept.layer:
        await kept.ask(FIRST)
        remove(place)
        await kept.layer.invalidate(tags=[f"about:{FIRST[0]}"])
        await kept.ask(SECOND)
    assert await found_again(place, FIRST + SECOND) == FIRST[:1]


async def test_what_another_process_made_of_the_place_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    """Whoever wrote its file anew put it in the place of the other's."""
    place, kept, other = tmp_path / "kept", Kept(tmp_path / "kept"), Kept(tmp_path / "kept")
    async with kept.layer:
        await kept.ask(FIRST)
        shutil.rmtree(place)
        async with other.layer:
            await other.ask(SECOND[:1])
            await kept.ask(SECOND[1:])
            assert kept.failure == f"the disk refused vectors: {TAKEN}"
            await kept.layer.invalidate(tags=[f"about:{FIRST[0]}"])
            await kept.layer.erase(tenant="acme")
            await other.ask(FIRST[1:])
        assert await found_again(place, FIRST + SECOND) == [FIRST[0], SECOND[1]]
        await kept.ask(["and now"])
        assert kept.failure == ""
