"""The cache, the batcher, the network and the callable around or instead of a model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from embedding_server import DIMENSION, EmbeddingServer, hashed, hashed_all
from held_model import Slow
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.errors import ConfigurationError
from cachelayer.flow.http import HttpFault
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.from_callable import CallableEmbedder
from cachelayer.semantic.embed.http import HttpEmbedder
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder
from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


class Counted:
    """A callable that remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    async def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.batches.append(list(texts))
        await asyncio.sleep(0)
        return await hashed_all(texts)


def wrap(function) -> CallableEmbedder:
    return CallableEmbedder(function, identity="hash", dimension=DIMENSION, max_chars=100)


def direction(text: str) -> np.ndarray:
    return hashed(text) / 3


async def test_the_cache_asks_once_per_text_and_keeps_the_order():
    counted = Counted()
    cached = CachedEmbedder(wrap(counted))
    await cached.embed(["a", "b", "a"])
    made = await cached.embed(["c", "b", "a", "x" * 200])
    assert counted.batches == [["a", "b"], ["c", "x" * 200]]
    assert np.allclose(made.vectors[:3], [direction(t) for t in "cba"], atol=1e-6)
    assert made.complete.tolist() == [True, True, True, False]
    assert (await cached.embed(["x" * 200])).complete.tolist() == [False]
    assert (cached.identity, cached.dimension) == ("hash", DIMENSION)


@given(texts=st.lists(st.text("ab", max_size=3), min_size=1, max_size=60), room=st.integers(1, 3000))
def test_the_cache_never_exceeds_its_bytes_and_never_lies(texts, room):
    cached = CachedEmbedder(wrap(hashed_all), max_bytes=room)

    async def scenario() -> None:
        for text in texts:
            made = await cached.embed([text, text[:1]])
            assert np.allclose(made.vectors, [direction(text), direction(text[:1])], atol=1e-6)
            assert 0 <= cached.bytes <= room

    asyncio.run(scenario())
    cached.clear()
    assert cached.bytes == 0 and len(cached) == 0


async def test_the_least_recently_used_text_goes_first():
    counted = Counted()
    cached = CachedEmbedder(wrap(counted), max_bytes=3 * (400 + 1 + DIMENSION * 4))
    for text in "abcad":
        await cached.embed([text], None)
    await cached.embed(["a", "b"], None)
    assert counted.batches == [["a"], ["b"], ["c"], ["d"], ["b"]]


@pytest.mark.parametrize("texts", [["a"], ["a", "b"]])
async def test_what_is_being_embedded_while_all_is_forgotten_is_not_remembered(texts):
    """A text of a tenant that was erased meanwhile stayed in memory, and went to the disk with the others."""
    cached = CachedEmbedder(Slow())
    embedding = asyncio.create_task(cached.embed(texts))
    await cached.inner.asked.wait()
    cached.clear()
    cached.inner.go.set()
    await embedding
    assert (len(cached), cached.bytes) == (0, 0)
    await cached.embed(texts)
    assert len(cached) == len(texts)


async def test_what_is_remembered_survives_the_process_for_the_same_model_only(tmp_path):
    first, counted = CachedEmbedder(wrap(hashed_all)), Counted()
    before = await first.embed(["a", "x" * 200, "\ud800"])
    first.save(tmp_path / "vectors")
    second = CachedEmbedder(wrap(counted))
    assert second.load(tmp_path / "vectors") == 2
    after = await second.embed(["a", "x" * 200])
    assert np.array_equal(after.vectors, before.vectors[:2]) and after.complete.tolist() == [True, False]
    assert not counted.batches
    other = CachedEmbedder(CallableEmbedder(hashed_all, identity="other", dimension=DIMENSION))
    assert other.load(tmp_path / "vectors") == 0
    assert second.load(tmp_path / "nowhere") == 0


async def test_what_is_remembered_in_double_precision_is_the_same_after_a_restart(tmp_path):
    class Double(WordEmbedder):
        async def embed(self, texts):
            made = await super().embed(texts)
            return Embedded(made.vectors.astype(np.float64), made.complete)

    first, second = CachedEmbedder(Double()), CachedEmbedder(Double())
    before = [await first.embed([text]) for text in ("a", "b")]
    first.save(tmp_path / "vectors")
    assert second.load(tmp_path / "vectors") == 2
    for one, text in zip(before, ("a", "b"), strict=True):
        assert np.array_equal((await second.embed([text])).vectors, one.vectors)
    assert not second.inner.embedded


@pytest.mark.parametrize("at", [0, 9, 40, -20, -1])
async def test_a_damaged_file_of_vectors_is_not_believed(tmp_path, at):
    cached, path = CachedEmbedder(wrap(hashed_all)), tmp_path / "vectors"
    await cached.embed(["a", "b"])
    cached.save(path)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert CachedEmbedder(wrap(hashed_all)).load(path) == 0
    path.write_bytes(data[: len(data) // 2])
    assert CachedEmbedder(wrap(hashed_all)).load(path) == 0


BAD_ROWS = {
    "NaN": lambda n: np.full((n, DIMENSION), np.nan),
    "zero": lambda n: np.zeros((n, DIMENSION)),
    "too few": lambda n: np.ones((n - 1, DIMENSION)),
    "too wide": lambda n: np.ones((n, DIMENSION + 1)),
    "ragged": lambda n: [[1.0], [1.0, 2.0]],
    "text": lambda n: "vector",
    "nothing": lambda n: None,
}


@pytest.mark.parametrize("bad", BAD_ROWS)
async def test_what_a_foreign_model_gets_wrong_is_an_error_not_a_neighbour(bad):
    async def wrong(texts: Sequence[str]):
        return BAD_ROWS[bad](len(texts))

    with pytest.raises(ValueError, match="embedder returned"):
        await wrap(wrong).embed(["a", "b"])


def test_a_callable_that_cannot_work_is_refused_at_construction():
    good = {"identity": "m", "dimension": 3, "max_chars": 10}
    for field, value in {"identity": "", "dimension": 0, "max_chars": 0}.items():
        with pytest.raises(ConfigurationError, match=field):
            CallableEmbedder(hashed_all, **{**good, field: value})
    with pytest.raises(ConfigurationError, match="give an async function, such as"):
        CallableEmbedder(len, **good)  # type: ignore[arg-type]


async def test_a_bare_callable_is_named_after_itself_and_learns_its_dimension():
    bare = CallableEmbedder(hashed_all)
    with pytest.raises(RuntimeError, match="start"):
        await bare.embed(["a"])
    await bare.start()
    assert (bare.identity, bare.dimension) == ("embedding_server.hashed_all", DIMENSION)
    assert (await bare.embed(["a" * 1001, "a"])).complete.tolist() == [False, True]


@pytest.fixture
def server():
    pytest.importorskip("aiohttp")
    server = EmbeddingServer()
    yield server
    server.close()


@pytest.fixture
async def remote(server):
    remote = HttpEmbedder(server.url, model="m", window=64, api_key="secret", batch=2)
    await remote.start()
    yield remote
    await remote.aclose()


async def test_the_request_is_the_openai_one_and_answers_are_put_in_order(server, remote):
    made = await remote.embed(["a", "b", "c"])
    assert np.allclose(made.vectors, [direction(t) for t in "abc"], atol=1e-6)
    assert [body["input"] for body, _ in server.requests] == [["probe"], ["a", "b"], ["c"]]
    body, headers = server.requests[1]
    assert body == {"model": "m", "encoding_format": "float", "input": ["a", "b"]}
    assert headers["Authorization"] == "Bearer secret"
    assert "secret" not in repr(remote) + remote.identity


async def test_a_long_text_counts_as_read_where_the_server_counted_fewer_tokens_than_its_window(remote):
    made = await remote.embed(["x" * 100])  # 50 tokens, says the server
    assert made.complete.tolist() == [True]
    assert (await remote.embed(["x" * 200])).complete.tolist() == [False]


SPOILT = {
    "an error object": lambda answer: {"error": "overloaded"},
    "a list": lambda answer: [1],
    "one row too few": lambda answer: {**answer, "data": answer["data"][1:]},
    "another dimension": lambda answer: {
        "data": [{"index": r["index"], "embedding": [1.0]} for r in answer["data"]]
    },
    "no vectors": lambda answer: {"data": [{"index": 0}]},
}


@pytest.mark.parametrize("how", SPOILT)
async def test_a_server_that_answers_something_else_is_an_error(server, remote, how):
    server.spoil = SPOILT[how]
    with pytest.raises(ValueError):
        await remote.embed(["a", "b"])


async def test_a_server_that_refuses_or_is_gone_is_an_error(server, remote):
    server.status = 429
    with pytest.raises(HttpFault, match="status 429"):
        await remote.embed(["a"])
    gone = HttpEmbedder("http://127.0.0.1:9/v1", model="m")
    with pytest.raises(HttpFault, match=r"127\.0\.0\.1:9"):
        await gone.start()
    with pytest.raises(RuntimeError, match="start"):
        await gone.embed(["a"])
    await gone.aclose()


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "http://user:pass@host/v1"])
def test_addresses_that_cannot_work_are_refused_without_repeating_a_password(url):
    with pytest.raises(ConfigurationError) as caught:
        HttpEmbedder(url, model="m")
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (lambda: HttpEmbedder("http://127.0.0.1:9", model="m"), "aiohttp"),
        (lambda: SentenceTransformersEmbedder("nowhere"), "sentence_transformers"),
    ],
)
async def test_a_missing_package_names_what_brings_it(monkeypatch, make, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=r"pip install ('cachelayer\[|sentence)"):
        await make().start()


OF_LONG_AGO = """
from types import SimpleNamespace

class Module:
    auto_model = SimpleNamespace(config=SimpleNamespace(_commit_hash="0123456789abcdef"))

class SentenceTransformer(list):
    device, max_seq_length = "cpu", 256

    def __init__(self, name, device, revision):
        super().__init__([Module])

    def get_sentence_embedding_dimension(self):
        return 7
"""


async def test_releases_of_sentence_transformers_before_5_4_are_understood(tmp_path, monkeypatch):
    """They know the dimension by another name; `start` raised an AttributeError."""
    (tmp_path / "sentence_transformers.py").write_text(OF_LONG_AGO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    embedder = SentenceTransformersEmbedder("some/model")
    await embedder.start()
    assert embedder.dimension == 7 and embedder.identity == "model@0123456789ab/st/256/fp32"
    await embedder.aclose()
    monkeypatch.delitem(sys.modules, "sentence_transformers")
