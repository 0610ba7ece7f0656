"""The encoder that cachelayer runs on a GPU, for benchmarks/gpu_index.py: text in, unit vectors on the device out.

Weights and tokenizer are those of a directory in the layout of sentence-transformers; without one they are random, in
the shape of all-MiniLM-L6-v2, with one token per word: times do not depend on what weights say. On CUDA it runs in
float16, as graphs (cachelayer/semantic/embed/graphs.py). On a CPU its vectors of the real model are those of the ONNX
graph (cosine 1.0000).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

MINILM = {"hidden": 384, "heads": 12, "layers": 6, "vocabulary": 30522, "inner": 1536, "positions": 512}


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
    """`encode(texts)` gives (n, hidden) float32 unit rows on `device`, which the next call may overwrite."""

    def __init__(self, device: Any, directory: Path | None = None) -> None:
        from cachelayer.semantic.embed.graphs import GraphedBert

        heads, self._tokenizer = MINILM["heads"], None
        if directory is None:
            raw = random_weights()
        else:
            from cachelayer.semantic.embed.bert import read_shape, read_weights
            from cachelayer.semantic.embed.session import open_tokenizer

            raw, heads = read_weights(directory / "model.safetensors"), read_shape(directory).heads
            self._tokenizer = open_tokenizer((directory / "tokenizer.json").read_bytes())
        kind = torch.float16 if torch.device(device).type == "cuda" else torch.float32
        weights = {name: torch.from_numpy(np.array(t)).to(device, kind) for name, t in raw.items()}
        layers = 1 + max(int(name.split(".")[2]) for name in raw if name.startswith("encoder.layer."))
        self._bert = GraphedBert(weights, heads=heads, layers=layers)

    def tokens(self, text: str) -> list[int]:
        if self._tokenizer is not None:
            return list(self._tokenizer.encode(text).ids[:256])
        return [101, *(1000 + sum(word.encode()) % 20_000 for word in text.split()[:254]), 102]

    def encode(self, texts: Sequence[str]) -> Any:
        return self._bert.embed_on_device([self.tokens(text) for text in texts])
