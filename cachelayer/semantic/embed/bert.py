"""BERT-type sentence encoders as ONNX graphs, written straight from their safetensors weights."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigurationError
from .onnx_format import FLOAT, MICROSOFT, Graph

Weights = Mapping[str, NDArray[np.float32]]
Peaks = dict[str, NDArray[np.float32]]
"""Largest magnitude of each channel (d,) where a product may be smoothed, by place."""
Precision = Literal["int8", "fp32"]
_EMBED = "embeddings."
_MODULES: Final = {"Transformer", "Pooling", "Normalize"}
"""Of sentence-transformers, in any version; others are not written here."""
_MIGRATION = 0.7
"""Share of an outlier that goes from activations to weights; 0.5 to 0.9 differ little (least cosine .996 to .997)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the graph needs to know besides the weights."""

    hidden: int
    heads: int
    layers: int
    epsilon: float
    pooling: Literal["mean", "cls"]
    window: int
    """Tokens that the model reads, special ones included."""


def read_shape(directory: Path) -> Shape:
    """The shape by the configuration files of a sentence-transformers directory.

    Raises ConfigurationError if the architecture or pooling is not one that this module writes.
    """
    config = _json(directory / "config.json", {})
    activation = config.get("hidden_act", "gelu")
    if config.get("model_type") != "bert" or activation != "gelu":
        kind = f"{config.get('model_type')}/{activation}"
        raise ConfigurationError(
            "embedder",
            kind,
            f"{directory} is not a BERT encoder with GELU: use SentenceTransformersEmbedder for it",
        )
    modules = _json(directory / "modules.json", [])
    if more := {str(one["type"]).rpartition(".")[2] for one in modules} - _MODULES:
        raise ConfigurationError(
            "embedder", str(directory), f"has a module {min(more)}: use SentenceTransformersEmbedder"
        )
    pooled = _pooling(_json(directory / "1_Pooling" / "config.json", {}))
    if pooled not in (["mean"], ["cls"]):
        raise ConfigurationError(
            "embedder",
            str(directory),
            "pools neither by mean nor by CLS alone: use SentenceTransformersEmbedder",
        )
    return Shape(
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        epsilon=float(config["layer_norm_eps"]),
        pooling="cls" if pooled == ["cls"] else "mean",
        window=int(min(_window(directory), config["max_position_embeddings"])),
    )


def _pooling(kept: Mapping[str, Any]) -> list[str]:
    """The modes. Older releases of sentence-transformers wrote a switch for each."""
    if "pooling_mode" in kept:
        modes = kept["pooling_mode"]
        return [modes] if isinstance(modes, str) else list(modes)
    switches = {
        key.removeprefix("pooling_mode_"): on for key, on in kept.items() if key.startswith("pooling_mode_")
    }
    modes = [name.removesuffix("_tokens").removesuffix("_token") for name, on in switches.items() if on]
    return modes if switches else ["mean"]


def _window(directory: Path) -> float:
    """As sentence-transformers wrote it, newer releases beside the tokenizer; without it there is no limit."""
    kept = _json(directory / "sentence_bert_config.json", {}).get("max_seq_length")
    return kept or _json(directory / "tokenizer_config.json", {}).get("model_max_length") or math.inf


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Tensors of a safetensors file (8-byte length, JSON header, raw little-endian data), as float32."""
    raw = np.memmap(path, np.uint8, mode="r")
    size = int(raw[:8].view("<u8")[0])
    header = json.loads(raw[8 : 8 + size].tobytes())
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
            continue
        start, stop = (8 + size + offset for offset in entry["data_offsets"])
        out[name.removeprefix("bert.")] = _floats(raw[start:stop], entry["dtype"]).reshape(entry["shape"])
    return out


def fingerprint(weights: Weights) -> str:
    """SHA-256, in hex, of the tensors that make a vector, in whatever order and file they were."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        if not name.startswith("pooler."):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(weights[name], "<f4").data)
    return digest.hexdigest()


def write(
    weights: Weights, shape: Shape, precision: Precision, bits: int = 8, *, peaks: Peaks | None = None
) -> bytes:
    """The encoder as an ONNX model for one text.

    `ids` (1, t) int64 lead to `vector` (1, d) float32, normalized, and to the hidden states `middle` and
    `last` (1, t, d) after half of the layers and after all.

    int8 quantizes weights per output column (symmetric, `bits` bits) and activations per tensor as they come
    (https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html, dynamic quantization).
    Outliers would leave the rest few steps. Those of a channel go into the weights in part, by the `peaks` that
    `write_peaks` makes measurable (SmoothQuant, arXiv:2211.10438); those of a token, behind the GELU, are
    scaled away per row. One text at a time needs neither padding nor mask, and its vector never depends on the
    rest of a batch.
    """
    graph = Graph()
    write_linear = _Linear(graph, None if precision == "fp32" else 2 ** (bits - 1) - 1, peaks)
    x = _embedding(graph, weights, shape, write_linear)
    middle = ""
    for layer in range(shape.layers):
        x = _layer(graph, weights, shape, write_linear, x, layer)
        if layer + 1 == (shape.layers + 1) // 2:
            middle = x
    if shape.pooling == "mean":
        pooled = graph.op("ReduceMean", x, axes=[1], keepdims=0)
    else:
        pooled = graph.op("Gather", x, graph.constant(np.array(0)), axis=1)
    graph.output(graph.op("LpNormalization", pooled, axis=-1, p=2), "vector", (1, shape.hidden))
    graph.output(middle, "middle", (1, "t", shape.hidden))
    graph.output(x, "last", (1, "t", shape.hidden))
    return graph.model([("ids", (1, "t"))])


def write_peaks(weights: Weights, shape: Shape) -> tuple[bytes, list[str]]:
    """The float32 encoder with an output for every place of `Peaks`: the largest magnitudes (d,) of one text."""
    graph = Graph()
    linear = _Linear(graph, None, {}, watch=True)
    x = _embedding(graph, weights, shape, linear)
    for layer in range(shape.layers):
        x = _layer(graph, weights, shape, linear, x, layer)
    return graph.model([("ids", (1, "t"))]), linear.places


class _Linear:
    """Matrix products, in float32 or int8 (`levels` on each side of zero)."""

    def __init__(self, graph: Graph, levels: int | None, peaks: Peaks | None, watch: bool = False) -> None:
        self.graph, self.levels, self.peaks, self.watch = graph, levels, peaks or {}, watch
        self.places: list[str] = []

    def quantize(self, weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """One scale per column."""
        assert self.levels is not None
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-12) / np.float32(self.levels)
        return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)

    def smoothed(self, x: str, weight: NDArray[np.float32], place: str) -> tuple[str, NDArray[np.float32]]:
        """`x` and `weight` with the same product, part of each channel's outliers moved to the weights."""
        if self.watch:
            self.places.append(place)
            top = self.graph.op("ReduceMax", self.graph.op("Abs", x), axes=[0, 1], keepdims=0)
            self.graph.output(top, place, ("d",))
        if self.levels is None or place not in self.peaks:
            return x, weight
        ease = np.maximum(self.peaks[place], 1e-5) ** _MIGRATION
        ease /= np.maximum(np.abs(weight).max(axis=1), 1e-5) ** (1 - _MIGRATION)
        ease = np.asarray(ease / np.exp(np.log(ease).mean()), np.float32)
        eased = self.graph.op("Mul", x, self.graph.constant(1 / ease))
        return eased, np.multiply(weight, ease[:, None], dtype=np.float32)

    def product(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32] | None = None) -> str:
        graph, added = self.graph, () if bias is None else (self.graph.constant(bias),)
        if self.levels is None:
            made = graph.op("MatMul", x, graph.constant(weight))
            return graph.op("Add", made, *added) if added else made
        parts = (graph.constant(part) for part in self.quantize(weight))
        return graph.op("DynamicQuantizeMatMul", x, *parts, "", *added, domain=MICROSOFT)

    def product_by_rows(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """`product`, each row quantized over its own range: single tokens have activations ten times the others'."""
        if self.levels is None:
            return self.product(x, weight, bias)
        graph = self.graph
        largest = graph.op("ReduceMax", x, axes=[2], keepdims=1)
        made = graph.op("Mul", self.product(graph.op("Div", x, largest), weight), largest)
        return graph.op("Add", made, graph.constant(bias))

    def attention(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32], heads: int) -> str:
        """Multi-head self-attention from the stacked query, key and value projections (d, 3d)."""
        graph = self.graph
        if self.levels is None:
            packed = (graph.constant(weight), graph.constant(bias))
            return graph.op("Attention", x, *packed, domain=MICROSOFT, num_heads=heads)
        q, q_scale, q_zero = graph.many("DynamicQuantizeLinear", x, outputs=3)
        w, w_scale = (graph.constant(part) for part in self.quantize(weight))
        parts = (q, w, graph.constant(bias), q_scale, w_scale, "", q_zero)
        return graph.op("QAttention", *parts, domain=MICROSOFT, num_heads=heads)


def _embedding(graph: Graph, weights: Weights, shape: Shape, linear: _Linear) -> str:
    words = weights[_EMBED + "word_embeddings.weight"]
    if linear.levels is None:
        x = graph.op("Gather", graph.constant(words), "ids")
    else:
        packed, scale = linear.quantize(words.T)
        rows = graph.op("Cast", graph.op("Gather", graph.constant(packed.T), "ids"), to=FLOAT)
        x = graph.op("Mul", rows, graph.op("Gather", graph.constant(scale[:, None]), "ids"))
    positions = (
        weights[_EMBED + "position_embeddings.weight"] + weights[_EMBED + "token_type_embeddings.weight"][0]
    )
    length = graph.op("Shape", "ids", start=1, end=2)
    zero = graph.constant(np.array([0]))
    x = graph.op("Add", x, graph.op("Slice", graph.constant(positions), zero, length, zero))
    norm = [graph.constant(weights[f"{_EMBED}LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.op("LayerNormalization", x, *norm, axis=-1, epsilon=shape.epsilon)


def _layer(graph: Graph, weights: Weights, shape: Shape, linear: _Linear, x: str, layer: int) -> str:
    prefix = f"encoder.layer.{layer}."

    def part(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return weights[f"{prefix}{name}.weight"].T, weights[f"{prefix}{name}.bias"]

    def add_norm(y: str, skip: str, name: str) -> str:
        """Add and normalize by two operators: one that does both takes 1.5 times as long."""
        norm = [graph.constant(weights[f"{prefix}{name}.LayerNorm.{kind}"]) for kind in ("weight", "bias")]
        return graph.op("LayerNormalization", graph.op("Add", y, skip), *norm, axis=-1, epsilon=shape.epsilon)

    stacked = [part(f"attention.self.{name}") for name in ("query", "key", "value")]
    eased, weight = linear.smoothed(x, np.concatenate([w for w, _ in stacked], axis=1), prefix + "attention")
    y = linear.attention(eased, weight, np.concatenate([b for _, b in stacked]), shape.heads)
    x = add_norm(linear.product(y, *part("attention.output.dense")), x, "attention.output")
    weight, bias = part("intermediate.dense")
    eased, weight = linear.smoothed(x, weight, prefix + "intermediate")
    y = graph.op("Gelu", linear.product(eased, weight, bias), domain=MICROSOFT)
    return add_norm(linear.product_by_rows(y, *part("output.dense")), x, "output")


def _floats(raw: NDArray[np.uint8], dtype: str) -> NDArray[np.float32]:
    if dtype == "BF16":
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    return np.asarray(raw.view("<f4" if dtype == "F32" else "<f2"), dtype=np.float32)


def _json(path: Path, none: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else none
