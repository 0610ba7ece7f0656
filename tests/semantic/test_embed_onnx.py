"""The ONNX encoder: the graph is BERT's, preparation is all or nothing, the loop is never held up."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tiny_bert

from cachelayer.errors import ConfigurationError, MissingExtra
from cachelayer.semantic.embed import bert, sources
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.embed.session import open_session

pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def model(tmp_path, cache):
    return tiny_bert.save(tmp_path / "tiny")


@pytest.mark.parametrize("release", [5, 6])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
async def test_the_graph_computes_what_the_paper_says(tmp_path, cache, pooling, release):
    directory = tiny_bert.save(tmp_path / "tiny", pooling=pooling, release=release)
    embedder = OnnxEmbedder(directory, precision="fp32")
    await embedder.start()
    text = "how do i return a product ?"
    made = await embedder.embed([text])
    reader = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    reader.no_truncation()
    ids = reader.encode(text).ids
    tensors = tiny_bert.weights(len(dict.fromkeys(tiny_bert.WORDS)), 0)
    vector, states = tiny_bert.encode(tensors, ids, pooling)
    assert np.allclose(made.vectors[0], vector, atol=1e-5)
    tokens = embedder._encoder.read_tokens(text)
    units = np.stack(states)[:, 1:-1] / np.linalg.norm(np.stack(states)[:, 1:-1], axis=-1, keepdims=True)
    assert tokens.ids.tolist() == ids[1:-1] and np.allclose(tokens.states, units, atol=2e-3)
    await embedder.aclose()


async def test_int8_stays_close_to_float32(model):
    rows = []
    for precision in ("int8", "fp32"):
        embedder = OnnxEmbedder(model, precision=precision)
        await embedder.start()
        rows.append((await embedder.embed(["cancel the order", "how do i return a product?"])).vectors)
        await embedder.aclose()
    assert (rows[0] * rows[1]).sum(axis=1).min() > 0.98


def test_an_outlying_channel_costs_less_when_it_is_smoothed(model):
    """One channel ten times the others', and weights that make up for it: the same function, harder to quantize."""
    weights, shape = bert.read_weights(model / "model.safetensors"), bert.read_shape(model)
    outlying = [f"encoder.layer.{i}.attention.output.LayerNorm.weight" for i in range(shape.layers)]
    for name in ("embeddings.LayerNorm.weight", "encoder.layer.0.output.LayerNorm.weight", *outlying):
        weights[name] = weights[name].copy()
        weights[name][5] *= 10
    readers = ("attention.self.query", "attention.self.key", "attention.self.value", "intermediate.dense")
    for name in (f"encoder.layer.{i}.{reader}.weight" for i in range(shape.layers) for reader in readers):
        weights[name] = weights[name].copy()
        weights[name][:, 5] /= 10
    ids = [np.array([[2, *row, 3]]) for row in np.random.default_rng(0).integers(4, 50, (12, 8))]

    def run(graph, outputs):
        session = open_session(graph)
        return [session.run(outputs, {"ids": row}) for row in ids]

    graph, places = bert.write_peaks(weights, shape)
    peaks = {
        place: np.max(top, axis=0)
        for place, top in zip(places, zip(*run(graph, places), strict=True), strict=True)
    }
    exact = [row[0][0] for row in run(bert.write(weights, shape, "fp32"), ["vector"])]
    lost = []
    for smooth in (None, peaks):
        near = run(bert.write(weights, shape, "int8", peaks=smooth), ["vector"])
        lost.append(float(np.mean([1 - row[0][0] @ one for row, one in zip(near, exact, strict=True)])))
    assert 0 <= lost[1] < 0.7 * lost[0]


async def test_a_smile_after_a_sentence_is_left_out_and_elsewhere_it_is_not_covered(model):
    embedder = OnnxEmbedder(model)
    await embedder.start()
    made = await embedder.embed(
        ["a word?", "a word? \N{GRINNING FACE}", "\N{GRINNING FACE}", "a \N{GRINNING FACE}"]
    )
    assert np.array_equal(made.vectors[0], made.vectors[1])
    assert made.complete.tolist() == [True, True, False, False]
    await embedder.aclose()


async def test_a_word_the_vocabulary_cannot_spell_is_not_covered(model):  # two emoji have one vector
    embedder = OnnxEmbedder(model)
    await embedder.start()
    made = await embedder.embed(["a word \N{GRINNING FACE}", "a word \N{FIRE}", "a word"])
    assert np.array_equal(made.vectors[0], made.vectors[1])
    assert made.complete.tolist() == [False, False, True]
    texts = ("a \N{FIRE}", "a", "a " * 99, "a " * 99 + "\N{FIRE}")
    assert [text for text in texts if await embedder.lacks_words(text)] == ["a \N{FIRE}"]
    await embedder.aclose()


@pytest.mark.parametrize("release", [5, 6])
async def test_the_window_is_the_models_and_not_the_tokenizer_files(tmp_path, cache, release):
    embedder = OnnxEmbedder(tiny_bert.save(tmp_path / "tiny", release=release))
    await embedder.start()
    inside, outside = "a " * (tiny_bert.WINDOW - 2), "a " * (tiny_bert.WINDOW - 1)
    assert (await embedder.embed([inside, outside])).complete.tolist() == [True, False]
    await embedder.aclose()


async def test_encoding_runs_on_the_workers_never_on_the_loop(model):
    embedder = OnnxEmbedder(model, workers=2)
    await embedder.start()
    seen: set[str] = set()
    encode = embedder._encoder.encode

    def watched(texts):
        seen.add(threading.current_thread().name)
        return encode(texts)

    embedder._encoder.encode = watched
    await asyncio.gather(*(embedder.embed(["a word", "the item"]) for _ in range(20)))
    assert seen and all(name.startswith("cachelayer-embed") for name in seen)
    assert threading.current_thread().name not in seen
    await embedder.aclose()


async def test_before_start_it_says_what_to_do(model):
    with pytest.raises(RuntimeError, match="start"):
        await OnnxEmbedder(model).embed(["a"])


def test_construction_touches_nothing(tmp_path, cache):
    OnnxEmbedder(tmp_path / "nowhere")
    assert not cache.exists()
    with pytest.raises(ValueError, match="workers"):
        OnnxEmbedder(workers=0)


def test_the_second_preparation_reads_what_the_first_made(model, cache):
    first = prepare(model, report=print)
    made = first.model.stat().st_mtime_ns
    said: list[str] = []
    assert prepare(model, report=said.append) == first
    assert first.model.stat().st_mtime_ns == made and not said
    assert first.cosine > 0.97 and first.window == tiny_bert.WINDOW


def test_preparation_prints_what_quantization_costs(model):
    said: list[str] = []
    prepare(model, report=said.append)
    assert any("least cosine" in line for line in said)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_a_damaged_preparation_is_made_again(model, name, damage):
    prepared = prepare(model)
    whole = prepared.model.read_bytes()
    victim = prepared.directory / name
    if damage is None:
        victim.unlink()
    else:
        victim.write_bytes(damage)
    assert prepare(model) == prepared
    assert prepared.model.read_bytes() == whole


def test_a_model_directory_that_changed_is_prepared_again_under_another_identity(model):
    first = prepare(model)
    tiny_bert.save(model, seed=1)
    assert prepare(model).identity != first.identity


def test_many_may_prepare_at_once_and_one_does_the_work(model, cache):
    said: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: prepare(model, report=said.append), range(4)))
    assert len(set(made)) == 1
    assert len([line for line in said if line.startswith("prepared")]) == 1
    assert [path.name for path in cache.iterdir() if path.name.startswith(".new")] == []


def test_a_cache_directory_that_cannot_be_written_is_named_with_the_remedy(model, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match="CACHELAYER_CACHE"):
        prepare(model)


def test_without_a_network_the_error_names_every_way_that_was_tried(cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigurationError) as caught:
        prepare("some/unknown-model")
    assert "127.0.0.1:9" in str(caught.value) and "OnnxEmbedder(model=" in str(caught.value)
    with pytest.raises(ConfigurationError, match="downloads are off"):
        prepare("some/unknown-model", download=False)


def test_a_foreign_file_under_the_models_name_is_refused(model):
    with pytest.raises(ConfigurationError, match="own file"):
        sources._pinned(model)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
async def test_a_missing_package_names_the_extra(model, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"cachelayer\[local\]"):
        await OnnxEmbedder(model).start()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
async def test_a_package_that_does_not_load_says_why_and_not_to_install_it(
    model, monkeypatch, tmp_path, package
):
    (tmp_path / f"{package}.py").write_text('raise ImportError("libgomp.so.1: cannot open")', "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, package, raising=False)
    with pytest.raises(MissingExtra, match=r"is installed and cannot be imported \(libgomp") as told:
        await OnnxEmbedder(model).start()
    assert "pip install" not in str(told.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_encodes_with_threads_of_its_own(model):
    embedder = OnnxEmbedder(model)
    expected = asyncio.run(_started(embedder))
    assert threading.active_count() > 1
    child = os.fork()
    if child == 0:
        ok = False
        try:
            ok = np.allclose(asyncio.run(_embedded(embedder)), expected)
        finally:
            os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


async def _started(embedder):
    await embedder.start()
    return await _embedded(embedder)


async def _embedded(embedder):
    return (await embedder.embed(["a word"])).vectors


async def test_the_default_model_knows_a_paraphrase():
    """The real all-MiniLM-L6-v2, where it is on this machine already."""
    try:
        embedder = OnnxEmbedder(download=False)
        await embedder.start()
    except ConfigurationError as fault:
        pytest.skip(f"the default model is not here: {fault}")
    made = await embedder.embed(
        ["How do I return a product?", "How can I send an item back?", "Who is Bach?"]
    )
    near, far = made.vectors[0] @ made.vectors[1:].T
    assert near > 0.5 > 0.2 > far
    assert embedder.identity.startswith("sentence-transformers/all-MiniLM-L6-v2@53aa51172d14/mean/256/int8")
    await embedder.aclose()
