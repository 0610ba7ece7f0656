"""All rows compared on a GPU by torch, at the speed of its memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...types import Vectors
from .packed import Found
from .replayed import AmongAll, built, imported_kernels
from .topk import padded, widened

if TYPE_CHECKING:
    from types import ModuleType

_CHUNK = 256
"""Scores of which the best is taken first: the best k rows are in the k chunks with the best of these."""
_SPARE = 4
"""Candidates for each neighbour, to be compared anew: a product in float16 is rounded to a two-thousandth."""
_SCORES = 2**28
"""Scores at once: half a gigabyte."""
_COMPARED = 2**17
"""Candidates at once."""
_GROWTH = 1.25
_LEFT: list[object] = []
"""What a forked child keeps until it ends."""


def imported_torch() -> ModuleType | None:
    """torch, where it is installed and whole. It takes seconds to import, so this is for a constructor."""
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):  # without a library of CUDA's, say
        return None
    imported_kernels()
    return torch


def give_back(torch: ModuleType, device: Any) -> None:
    """torch would keep what is freed for itself; others use the device too."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def leave(owner: object) -> None:
    """After a fork the device is the parent's: nothing that `owner` has there is to be freed here."""
    _LEFT.append(dict(vars(owner)))
    vars(owner).clear()


class TorchFlat:
    """Rows (n, d) in float16 on `device`, with up to a quarter of spare room; `search` as FAISS's flat index.

    FAISS selects the best of a query in one block of threads, and takes 3.6 ms for a million rows on an H200, whose
    memory they cross in 0.2. Here it is the best of chunks before the best of rows, as in TPU-KNN (arXiv:2206.14286),
    but of whole chunks, so that nothing is missed; the candidates are compared again with the queries in float32.
    """

    def __init__(self, torch: ModuleType, dimension: int, device: Any) -> None:
        self._torch, self._device = torch, device
        self._kernels = built(torch, dimension, device)
        self.rows = torch.empty((0, dimension), dtype=torch.float16, device=device)
        self.count = torch.zeros(1, dtype=torch.int64, device=device)
        self._one: AmongAll | None = None
        self.ntotal = 0

    def __del__(self) -> None:
        if self.__dict__:
            del self.rows, self._one
            give_back(self._torch, self._device)

    def abandon(self) -> None:
        """Let go of the rows in a forked child, without freeing them: they are the parent's."""
        leave(self)

    def add(self, rows: Vectors) -> None:
        with self._torch.inference_mode():
            fresh = self._torch.from_numpy(rows).to(self._device)
            end = self.ntotal + len(rows)
            if end > len(self.rows):
                self._grow(end)
            self.rows[self.ntotal : end] = fresh
            self.count.fill_(end)
        self.ntotal = end

    def search(self, queries: Vectors, k: int) -> Found:
        """Scores (n, k) float32 descending and positions (n, k) int64, padded with -inf and -1."""
        best = min(k, self.ntotal)
        if not best:
            return padded(len(queries), k)
        found = self._by_kernels(queries, best) or self._by_torch(queries, best)
        return found if best == k else widened(*found, k)

    def _by_kernels(self, queries: Vectors, k: int) -> Found | None:
        if self._kernels is None or len(queries) > 1:
            return None
        self._one = self._one or AmongAll(self._torch, self._kernels, self.rows, self.count)
        return self._one.search(queries, k)

    def _by_torch(self, queries: Vectors, k: int) -> Found:
        torch = self._torch
        with torch.inference_mode():
            asked = torch.from_numpy(queries.copy()).to(self._device)
            step = max(1, min(_SCORES // len(self.rows), _COMPARED // (_SPARE * k)))
            near = [self.nearest(asked[at : at + step], k) for at in range(0, len(asked), step)]
            scores, positions = torch.cat(near, 1).cpu().numpy()
        return scores.astype(np.float32), positions.astype(np.int64)

    def nearest(self, asked: Any, k: int) -> Any:
        """Scores and positions (2, n, k) float64, which holds both; `asked` (n, d) is float32 on the device."""
        torch, rows = self._torch, self.rows
        scores = asked.to(rows.dtype) @ rows.T
        if self.ntotal < len(rows):
            scores[:, self.ntotal :] = -torch.inf
        chunks = scores.view(len(asked), -1, _CHUNK)
        most = min(_SPARE * k, self.ntotal)
        chosen = chunks.amax(2).topk(min(most, chunks.shape[1]), sorted=False)[1]
        inside = chunks.gather(1, chosen[:, :, None].expand(-1, -1, _CHUNK)).flatten(1)
        places = inside.topk(most, sorted=False)[1]
        found = chosen.gather(1, places // _CHUNK) * _CHUNK + places % _CHUNK
        exact = torch.bmm(rows[found].float(), asked[:, :, None])[:, :, 0]
        best, order = exact.topk(k)
        return torch.stack([best.double(), found.gather(1, order).double()])

    def _grow(self, needed: int) -> None:
        room = -(-max(needed, int(_GROWTH * len(self.rows))) // _CHUNK) * _CHUNK
        rows = self._torch.zeros((room, self.rows.shape[1]), dtype=self.rows.dtype, device=self._device)
        rows[: self.ntotal] = self.rows[: self.ntotal]
        self.rows, self._one = rows, None
        give_back(self._torch, self._device)
