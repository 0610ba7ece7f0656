"""Models that take as long to load, or to embed, as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


class Held(WordEmbedder):
    """Starts when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def start(self) -> None:
        await self.let.wait()


class Slow(WordEmbedder):
    """Embeds what has `about` in it when it is told to."""

    def __init__(self, dimension: int = 64, *, about: str = "") -> None:
        super().__init__(dimension)
        self.about = about
        self.go, self.asked = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if any(self.about in text for text in texts):
            self.asked.set()
            await self.go.wait()
        return await super().embed(texts)
