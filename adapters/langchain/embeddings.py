"""`CachedEmbeddings`: each text is embedded once, whichever batch it comes in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.checks import unquoted
from cachelayer.partial.shelf import STEP, Absent, Shelf
from cachelayer.policy import AS_IT_IS
from cachelayer.wrap.options import refuse

from .configs import check_named


class CachedEmbeddings(Embeddings):
    """`embeddings` with a layer before it: of a batch only the texts that are not known are embedded, in one call.

    `name`: the model, its revision and settings; vectors of two names never meet. Queries and documents are kept
    apart, because many models embed them differently. `options` are those of `layer.cached`. Vectors are kept
    as float64.
    """

    def __init__(self, embeddings: Embeddings, layer: CacheLayer, *, name: str, **options: Any) -> None:
        check_named(layer, name)
        if not (hasattr(embeddings, "embed_documents") and hasattr(embeddings, "embed_query")):
            raise ConfigurationError("embeddings", unquoted(embeddings), "give LangChain's Embeddings")
        self.inner = embeddings
        refuse(options, {"semantic": "another wording has another vector: leave it out"})
        options = {"ttl": "30d", "normalize": AS_IT_IS, **options, "semantic": False}
        self._shelf = Shelf(layer.wrap(_vector, name=f"embeddings:{name}", **options))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order."""
        once = list(dict.fromkeys(texts))
        known = dict(
            zip(once, self._shelf.look_each_now(*(("document", text) for text in once)), strict=True)
        )
        missing = [text for text, found in known.items() if isinstance(found, Absent)]
        made = self.inner.embed_documents(missing) if missing else []
        return list(self._each(texts, known, missing, made))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order."""
        once = list(dict.fromkeys(texts))
        known = dict(
            zip(once, await self._shelf.look_each(*(("document", text) for text in once)), strict=True)
        )
        missing = [text for text, found in known.items() if isinstance(found, Absent)]
        made = await self.inner.aembed_documents(missing) if missing else []
        vectors = []
        for vector in self._each(texts, known, missing, made):
            vectors.append(vector)
            if len(vectors) % STEP == 0:
                await asyncio.sleep(0)
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        found = self._shelf.look_now("query", text)
        made = [self.inner.embed_query(text)] if isinstance(found, Absent) else []
        return next(self._each([text], {text: found}, [text][: len(made)], made))

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        found = await self._shelf.look("query", text)
        made = [await self.inner.aembed_query(text)] if isinstance(found, Absent) else []
        return next(self._each([text], {text: found}, [text][: len(made)], made))

    def _each(
        self, texts: Sequence[str], known: dict[str, Any], missing: Sequence[str], made: Any
    ) -> Iterator[list[float]]:
        """The texts' vectors, each a list of its own; those that were `made` are kept."""
        vectors = dict(zip(missing, made, strict=True))
        if vectors:
            self._shelf.called()
        for text in texts:
            if text in vectors:
                fresh = np.array(vectors.pop(text), np.float64)
                self._shelf.put(fresh, known[text], share=len(missing))
                known[text] = fresh, None
            yield known[text][0].tolist()


async def _vector(kind: str, text: str) -> Any:
    """Stands for the model, which is asked in batches."""
    raise NotImplementedError
