"""A model that takes as long to load as a test wants."""

from __future__ import annotations

import asyncio

from cachelayer.testing import WordEmbedder


class Held(WordEmbedder):
    """Starts when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def start(self) -> None:
        await self.let.wait()
