"""Documents in the order in which another query would have them, by vectors of the layer's embedder. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..types import Vectors

DOCUMENTS = 16_384
"""Vectors remembered of one retriever's documents, the oldest go first: 25 MB at 384 dimensions."""
SEPARATOR = "#"


def named(id: str, text: str | None) -> str:
    """What one document is called among results: two of one id and other words (a tenant's, a translation, an edit)
    are ranked by vectors of their own."""
    digest = (
        "" if text is None else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    )
    return f"{id}{SEPARATOR}{digest}"


def id_of(name: str) -> str:
    """The id in such a name."""
    return name.rpartition(SEPARATOR)[0] or name


class Ranking:
    """Vectors of documents by name.

    What a similar query found holds the documents that this one wants, but in its own order and with others among
    them; ranked anew, its best are this one's best.
    """

    def __init__(self, *, on: bool) -> None:
        self.on = on
        """Whether results hold more documents than were asked for; else they are taken in the order that they have."""
        self._known: dict[str, NDArray[np.float32]] = {}

    def unknown(self, names: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
        """(name, text) of the documents that are new here."""
        return [(name, text) for name, text in zip(names, texts, strict=True) if name not in self._known]

    def learn(self, documents: Sequence[tuple[str, str]], vectors: Vectors) -> None:
        """Remember (n, d) float32 vectors of (name, text) documents."""
        for (name, _), vector in zip(documents, vectors, strict=True):
            self._known[name] = vector.copy()
        while len(self._known) > DOCUMENTS:
            del self._known[next(iter(self._known))]

    def order(self, names: Sequence[str], query: NDArray[np.float32]) -> list[int] | None:
        """Places in `names`, those nearest to the (d,) query first; None if a document is not known."""
        if not self.on or not names:
            return list(range(len(names)))
        vectors = [self._known[name] for name in names if name in self._known]
        if len(vectors) < len(names):
            return None
        return [int(place) for place in np.argsort(-(np.stack(vectors) @ query), kind="stable")]
