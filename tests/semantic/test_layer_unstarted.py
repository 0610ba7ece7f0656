"""Similar tiers that fail to start behind their callers: what is said of it, and that they start later."""

from __future__ import annotations

import asyncio
import gc
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, Reason
from cachelayer.flow.http import HttpFault
from cachelayer.semantic.embed.from_callable import CallableEmbedder
from cachelayer.semantic.embed.http import HttpEmbedder
from cachelayer.testing import WordEmbedder


async def unread(texts: Any) -> Any:
    return np.ones(len(texts))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"embedder": "no/such/model"}, "embedder='no/such/model': there is no such directory"),
        ({"embedder": WordEmbedder(), "index": __file__}, f"index={__file__!r}: cannot be read and written"),
        ({"embedder": CallableEmbedder(unread)}, "the embedder returned shape (1,), not (1, 1)"),
    ],
)
def test_why_a_tier_did_not_start_is_one_line_of_the_log(
    options: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that cannot work was "Task exception was never retrieved" and a traceback, once collected."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    async def life() -> Reason:
        layer = CacheLayer(**options)
        ask = layer.wrap(ascii, name="ask", text="obj").aio
        await ask("how?")
        await layer.flush()
        missed = (await ask.outcome("why?")).misses["similar"]
        await layer.aclose()
        return missed

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(life()) is Reason.FAULT
        gc.collect()
    (said,) = caplog.messages
    assert said.startswith("stage warm-up failed with ") and why in said


async def test_a_tier_that_did_not_start_does_so_when_its_server_is_there() -> None:
    """It was off for as long as the process lived, if its first request came before its server did."""

    class Late(WordEmbedder):
        there = False

        async def start(self) -> None:
            if not self.there:
                raise ConnectionRefusedError

    embedder = Late()
    layer = CacheLayer(embedder=embedder)
    assert layer._similar is not None
    ask = layer.wrap(ascii, name="ask", text="obj").aio

    async def state_after(question: str) -> object:
        await ask(question)
        await layer.flush()
        return layer.stats()["similar"]["state"]

    assert await state_after("one?") == "failed"
    embedder.there = True
    assert await state_after("two?") == "failed"  # not with each request
    layer._similar.retry = 0.0
    assert await state_after("three?") == "ready"
    await layer.aclose()


async def test_an_embedder_whose_server_is_not_there_leaves_nothing_open() -> None:
    """aiohttp complained of an unclosed session."""
    embedder = HttpEmbedder("http://127.0.0.1:1/v1", model="m")
    with pytest.raises(HttpFault):
        await embedder.start()
    assert not embedder._clients


def test_an_index_that_another_process_has_is_named_as_it_was_given(tmp_path: Path) -> None:
    async def life() -> None:
        async with CacheLayer(embedder=WordEmbedder(), index=tmp_path):
            await CacheLayer(embedder=WordEmbedder(), index=tmp_path).start()

    with pytest.raises(ValueError, match=f"index='{tmp_path}'.*another process"):
        asyncio.run(life())
