"""A BERT sentence encoder in plain torch for benchmarks/gpu_index.py: text in, unit vectors on the device out.

Weights and tokenizer are those of a directory in the layout of sentence-transformers; without one they are random, in
the shape of all-MiniLM-L6-v2, with one token per word: times do not depend on what weights say. On CUDA it runs in
float16, one graph captured per length (buckets of 16 tokens), fed from a pinned buffer. On a CPU its vectors of
the real model are those of the ONNX graph (cosine 1.0000).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

BUCKET = 16
MINILM = {"hidden": 384, "heads": 12, "layers": 6, "vocabulary": 30522, "inner": 1536, "positions": 512}
Weights = dict[str, torch.Tensor]


def random_weights() -> dict[str, np.ndarray]:
    """Of MiniLM's shape."""
    rng, width, inner = np.random.default_rng(0), MINILM["hidden"], MINILM["inner"]

    def some(*shape: int) -> np.ndarray:
        return (0.05 * rng.standard_normal(shape)).astype(np.float32)

    out = {
        "embeddings.word_embeddings.weight": some(MINILM["vocabulary"], width),
        "embeddings.position_embeddings.weight": some(MINILM["positions"], width),
        "embeddings.token_type_embeddings.weight": some(2, width),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(MINILM["layers"]):
        name = f"encoder.layer.{layer}."
        dense = {f"attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        dense |= {
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }
        for part, shape in dense.items():
            out[f"{name}{part}.weight"], out[f"{name}{part}.bias"] = some(*shape), some(shape[0])
        norms += [name + "attention.output.LayerNorm", name + "output.LayerNorm"]
    for norm in norms:
        out[norm + ".weight"], out[norm + ".bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
    return out


class Encoder:
    """`encode(texts)` gives (n, hidden) float32 unit rows on `device`."""

    def __init__(self, device: Any, directory: Path | None = None) -> None:
        self.device, self.cuda = device, torch.device(device).type == "cuda"
        self.heads, self._tokenizer = MINILM["heads"], None
        if directory is None:
            raw = random_weights()
        else:
            from cachelayer.semantic.embed.bert import read_shape, read_weights
            from cachelayer.semantic.embed.session import open_tokenizer

            raw, self.heads = read_weights(directory / "model.safetensors"), read_shape(directory).heads
            self._tokenizer = open_tokenizer((directory / "tokenizer.json").read_bytes())
        kind = torch.float16 if self.cuda else torch.float32
        self.w: Weights = {name: torch.from_numpy(np.array(t)).to(device, kind) for name, t in raw.items()}
        self.layers = 1 + max(int(name.split(".")[2]) for name in raw if name.startswith("encoder.layer."))
        self._graphs: dict[tuple[int, int], tuple[Any, Any, Any, Any, Any]] = {}

    def tokens(self, text: str) -> list[int]:
        if self._tokenizer is not None:
            return list(self._tokenizer.encode(text).ids[:256])
        return [101, *(1000 + sum(word.encode()) % 20_000 for word in text.split()[:254]), 102]

    def encode(self, texts: Sequence[str]) -> Any:
        with torch.inference_mode():
            return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> Any:
        rows = [self.tokens(text) for text in texts]
        length = -(-max(map(len, rows)) // BUCKET) * BUCKET
        ids, mask = np.zeros((len(rows), length), np.int64), np.zeros((len(rows), length), np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)], mask[at, : len(row)] = row, 1
        if not self.cuda:
            return self.forward(torch.from_numpy(ids), torch.from_numpy(mask))
        graph, pinned, given, marked, made = self._captured(len(rows), length)
        pinned[0].copy_(torch.from_numpy(ids))
        pinned[1].copy_(torch.from_numpy(mask))
        given.copy_(pinned[0], non_blocking=True)
        marked.copy_(pinned[1], non_blocking=True)
        graph.replay()
        return made

    def _captured(self, batch: int, length: int) -> tuple[Any, Any, Any, Any, Any]:
        found = self._graphs.get((batch, length))
        if found is None:
            given = torch.zeros((batch, length), dtype=torch.int64, device=self.device)
            marked = torch.ones_like(given)
            pinned = torch.zeros((2, batch, length), dtype=torch.int64, pin_memory=True)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self.forward(given, marked)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                made = self.forward(given, marked)
            found = self._graphs[batch, length] = (graph, pinned, given, marked, made)
        return found

    def forward(self, ids: Any, mask: Any) -> Any:
        w, (batch, length) = self.w, ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        open_to = mask[:, None, None, :].bool()
        for number in range(self.layers):
            name = f"encoder.layer.{number}."
            q, k, v = (
                self._dense(x, f"{name}attention.self.{part}")
                .view(batch, length, self.heads, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=open_to).transpose(1, 2).reshape(x.shape)
            y = self._dense(y, name + "attention.output.dense")
            x = self._norm(x + y, name + "attention.output.LayerNorm")
            y = self._dense(F.gelu(self._dense(x, name + "intermediate.dense")), name + "output.dense")
            x = self._norm(x + y, name + "output.LayerNorm")
        kept = mask[:, :, None].to(x.dtype)
        return F.normalize(((x * kept).sum(1) / kept.sum(1)).float(), dim=1)

    def _dense(self, x: Any, name: str) -> Any:
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def _norm(self, x: Any, name: str) -> Any:
        return F.layer_norm(x, (x.shape[-1],), self.w[name + ".weight"], self.w[name + ".bias"], 1e-12)
