"""Directories of models: which are read, which are refused and why, and which hold the default model."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny_bert

from cachelayer.errors import ConfigurationError
from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.embed.bert import read_weights
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder
from cachelayer.semantic.embed.sources import open_source

pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")
TEXT = "how do i reset my password"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "cache"))
    return tiny_bert.save(tmp_path / "tiny")


@pytest.fixture
def default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The default model in a directory of the owner's, its tensors in another order than the hub's."""
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "cache"))
    with open_source(None, lambda line: None, download=True) as source:
        own = shutil.copytree(source, tmp_path / "own")
    _rewrite(own, dict(reversed(read_weights(own / "model.safetensors").items())))
    yield own


def _rewrite(directory: Path, weights: dict[str, Any]) -> None:
    tiny_bert.write_safetensors(directory / "new", weights)
    (directory / "new").replace(directory / "model.safetensors")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_an_incomplete_model_directory_names_what_is_missing(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(ConfigurationError, match=name):
        prepare(model)


@pytest.mark.parametrize(("key", "value"), [("model_type", "roberta"), ("hidden_act", "relu")])
def test_another_architecture_is_refused_with_the_embedder_that_takes_it(
    model: Path, key: str, value: str
) -> None:
    path = model / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(ConfigurationError, match="SentenceTransformersEmbedder"):
        prepare(model)


@pytest.mark.parametrize(
    "kept",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_cls_token": False},
        {"pooling_mode": "lasttoken"},
        {"pooling_mode": ["mean", "cls"]},
    ],
)
def test_a_pooling_that_is_not_supported_says_what_to_use(model: Path, kept: dict[str, object]) -> None:
    (model / "1_Pooling" / "config.json").write_text(json.dumps(kept))
    with pytest.raises(ConfigurationError, match=r"pools neither.*use SentenceTransformersEmbedder"):
        prepare(model)


def test_a_module_that_is_not_supported_is_named(model: Path) -> None:
    path = model / "modules.json"
    dense = {"idx": 3, "name": "3", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    path.write_text(json.dumps([*json.loads(path.read_text()), dense]))
    with pytest.raises(ConfigurationError, match="a module Dense: use SentenceTransformersEmbedder"):
        prepare(model)


async def test_what_was_fitted_to_the_default_model_holds_for_it_in_any_directory(default: Path) -> None:
    """It was known by its name alone: from a directory no hit was decided at a glance, and no text read closely."""
    embedder = OnnxEmbedder(default)
    assert embedder.guess(TEXT) is None and not embedder.shows_tokens
    await embedder.start()
    guess, made = embedder.guess(TEXT), (await embedder.embed([TEXT])).vectors[0]
    assert guess is not None and float(guess @ made) > 0.7 and embedder.shows_tokens
    await embedder.aclose()


async def test_what_was_fitted_to_the_default_model_is_not_used_with_others(default: Path) -> None:
    weights = {name: tensor.copy() for name, tensor in read_weights(default / "model.safetensors").items()}
    weights["encoder.layer.5.output.dense.bias"][0] += 1e-3
    _rewrite(default, weights)
    embedder = OnnxEmbedder(default)
    await embedder.start()
    assert embedder.guess(TEXT) is None and not embedder.shows_tokens
    assert await embedder.read_tokens([TEXT]) == [None]
    await embedder.aclose()


class Tensor:
    """What is asked of a tensor of torch."""

    device, dtype = "cpu", "float32"

    def __init__(self, array: Any) -> None:
        self.array = array

    def float(self) -> Tensor:
        return self

    def cpu(self) -> Any:
        return self.array

    @property
    def shape(self) -> Any:
        return self.array.shape


class BertModel:
    """What is asked of a BERT of transformers."""

    def __init__(self, directory: Path) -> None:
        config = json.loads((directory / "config.json").read_text())
        self.config = SimpleNamespace(**config, _commit_hash="0123456789ab")
        self.weights = read_weights(directory / "model.safetensors")

    def state_dict(self) -> dict[str, Tensor]:
        return {name: Tensor(array) for name, array in self.weights.items()}


class Transformer:
    def __init__(self, directory: Path) -> None:
        self.auto_model = BertModel(directory)


class Pooling:
    pooling_mode = "mean"


class Library(list[Any]):
    """What is asked of a SentenceTransformer."""

    device, max_seq_length, prompts, default_prompt_name, truncate_dim = "cpu", 256, None, None, None

    def __init__(self, name: str, device: str | None, revision: str | None) -> None:
        super().__init__([Transformer(Path(name)), Pooling()])
        file = tokenizers.Tokenizer.from_file(str(Path(name) / "tokenizer.json"))
        self.tokenizer = SimpleNamespace(
            backend_tokenizer=file, padding_side="right", truncation_side="right"
        )

    def get_embedding_dimension(self) -> int:
        return 384

    def half(self) -> None:
        """The weights are seen as they were read."""
        for name, array in self[0].auto_model.weights.items():
            self[0].auto_model.weights[name] = array.astype(np.float16)


@pytest.mark.parametrize("half", [False, True])
async def test_sentence_transformers_guess_by_the_default_model_and_by_no_other(
    default: Path, monkeypatch: pytest.MonkeyPatch, half: bool
) -> None:
    """On a GPU as well, where a guess spares the way there and back."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Library))
    onnx = OnnxEmbedder(default)
    await onnx.start()
    inner = SentenceTransformersEmbedder(default, half=half)
    embedder = CachedEmbedder(BatchedEmbedder(inner))
    await embedder.start()
    assert np.array_equal(embedder.guess(TEXT), onnx.guess(TEXT))
    await embedder.aclose()
    assert embedder.guess(TEXT) is None
    await onnx.aclose()
    monkeypatch.setattr(Pooling, "pooling_mode", "cls")
    await inner.start()
    assert inner.guess(TEXT) is None
    await inner.aclose()
