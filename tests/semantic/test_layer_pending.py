"""What lies on the disk is forgotten before its function is wrapped, and served word for word before it is embedded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, Source
from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


class OtherModel(WordEmbedder):
    """Embeds nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.identity, self.let = "another model", asyncio.Event()

    async def embed(self, texts: Any) -> Embedded:
        await self.let.wait()
        return await super().embed(texts)


async def ask(question: str) -> str:
    return f"about {question}"


QUESTIONS = ("where is my parcel", "how are refunds paid", "who sends invoices")


async def left(directory: Path) -> None:
    """What a process answers for two tenants before it ends."""
    layer = CacheLayer(index=directory, embedder=WordEmbedder())
    asked = layer.wrap(ask, name="ask", tags=["kb"])
    async with layer:
        for tenant in ("acme", "beta"):
            with layer.scope(tenant=tenant):
                for question in QUESTIONS:
                    await asked(question)


@pytest.mark.parametrize(
    ("what", "acme", "beta"),
    [
        ({"tags": ["kb"]}, 0, 0),
        ({"scope": {"tenant": "acme"}}, 0, 3),
        ({"scope": {"function": "ask"}}, 0, 0),
        ({"tags": ["another"]}, 3, 3),
        ("acme", 0, 3),
        ("", 0, 0),
    ],
    ids=str,
)
async def test_what_waits_for_its_function_is_forgotten_for_good(
    tmp_path: Path, what: Any, acme: int, beta: int
) -> None:
    await left(tmp_path)
    async with CacheLayer(index=tmp_path, embedder=WordEmbedder()) as layer:
        for dry_run, gone in ((True, 6 - acme - beta), (False, 6 - acme - beta), (False, 0)):
            how: Any = {"dry_run": dry_run}
            forgetting = (
                layer.invalidate(**what, **how)
                if isinstance(what, dict)
                else layer.erase(**({"tenant": what} if what else {}), **how)
            )
            assert await forgetting == gone
        on_disk = (tmp_path / "entries").read_bytes()
        assert isinstance(what, dict) or (b"acme" not in on_disk and (b"beta" in on_disk) == (beta > 0))
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())
    asked = layer.wrap(ask, name="ask", tags=["kb"])
    async with layer:
        for tenant, kept in (("acme", acme), ("beta", beta)):
            with layer.scope(tenant=tenant):
                sources = [(await asked.outcome(question)).source for question in QUESTIONS]
                assert sources == [Source.MEMORY if kept else Source.BACKEND] * 3


async def test_after_a_restart_with_another_model_exact_hits_wait_for_no_vector(tmp_path: Path) -> None:
    await left(tmp_path)
    model = OtherModel()
    layer = CacheLayer(index=tmp_path, embedder=model)
    asked = layer.wrap(ask, name="ask", tags=["kb"])
    async with layer:
        with layer.scope(tenant="acme"):
            assert [(await asked.outcome(q)).source for q in QUESTIONS] == [Source.MEMORY] * 3
        assert layer.stats()["similar"]["entries"] == 0
        assert await layer.invalidate(scope={"tenant": "acme"}) == 3
        model.let.set()
        await layer.flush()
        while layer.stats()["similar"]["entries"] < 3:
            await asyncio.sleep(0)
        assert layer.stats()["elsewhere"]["restored"] == 3


async def test_an_erasure_leaves_nothing_of_it_in_memory_either(tmp_path: Path) -> None:
    await left(tmp_path)
    async with CacheLayer(index=tmp_path, embedder=WordEmbedder()) as layer:
        assert layer.stats()["elsewhere"]["waiting"] == 2 * len(QUESTIONS)
        await layer.erase(tenant="acme")
        assert layer.stats()["elsewhere"]["waiting"] == len(QUESTIONS)
