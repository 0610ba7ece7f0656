"""Concurrent embeds as one call, for embedders that gain by it: a GPU, torch on a CPU, a server on the network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...flow.batcher import Batcher
from ...protocols import Embedder
from ...types import Embedded
from .checks import check_texts, checked, guessed

LIMIT, MAX_TOKENS = 64, 4096
_CHARS_PER_TOKEN = 4


class BatchedEmbedder:
    """An embedder in front of another, which sees up to LIMIT requests and about MAX_TOKENS tokens at once.

    `CacheLayer` puts it before embedders that say by `lanes` how many calls at once serve them best: 1 where there is
    one device, a few for a server. What comes beyond them shares the next call. Where a call of several requests
    fails, each is tried alone, so that one bad text does not spoil the others. The int8 encoder of OnnxEmbedder
    loses by batching (1.3 against 1.1 ms a text) and has no `lanes`.
    """

    def __init__(self, inner: Embedder, *, concurrency: int = 1, queue: int = 1024) -> None:
        self.inner = inner
        self._batcher: Batcher[Sequence[str], Embedded] = Batcher(
            self._call,
            limit=LIMIT,
            max_weight=MAX_TOKENS,
            weigh=_tokens,
            concurrency=concurrency,
            queue=queue,
        )

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def start(self) -> None:
        await self.inner.start()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """As the inner embedder; Overloaded where too much waits already."""
        check_texts(texts)
        return await self._batcher.submit(texts)

    def guess(self, text: str) -> NDArray[np.float32] | None:
        """The guess of the embedder behind, if it makes any; see `OnnxEmbedder.guess`."""
        return guessed(self.inner, text)  # type: ignore[no-any-return]

    async def lacks_words(self, text: str) -> bool:
        """Whether the embedder behind says so of the text; see `OnnxEmbedder.lacks_words`."""
        lacks_words = getattr(self.inner, "lacks_words", None)
        return lacks_words is not None and bool(await lacks_words(text))

    async def aclose(self) -> None:
        try:
            await self._batcher.aclose()
        finally:  # who calls that off, as what is under way ends, has the model closed all the same
            await self.inner.aclose()

    def stats(self) -> dict[str, float]:
        return self._batcher.stats()

    async def _call(self, requests: Sequence[Sequence[str]]) -> Sequence[Embedded | BaseException]:
        every = [text for texts in requests for text in texts]
        (whole,) = await asyncio.gather(self._embed(every), return_exceptions=True)
        if not isinstance(whole, BaseException):
            cuts = np.cumsum([0, *map(len, requests)]).tolist()
            return [part(whole, begin, end) for begin, end in pairwise(cuts)]
        if len(requests) == 1:
            return [whole]
        return await asyncio.gather(*map(self._embed, requests), return_exceptions=True)

    async def _embed(self, texts: Sequence[str]) -> Embedded:
        return checked(await self.inner.embed(texts), len(texts))


def part(whole: Embedded, begin: int, end: int) -> Embedded:
    """Texts `begin` to `end` of a batch."""
    return Embedded(whole.vectors[begin:end], whole.complete[begin:end])


def _tokens(texts: Sequence[str]) -> float:
    return sum(2 + len(text) / _CHARS_PER_TOKEN for text in texts)
