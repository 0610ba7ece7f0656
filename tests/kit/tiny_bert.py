"""A BERT encoder small enough to make in a test, and the same in plain numpy to compare with."""

from __future__ import annotations

import json
import struct
from math import erf, sqrt
from pathlib import Path

import numpy as np

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcdefghijklmnopqrstuvwxyz",
    *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
]
WORDS += ["how", "do", "i", "return", "a", "product", "the", "item", "?", "word", "cancel", "order"]
HIDDEN, HEADS, LAYERS, WINDOW, INNER = 32, 4, 2, 16, 64
MODULES = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
"""As sentence-transformers lists them."""


def save(
    directory: Path,
    *,
    pooling: str = "mean",
    seed: int = 0,
    window: int = WINDOW,
    release: int = 5,
    **config: object,
) -> Path:
    """Write model.safetensors, tokenizer.json and the configuration files, as that release of
    sentence-transformers does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    directory.mkdir(parents=True, exist_ok=True)
    words = list(dict.fromkeys(WORDS))
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(word, words.index(word)) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(8)  # as the real file has it: the embedder must not obey
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "intermediate_size": INNER,
        "vocab_size": len(words),
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 64,
    } | config
    (directory / "config.json").write_text(json.dumps(config))
    of_tokens = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep", "mask")}
    of_tokens |= {"tokenizer_class": "BertTokenizer", "model_max_length": window}
    (directory / "tokenizer_config.json").write_text(json.dumps(of_tokens))
    listed = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(MODULES)
    ]
    (directory / "modules.json").write_text(json.dumps(listed))
    kept = {"max_seq_length": window} if release < 6 else {"transformer_task": "feature-extraction"}
    (directory / "sentence_bert_config.json").write_text(json.dumps(kept))
    (directory / "1_Pooling").mkdir(exist_ok=True)
    names = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}
    modes = {f"pooling_mode_{name}": kind == pooling for kind, name in names.items()}
    modes |= {"word_embedding_dimension": HIDDEN}
    if release >= 6:
        modes = {"embedding_dimension": HIDDEN, "pooling_mode": pooling, "include_prompt": True}
    (directory / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    write_safetensors(directory / "model.safetensors", weights(len(words), seed))
    return directory


def weights(vocabulary: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.2).astype(np.float32)

    out = {"embeddings.word_embeddings.weight": some(vocabulary, HIDDEN)}
    out["embeddings.position_embeddings.weight"] = some(64, HIDDEN)
    out["embeddings.token_type_embeddings.weight"] = some(2, HIDDEN)
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for name in (
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ):
            out[f"{layer}{name}.weight"], out[f"{layer}{name}.bias"] = some(HIDDEN, HIDDEN), some(HIDDEN)
        out[layer + "intermediate.dense.weight"], out[layer + "intermediate.dense.bias"] = (
            some(INNER, HIDDEN),
            some(INNER),
        )
        out[layer + "output.dense.weight"], out[layer + "output.dense.bias"] = (
            some(HIDDEN, INNER),
            some(HIDDEN),
        )
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for name in norms:
        out[name + ".weight"], out[name + ".bias"] = 1 + some(HIDDEN), some(HIDDEN)
    return out


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.tobytes() for t in tensors.values()))


def encode(
    tensors: dict[str, np.ndarray], ids: list[int], pooling: str = "mean"
) -> tuple[np.ndarray, list[np.ndarray]]:
    """(vector, hidden states after each layer) as the BERT paper has it (arXiv:1810.04805), in float64."""
    w = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    gelu = np.vectorize(lambda v: 0.5 * v * (1 + erf(v / sqrt(2))))

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    states = []
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (
            dense(x, f"{layer}attention.self.{n}").reshape(len(ids), HEADS, -1)
            for n in ("query", "key", "value")
        )
        scores = np.einsum("qhd,khd->hqk", q, k) / sqrt(HIDDEN / HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", scores / scores.sum(-1, keepdims=True), v).reshape(len(ids), -1)
        x = norm(x + dense(mixed, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
        inner = gelu(dense(x, layer + "intermediate.dense"))
        x = norm(x + dense(inner, layer + "output.dense"), layer + "output.LayerNorm")
        states.append(x)
    pooled = x.mean(0) if pooling == "mean" else x[0]
    return pooled / np.linalg.norm(pooled), states
