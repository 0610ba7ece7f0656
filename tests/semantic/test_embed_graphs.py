"""On a real GPU: a BERT of sentence-transformers runs as CUDA graphs, and nobody can tell by its vectors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
import tiny_bert

from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.embed.graphs import MOST_TOKENS
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore"),  # of the libraries, about models without a pooler and the like
]

WINDOW = 60
WORDS = "how do i return a product the item ? cancel order".split()
RANDOM = Random(7)
LENGTHS = (1, 3, 8, 13, 14, 15, 20, 30, 45, 57, 58, 59, 90, 400)
TEXTS = ["", " ", "?", *(" ".join(RANDOM.choices(WORDS, k=RANDOM.choice(LENGTHS))) for _ in range(197))]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _device():
    pytest.importorskip("sentence_transformers")
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("torch finds no CUDA device")


@pytest.fixture
async def start(tmp_path):
    made = []

    async def started(*, half=None, batch=64, **kind):
        directory = tiny_bert.save(tmp_path / "model", window=WINDOW, **kind)
        made.append(SentenceTransformersEmbedder(directory, half=half, batch=batch))
        await made[-1].start()
        return made[-1]

    yield started
    for embedder in made:
        await embedder.aclose()


def library(embedder, texts=TEXTS):
    rows = np.asarray(embedder._model.encode(texts, show_progress_bar=False), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def agree(found, want, least=0.999):
    return found.dtype == np.float32 and bool(((found * want).sum(1) >= least).all())


async def in_batches(embedder, size):
    parts = [await embedder.embed(TEXTS[at : at + size]) for at in range(0, len(TEXTS), size)]
    return np.concatenate([part.vectors for part in parts])


@pytest.mark.parametrize("half", [None, False])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
async def test_vectors_are_the_librarys_one_by_one_and_in_batches_of_any_size(start, pooling, half):
    embedder = await start(pooling=pooling, half=half)
    assert embedder._graphed is not None
    want = library(embedder)
    assert np.median(want @ want.T) < 0.99, "texts so alike that any vector would do"
    for size in (1, 64, 5, 200, 1):
        assert agree(await in_batches(embedder, size), want), size
    captured = embedder._graphed._captured
    assert len(captured) > 8 and all(captured.values()), "a shape could not be captured"


async def test_shapes_of_too_many_tokens_for_a_graph_have_the_same_vectors(start):
    embedder = await start(batch=256)
    assert agree(await in_batches(embedder, 200), library(embedder))
    captured = embedder._graphed._captured
    assert all(size * length <= MOST_TOKENS < 256 * 64 for size, length in captured)


async def test_the_same_text_has_the_same_vector_whatever_ran_in_between(start):
    """Graphs share their memory."""
    embedder = await start()
    before = await in_batches(embedder, 1)
    kept = before.copy()
    for size in (64, 7, 2):
        await in_batches(embedder, size)
    assert np.array_equal(before, kept) and agree(await in_batches(embedder, 1), kept, 0.99999)


async def test_vectors_left_on_the_device_are_those_of_the_host(start):
    embedder = await start()
    bert, ids = embedder._graphed, embedder._model.tokenizer(TEXTS, truncation=True)["input_ids"]
    for part in (ids[:1], ids[:9], ids):
        left = bert.embed_on_device(part)
        assert left.device.type == bert.device.type and left.shape == (len(part), tiny_bert.HIDDEN)
        assert agree(left.cpu().numpy(), bert.encode(part), 0.99999)


async def test_texts_that_are_cut_or_have_an_unknown_word_are_incomplete(start):
    embedder = await start()
    words = WINDOW - 2
    texts = ["a " * words, "a " * (words + 1), "order 漢", "order", "", "a" + " " * 16 * WINDOW]
    assert (await embedder.embed(texts)).complete.tolist() == [True, False, False, True, True, False]
    assert [text for text in texts if await embedder.lacks_words(text)] == ["order 漢"]


async def test_tasks_that_share_a_call_get_each_its_own_vector(start):
    inner = await start()
    embedder, want = BatchedEmbedder(inner), library(inner)

    async def one(number):
        for at in range(number, len(TEXTS), 32):
            found = await embedder.embed([TEXTS[at]])
            assert agree(found.vectors, want[at : at + 1]), at

    async with asyncio.TaskGroup() as tasks:
        for number in range(32):
            tasks.create_task(one(number))
    assert embedder.stats()["calls"] < len(TEXTS)


@pytest.mark.parametrize(
    "kind",
    [
        {"hidden_act": "relu"},
        {"pooling": "max"},
        {"model_type": "electra", "embedding_size": tiny_bert.HIDDEN},
    ],
    ids=str,
)
async def test_other_models_embed_as_the_library_does(start, kind):
    embedder = await start(**kind)
    assert embedder._graphed is None
    assert agree(await in_batches(embedder, 64), library(embedder))


async def test_a_model_that_puts_words_before_every_text_is_left_to_the_library(start, tmp_path):
    (tmp_path / "model").mkdir()
    prompts = {"prompts": {"query": "return the item "}, "default_prompt_name": "query"}
    (tmp_path / "model" / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = await start()
    assert embedder._graphed is None
    assert agree(await in_batches(embedder, 64), library(embedder))


BESIDE_AN_INDEX = """
import asyncio, sys, threading
import faiss, numpy as np
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder

async def main():
    embedder, done, rounds = SentenceTransformersEmbedder(sys.argv[1]), threading.Event(), []
    rows = np.random.default_rng(0).standard_normal((50_000, 64), np.float32)
    device = faiss.StandardGpuResources()

    def index():
        while not done.is_set():
            made = faiss.GpuIndexFlatIP(device, 64)
            made.add(rows)
            made.search(rows[:8], 4)
            rounds.append(made.ntotal)

    thread = threading.Thread(target=index)
    thread.start()
    try:
        await embedder.start()
        for words in (3, 20, 40, 58):
            for count in (1, 2, 4, 8, 16, 32, 64):
                await embedder.embed(["a " * words] * count)
    finally:
        done.set()
        thread.join()
    assert rounds and all(embedder._graphed._captured.values()), embedder._graphed._captured
    await embedder.aclose()

asyncio.run(main())
"""


def test_graphs_are_captured_while_an_index_works_on_the_same_device(tmp_path):
    """In a process of its own: FAISS ends it when the device refuses a call."""
    if not hasattr(pytest.importorskip("faiss"), "StandardGpuResources"):
        pytest.skip("faiss is built without GPU support")
    directory = tiny_bert.save(tmp_path / "model", window=WINDOW)
    command = [sys.executable, "-W", "ignore", "-c", BESIDE_AN_INDEX, str(directory)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)
    assert ended.returncode == 0, ended.stderr[-3000:]
