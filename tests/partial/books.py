"""A retriever over documents that are edited, for the tests of parts."""

from __future__ import annotations

import asyncio
from typing import Any


class Books:
    """Documents with versions, and a retriever of those that a query names."""

    def __init__(self, **texts: str) -> None:
        self.texts = dict(texts)
        self.versions = dict.fromkeys(texts, 1)
        self.calls = 0

    def edit(self, id: str, text: str = "") -> None:
        self.versions[id] += 1
        self.texts[id] = text or f"{id} v{self.versions[id]}"

    async def __call__(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        self.calls += 1
        wanted = [id for id in query.split() if id in self.texts]
        snapshot = [{"id": id, "version": self.versions[id], "text": self.texts[id]} for id in wanted[:k]]
        await asyncio.sleep(0)
        return snapshot
