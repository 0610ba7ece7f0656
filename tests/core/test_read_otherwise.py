"""Answers that can be iterated and are no streams: files, cursors, tables, mocks. Callers get them as they are."""

from __future__ import annotations

import asyncio
import csv
import io
import sqlite3
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from cachelayer import CacheLayer, Reason, Source


def cursor() -> sqlite3.Cursor:
    return sqlite3.connect(":memory:", check_same_thread=False).execute("select 1")


def table() -> csv.DictReader[str]:
    return csv.DictReader(io.StringIO("a,b\n1,2"))


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (cursor, lambda answer: answer.fetchall() == [(1,)]),
        (table, lambda answer: answer.fieldnames == ["a", "b"]),
        (lambda: io.BytesIO(b"abc"), lambda answer: answer.getvalue() == b"abc"),
        (lambda: io.StringIO("abc"), lambda answer: answer.read() == "abc"),
        (lambda: MagicMock(choices=[1]), lambda answer: answer.choices == [1]),
    ],
    ids=["cursor", "table", "bytes", "text", "mock"],
)
def test_an_answer_that_is_read_in_other_ways_than_chunk_by_chunk_is_the_caller_s_own(
    made: Callable[[], Any], read: Callable[[Any], bool]
) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(name="plain")
    def plain(question: str) -> Any:
        return made()

    @layer.cached(name="awaited")
    async def awaited(question: str) -> Any:
        return made()

    async def asked() -> list[Any]:
        return [await awaited("how?"), await plain.aio("how?")]

    for _ in range(2):
        answers = [plain("how?"), *asyncio.run(asked())]
        assert all(map(read, answers))
    outcome = plain.outcome("how?")
    assert (outcome.source, outcome.stored) == (Source.BACKEND, Reason.NOT_KEEPABLE)


async def test_an_awaited_one_is_the_caller_s_own() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def connect(question: str) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        reader.feed_data(b"abc")
        reader.feed_eof()
        return reader

    assert [await (await connect("how?")).read() for _ in range(2)] == [b"abc", b"abc"]
    assert layer.stats()["flights"] == 0
