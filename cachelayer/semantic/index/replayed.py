"""Searches by few queries on a GPU, replayed as one CUDA graph where Python would make dozens of calls."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from ..cuda_graphs import GraphCapture
from .packed import Found

CHUNK = 256
"""Rows of a program of `compare`: the best k are in the k chunks with the best of these."""
SIZES = (8, 32)
"""Neighbours that kernels are built for: as many as a lookup asks for, and beside dead rows."""
STEP = 128
TILE, WARPS = 64, 4
BLOCK = 4096
"""Values of which one program selects."""


@dataclass(slots=True)
class _Captured:
    replay: Callable[[], None]
    told: NDArray[np.int32]
    """Scores (n, k), the bits of their float32, and positions (n, k)."""
    kept: Any


class Replayed(ABC):
    """For one thread at a time: the queries, `most` of them, and what is found have one place."""

    def __init__(
        self, torch: ModuleType, kernels: ModuleType, dimension: int, device: Any, most: int = 1
    ) -> None:
        self._torch, self._kernels, self._device, self._most = torch, kernels, device, most
        self._on_gpu = device.type == "cuda"
        self._capturing = GraphCapture(torch, device)
        self._given = torch.zeros(most, dimension, pin_memory=self._on_gpu)
        self._seen_by_numpy: NDArray[np.float32] = self._given.numpy()
        self.asked = self._given.to(device, copy=True)
        self._captured: dict[tuple[int, int], _Captured | None] = {}
        self._levels: dict[tuple[int, int], list[tuple[Any, Any]]] = {}

    @abstractmethod
    def _run(self, count: int, size: int, told: Any) -> None:
        """Launch what finds the `size` best for the first `count` of `asked`."""

    @property
    def captured(self) -> bool:
        """Whether there are graphs for all that was asked."""
        return bool(self._captured) and all(self._captured.values())

    def search(self, queries: Vectors, k: int) -> Found | None:
        """Scores and positions (n, k), -inf and -1 where there are no more; None where there is no graph for it."""
        count = 1 << (len(queries) - 1).bit_length()
        if k > SIZES[-1] or count > self._most:
            return None
        size = next(size for size in SIZES if size >= k)
        shape = count, size
        if shape not in self._captured:
            try:
                self._captured[shape] = self._capture(count, size)
            except self._kernels.UNFIT:
                self._captured[shape] = None
        captured = self._captured[shape]
        if captured is None:
            return None
        self._seen_by_numpy[: len(queries)] = queries
        captured.replay()
        if self._on_gpu:
            self._torch.cuda.current_stream(self._device).synchronize()
        told = captured.told.reshape(2, count, size)[:, : len(queries), :k]
        return told[0].view(np.float32).copy(), told[1].astype(np.int64)

    def _capture(self, count: int, size: int) -> _Captured | None:
        told = self._torch.empty(2 * count * size, dtype=self._torch.int32, pin_memory=self._on_gpu)
        launch = partial(self.launch, count, size, told)
        if not self._on_gpu:
            return _Captured(launch, told.numpy(), told)
        captured = self._capturing.capture(launch)
        return None if captured is None else _Captured(captured[0].replay, told.numpy(), told)

    def launch(self, count: int, size: int, told: Any) -> None:
        """All kernels, on the current stream."""
        self._kernels.stage[(count,)](self._given, self.asked, self._given.shape[1], STEP)
        self._run(count, size, told)

    def _compare(self, rows: Any, count: Any, scores: Any, best: Any) -> None:
        """The query's scores with all `rows` (n, d), and the best of each chunk: `best` has room for one a chunk."""
        shape = rows.shape[1], len(rows) // len(best), TILE, STEP
        self._kernels.compare[(len(best),)](rows, self.asked, count, scores, best, *shape, num_warps=WARPS)

    def _choose(self, scores: Any, best: Any, names: Any, size: int, told: Any, chunk: int) -> None:
        """Of the chunks with the best of `best` the `size` best scores and their names, or places, to `told`."""
        values, places, left = best, None, len(best)
        for out_values, out_places in self._levels_for(left, size):
            blocks = -(-left // BLOCK)
            named = places is not None
            held = places if named else out_places
            self._kernels.select[(blocks,)](
                values, held, left, out_values, out_places, named, size, BLOCK, num_warps=8
            )
            values, places, left = out_values, out_places, len(out_values)
        named = names is not None
        parts = scores, names if named else places, places, told
        self._kernels.finish[(1,)](*parts, named, size, chunk, num_warps=8)

    def _levels_for(self, left: int, size: int) -> list[tuple[Any, Any]]:
        levels = self._levels.setdefault((left, size), [])
        while not levels or len(levels[-1][0]) > size:
            room = size * -(-(len(levels[-1][0]) if levels else left) // BLOCK)
            kinds = self._torch.float32, self._torch.int32
            values, places = (self._torch.empty(room, dtype=kind, device=self._device) for kind in kinds)
            levels.append((values, places))
        return levels


class AmongAll(Replayed):
    """By one query among `rows` (room, d), in float16 on a device, of which the first `count` (1,) are there.

    The room is a multiple of CHUNK.
    """

    def __init__(self, torch: ModuleType, kernels: ModuleType, rows: Any, count: Any) -> None:
        super().__init__(torch, kernels, rows.shape[1], rows.device)
        self._rows, self._count = rows, count
        self._scores = torch.empty(len(rows), device=rows.device)
        self._best = torch.empty(len(rows) // CHUNK, device=rows.device)

    def _run(self, count: int, size: int, told: Any) -> None:
        self._compare(self._rows, self._count, self._scores, self._best)
        self._choose(self._scores, self._best, None, size, told, CHUNK)


def built(torch: ModuleType | None, dimension: int, device: Any) -> ModuleType | None:
    """The kernels, compiled for rows of `dimension`; it takes seconds where they are not on disk yet.

    None where there is no Triton, or it cannot compile.
    """
    kernels = imported_kernels()
    if torch is None or kernels is None or (device.type != "cuda" and not kernels.INTERPRETED):
        return None
    rows = torch.zeros((CHUNK, dimension), dtype=torch.float16, device=device)
    one = AmongAll(torch, kernels, rows, torch.ones(1, dtype=torch.int64, device=device))
    query = np.zeros((1, dimension), np.float32)
    return kernels if all(one.search(query, size) is not None for size in SIZES) else None


def imported_kernels() -> ModuleType | None:
    """None without a Triton that has all they need. They take a second to import, so this is for a constructor."""
    try:
        return importlib.import_module(".kernels", __package__)
    except (ImportError, AttributeError, OSError):
        return None
