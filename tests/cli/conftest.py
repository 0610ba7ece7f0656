"""One help desk for all tests of the demo, with the real embedder: preparing it takes a second."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cachelayer.cli.demo.corpus import Corpus, load
from cachelayer.cli.demo.desk import Desk
from cachelayer.semantic.embed.onnx import OnnxEmbedder


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return load()


@pytest.fixture(scope="session")
def embedder() -> Iterator[OnnxEmbedder]:
    embedder = OnnxEmbedder()
    asyncio.run(embedder.start())
    yield embedder
    asyncio.run(embedder.aclose())


@pytest.fixture(scope="session")
def prepared(corpus: Corpus, embedder: OnnxEmbedder) -> Desk:
    desk = Desk(corpus, embedder, think=0)
    asyncio.run(desk.prepare())
    return desk


@pytest.fixture
def desk(prepared: Desk) -> Desk:
    """Answers at once; has not worked yet."""
    prepared.worked.clear()
    return prepared
