"""Documents in the order in which another query would have them, by vectors of the layer's embedder. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..types import Vectors

DOCUMENTS = 16_384
"""Vectors remembered of one retriever's documents, the oldest go first: 25 MB at 384 dimensions."""


class Ranking:
    """Vectors of documents by id.

    What a similar query found holds the documents that this one wants, but in its own order and with others among
    them; ranked anew, its best are this one's best.
    """

    def __init__(self, *, on: bool, most: int = DOCUMENTS) -> None:
        self.on = on
        """Whether results hold more documents than were asked for; else they are taken in the order that they have."""
        self._most = most
        self._known: dict[str, tuple[int, NDArray[np.float32]]] = {}

    def unknown(self, ids: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
        """(id, text) of the documents whose text is new here."""
        held = self._known
        return [
            (id, text)
            for id, text in zip(ids, texts, strict=True)
            if id not in held or held[id][0] != hash(text)
        ]

    def learn(self, documents: Sequence[tuple[str, str]], vectors: Vectors) -> None:
        """Remember (n, d) float32 vectors of (id, text) documents."""
        for (id, text), vector in zip(documents, vectors, strict=True):
            self._known[id] = (hash(text), vector.copy())
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def order(self, ids: Sequence[str], query: NDArray[np.float32]) -> list[int] | None:
        """Places in `ids`, those nearest to the (d,) query first; None where a document is not known."""
        if not self.on or not ids:
            return list(range(len(ids)))
        found = [self._known.get(id) for id in ids]
        vectors = [one[1] for one in found if one is not None]
        if len(vectors) < len(ids):
            return None
        return [int(place) for place in np.argsort(-(np.stack(vectors) @ query), kind="stable")]
