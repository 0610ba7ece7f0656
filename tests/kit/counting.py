"""An embedder that remembers what it embedded."""

from __future__ import annotations

from collections.abc import Sequence

from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


class Counting(WordEmbedder):
    """`texts`: all that it embedded, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts += texts
        return await super().embed(texts)
