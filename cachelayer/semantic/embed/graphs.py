"""BERT sentence encoders in plain torch, as CUDA graphs: one call of the driver where the library makes a hundred.

sentence-transformers takes milliseconds for one sentence, nearly all of them in Python. `covered.py` decides for which
of its models this forward, with the same weights, gives the same vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from ..cuda_graphs import GraphCapture

BUCKET = 16
"""Tokens that lengths are rounded up to; batches are rounded up to a power of two."""
MOST_TOKENS = 4096
"""Of a graph: beyond that the kernels take longer than their launches. With a window of 256 that bounds the graphs
to 92, 512 to 156; each is captured when its shape first comes (tens of milliseconds)."""
_EMBED = "embeddings."
_TABLES = tuple(f"{_EMBED}{kind}_embeddings.weight" for kind in ("word", "position", "token_type"))
_ATTEND = ("attention.self.query", "attention.self.key", "attention.self.value")
_DENSE = ("attention.output.dense", "intermediate.dense", "output.dense")
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
Pooling = Literal["mean", "cls"]


@dataclass(slots=True)
class _Captured:
    graph: Any
    pinned: Any
    filled: NDArray[np.int64]
    """`pinned`, seen by numpy."""
    given: Any
    copied: Any
    made: Any


class GraphedBert:
    """Token ids in, unit float32 rows out. For one thread: inputs and results of a shape have one place.

    `weights` are named as in transformers' BertModel, on one device in one type, and are shared. On a CPU, and for
    shapes of more than `MOST_TOKENS`, the same forward runs without a graph.
    """

    def __init__(
        self,
        weights: Mapping[str, Any],
        *,
        heads: int,
        layers: int,
        epsilon: float = 1e-12,
        pooling: Pooling = "mean",
        batch: int = 64,
    ) -> None:
        self.weights, self._heads, self._layers, self._epsilon = weights, heads, layers, epsilon
        self.pooling, self._batch = pooling, batch
        table = weights[_TABLES[1]]
        self.device, (self.positions, self._hidden) = table.device, table.shape
        self._stacked: tuple[Any, list[tuple[Any, Any]]] | None = None
        self._captured: dict[tuple[int, int], _Captured | None] = {}
        self._capturing: GraphCapture | None = None

    def encode(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """(n, hidden) on the host, in the order of `ids`; none longer than the model has positions."""
        return np.asarray(self.embed_on_device(ids).cpu().numpy(), np.float32)

    def embed_on_device(self, ids: Sequence[Sequence[int]]) -> Any:
        """The same where they were made; the next call may overwrite them."""
        import torch

        with torch.inference_mode():
            if len(ids) <= self._batch:
                return self._embed(ids)
            order = np.argsort([len(row) for row in ids], kind="stable")
            made = torch.empty((len(ids), self._hidden), dtype=torch.float32, device=self.device)
            for at in range(0, len(ids), self._batch):
                part = [ids[row] for row in order[at : at + self._batch]]
                made[at : at + len(part)] = self._embed(part)
            return made[torch.from_numpy(np.argsort(order)).to(self.device)]

    def _embed(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        count, longest = len(ids), max(map(len, ids))
        length = min(-(-longest // BUCKET) * BUCKET, self.positions)
        captured = self._graph_for(1 << (count - 1).bit_length(), length)
        if captured is None:
            both = np.empty((2, count, length), np.int64)
            _fill(both, ids)
            given = torch.from_numpy(both).to(self.device)
            return self._forward(given[0], given[1])
        captured.copied.synchronize()  # the last call's copy may still be reading the buffer
        _fill(captured.filled, ids)
        captured.given.copy_(captured.pinned, non_blocking=True)
        captured.copied.record(torch.cuda.current_stream(self.device))
        captured.graph.replay()
        return captured.made[:count]

    def _graph_for(self, size: int, length: int) -> _Captured | None:
        """The graph of a shape; None if there is to be none, memory lacks, or another thread disturbed the capture."""
        shape = size, length
        if self.device.type != "cuda" or size * length > MOST_TOKENS:
            return None
        if shape not in self._captured:
            try:
                self._captured[shape] = self._capture(size, length)
            except RuntimeError:
                self._captured[shape] = None
        return self._captured[shape]

    def _capture(self, size: int, length: int) -> _Captured | None:
        import torch

        if self._capturing is None:
            self._capturing = GraphCapture(torch, self.device, torch.cuda.graph_pool_handle())
        pinned = torch.zeros((2, size, length), dtype=torch.int64, pin_memory=True)
        pinned[1] = 1
        given = pinned.to(self.device)
        captured = self._capturing.capture(partial(self._forward, given[0], given[1]))
        if captured is None:
            return None
        graph, made = captured
        return _Captured(graph, pinned, pinned.numpy(), given, torch.cuda.Event(), made)

    def _forward(self, ids: Any, mask: Any) -> Any:
        import torch
        from torch.nn import functional as F

        places, attend = self._stacked = self._stacked or self._stack()
        batch, length = ids.shape
        x = self._norm(self.weights[_TABLES[0]][ids] + places[:length], _EMBED + "LayerNorm")
        bias = torch.zeros_like(mask, dtype=x.dtype).masked_fill_(mask == 0, -torch.inf)
        bias = bias[:, None, None, :].expand(batch, self._heads, length, length)
        for number, stacked in enumerate(attend):
            name = f"encoder.layer.{number}."
            q, k, v = F.linear(x, *stacked).view(batch, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).reshape(x.shape)
            x = self._norm(x + self._dense(y, name + _DENSE[0]), name + _NORMS[0])
            y = self._dense(F.gelu(self._dense(x, name + _DENSE[1])), name + _DENSE[2])
            x = self._norm(x + y, name + _NORMS[1])
        if self.pooling == "cls":
            return F.normalize(x[:, 0].float(), dim=1)
        return F.normalize((x * mask[:, :, None]).sum(1, dtype=torch.float32), dim=1)

    def _stack(self) -> tuple[Any, list[tuple[Any, Any]]]:
        """What one kernel reads where the model has parts: the rows of places, and of each layer what attends."""
        import torch

        w = self.weights
        attend = [
            tuple(
                torch.cat([w[f"encoder.layer.{number}.{part}.{kind}"] for part in _ATTEND])
                for kind in ("weight", "bias")
            )
            for number in range(self._layers)
        ]
        return w[_TABLES[1]] + w[_TABLES[2]][0], attend

    def _dense(self, x: Any, name: str) -> Any:
        from torch.nn import functional as F

        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def _norm(self, x: Any, name: str) -> Any:
        from torch.nn import functional as F

        parts = self.weights[name + ".weight"], self.weights[name + ".bias"]
        return F.layer_norm(x, (x.shape[-1],), *parts, self._epsilon)


def _fill(both: NDArray[np.int64], ids: Sequence[Sequence[int]]) -> None:
    """Write ids and mask; unused rows read one token, since there is no mean of none."""
    both[...] = 0
    both[1, :, 0] = 1
    for at, row in enumerate(ids):
        both[0, at, : len(row)], both[1, at, : len(row)] = row, 1


def names(layers: int) -> set[str]:
    """The names of the weights."""
    parts = [_EMBED + "LayerNorm"]
    parts += [f"encoder.layer.{n}.{part}" for n in range(layers) for part in (*_ATTEND, *_DENSE, *_NORMS)]
    return {*_TABLES, *(f"{part}.{kind}" for part in parts for kind in ("weight", "bias"))}
