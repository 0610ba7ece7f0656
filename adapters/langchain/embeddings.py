"""`CachedEmbeddings`: each text is embedded once, whichever batch it comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from cachelayer import CacheLayer
from cachelayer.partial.shelf import Absent, Shelf


class CachedEmbeddings(Embeddings):
    """`embeddings` with a layer before it: of a batch only the texts that are not known are embedded, in one call.

    `name`: the model, its revision and settings; vectors of two names never meet. Queries and documents are kept
    apart, because many models embed them differently. `options` are those of `layer.cached`. Vectors are kept
    as float64.
    """

    def __init__(self, embeddings: Embeddings, layer: CacheLayer, *, name: str, **options: Any) -> None:
        self.inner = embeddings
        options = {"ttl": "30d", **options, "semantic": False}
        self._shelf = Shelf(layer.wrap(_vector, name=f"embeddings:{name}", **options))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order."""
        once = list(dict.fromkeys(texts))
        known = dict(
            zip(once, self._shelf.look_each_now(*(("document", text) for text in once)), strict=True)
        )
        missing = [text for text, found in known.items() if isinstance(found, Absent)]
        made = self.inner.embed_documents(missing) if missing else []
        return self._all("document", texts, known, missing, made)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order."""
        once = list(dict.fromkeys(texts))
        known = dict(
            zip(once, await self._shelf.look_each(*(("document", text) for text in once)), strict=True)
        )
        missing = [text for text, found in known.items() if isinstance(found, Absent)]
        made = await self.inner.aembed_documents(missing) if missing else []
        return self._all("document", texts, known, missing, made)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        found = self._shelf.look_now("query", text)
        made = [self.inner.embed_query(text)] if isinstance(found, Absent) else []
        return self._all("query", [text], {text: found}, [text][: len(made)], made)[0]

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        found = await self._shelf.look("query", text)
        made = [await self.inner.aembed_query(text)] if isinstance(found, Absent) else []
        return self._all("query", [text], {text: found}, [text][: len(made)], made)[0]

    def _all(
        self, kind: str, texts: Sequence[str], known: dict[str, Any], missing: Sequence[str], made: Any
    ) -> list[list[float]]:
        vectors = {text: found[0].tolist() for text, found in known.items() if not isinstance(found, Absent)}
        for text, vector in zip(missing, made, strict=True):
            vectors[text] = vector
            self._shelf.put(np.array(vector, np.float64), kind, text)
        return [list(vectors[text]) for text in texts]


async def _vector(kind: str, text: str) -> Any:
    """Stands for the model, which is asked in batches."""
    raise NotImplementedError
