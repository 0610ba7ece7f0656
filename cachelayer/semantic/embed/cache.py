"""A bounded memory of texts already embedded, in front of any embedder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...flow import forks
from ...protocols import Embedder
from ...types import Embedded
from ..pairs.late_interaction import Tokens
from .cache_file import Entry, load_entries, save_entries
from .checks import check_texts, checked, guessed, shows_tokens

_OVERHEAD = 400
"""Bytes per entry beside text and arrays: dictionary slot, string and array headers; measured with tracemalloc."""


OWN = ""
"""In the place of a tenant: what the layer embeds for itself, such as answers."""


class CachedEmbedder:
    """The embedder `inner`, asked once per text and tenant while the text is remembered.

    Apart by tenant, because a text that is known is embedded in microseconds, which tells whoever asks it that somebody
    did before. Texts are compared in full. The least recently used go first; `max_bytes` bounds texts, vectors and
    the overhead per entry. A text given twice in one call is embedded once.
    """

    def __init__(self, inner: Embedder, *, max_bytes: int = 32 * 2**20) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}: give the bytes that remembered vectors may take")
        self.inner, self.max_bytes = inner, max_bytes
        self.bytes = self.hits = self.misses = 0
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._lock = forks.lock()

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def shows_tokens(self) -> bool:
        """Whether the embedder behind does."""
        return shows_tokens(self.inner)

    def __len__(self) -> int:
        return len(self._entries)

    async def start(self) -> None:
        await self.inner.start()

    async def embed(self, texts: Sequence[str], tenant: str | None = OWN) -> Embedded:
        """See `Embedder.embed`. `tenant`: whose texts they are, None for nobody's; left out, the layer's own."""
        check_texts(texts)
        if len(texts) == 1:
            return await self._one(texts, tenant)
        found = self._look_up(texts, tenant)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            into = self._entries
            made = checked(await self.inner.embed(missing), len(missing))
            for i, text in enumerate(missing):
                found[text] = (made.vectors[i], bool(made.complete[i]))
                self._put(into, _key(text, tenant), *found[text])
        entries = [found[text] for text in texts]
        return Embedded(
            vectors=np.stack([entry[0] for entry in entries]),
            complete=np.array([entry[1] for entry in entries]),
        )

    async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
        """What the embedder behind shows of its tokens; see `OnnxEmbedder.read_tokens`. Nothing of it is remembered."""
        if not shows_tokens(self.inner):
            return [None] * len(texts)
        found: list[Tokens | None] = await self.inner.read_tokens(texts)  # type: ignore[attr-defined]
        return found

    def guess(self, text: str) -> NDArray[np.float32] | None:
        """The guess of the embedder behind, if it makes any; see `OnnxEmbedder.guess`."""
        return guessed(self.inner, text)  # type: ignore[no-any-return]

    async def _one(self, texts: Sequence[str], tenant: str | None) -> Embedded:
        """The same for what lookups ask."""
        text = _key(texts[0], tenant)
        with self._lock:
            into = self._entries
            entry = into.get(text)
            if entry is not None:
                into.move_to_end(text)
                self.hits += 1
            else:
                self.misses += 1
        if entry is not None:
            vector, complete = entry
            return Embedded(vector[None], np.array([complete]))
        made = checked(await self.inner.embed(texts), 1)
        self._put(into, text, made.vectors[0], bool(made.complete[0]))
        return made

    def _put(
        self, into: OrderedDict[str, Entry], text: str, vector: NDArray[np.float32], complete: bool
    ) -> None:
        entry: Entry = (vector.copy(), complete)  # a row of a batch would keep the whole batch
        size = _size(text, entry)
        with self._lock:
            if into is not self._entries:  # cleared while it was embedded
                return
            self._drop(text)
            if size > self.max_bytes:
                return
            into[text] = entry
            self.bytes += size
            while self.bytes > self.max_bytes:
                self._drop(next(iter(self._entries)))

    def save(self, path: Path) -> None:
        """Write all that is remembered, whole or not at all, for the owner's eyes. Blocks; raises OSError."""
        with self._lock:
            entries = list(self._entries.items())
        save_entries(path, self.identity, entries)

    def load(self, path: Path) -> int:
        """Remember what `save` wrote; returns how many texts. A damaged file or another model's is none; blocks."""
        entries = load_entries(path, self.identity)
        for text, (vector, complete) in entries:
            self._put(self._entries, text, vector, complete)
        return len(entries)

    def clear(self) -> None:
        """Forget everything, and do not remember what is being embedded: texts of an erased tenant must not stay."""
        with self._lock:
            self._entries = OrderedDict()
            self.bytes = 0
        getattr(self.inner, "clear", lambda: None)()

    async def aclose(self) -> None:
        await self.inner.aclose()

    def stats(self) -> dict[str, Any]:
        """Its own counts, and those of an embedder behind it that has any."""
        behind: dict[str, Any] = getattr(self.inner, "stats", dict)()
        return {**behind, "entries": len(self), "bytes": self.bytes, "hits": self.hits, "misses": self.misses}

    def _look_up(self, texts: Sequence[str], tenant: str | None) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        with self._lock:
            for text in texts:
                entry = self._entries.get(key := _key(text, tenant))
                if entry is not None:
                    self._entries.move_to_end(key)
                    found[text] = entry
            self.hits += sum(text in found for text in texts)
            self.misses += sum(text not in found for text in texts)
        return found

    def _drop(self, text: str) -> None:
        entry = self._entries.pop(text, None)
        if entry is not None:
            self.bytes -= _size(text, entry)


def _key(text: str, tenant: str | None) -> str:
    """No two of different tenants are equal, whatever their names and texts."""
    if tenant is None:
        return text if not text.startswith("\0") else f"\0-:{text}"
    return f"\0{len(tenant)}:{tenant}{text}"


def _size(text: str, entry: Entry) -> int:
    wide = 1 if text.isascii() else 4
    return _OVERHEAD + wide * len(text) + entry[0].nbytes
