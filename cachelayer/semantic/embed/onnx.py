"""Sentence encoders on ONNX Runtime: one thread per text, as many texts at once as there are workers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import either, whole
from ...errors import ConfigurationError
from ...flow import forks
from ...flow.pool import Pool
from ...types import Embedded
from ..pairs.late_interaction import Tokens
from .bert import Precision
from .checks import check_texts
from .guess import WordsGuess
from .prepare import Prepared, prepare
from .session import Tokenized, open_session, open_tokenizer
from .sources import DEFAULT_DIMENSION

RECENT: Final = 32
"""Texts encoded last whose states are at hand, so that a lookup that is in doubt need not encode its own text twice."""


class OnnxEmbedder:
    """A BERT-type sentence encoder, by default all-MiniLM-L6-v2 quantized to int8 (384 dimensions).

    `model` is a directory in the layout of sentence-transformers, a name on the hub, or None. The model is
    prepared by `start` where it is not in the cache directory yet (`download=False` forbids fetching it).
    `workers` texts are encoded at once, one thread each (default: one per core).
    `identity` is empty until started; `dimension` is 0 until then unless the model is the default.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        workers: int | None = None,
        precision: Precision = "int8",
        download: bool = True,
    ) -> None:
        if workers is not None:
            whole("workers", workers, 1, ", or None for one per core")
        if model is not None and not (isinstance(model, str | Path) and str(model)):
            raise ConfigurationError("model", model, "name a model or its directory, or None for the default")
        if precision not in ("int8", "fp32"):
            raise ConfigurationError("precision", precision, "give 'int8' or 'fp32'")
        either("download", download)
        self.identity = ""
        self.dimension = DEFAULT_DIMENSION if model is None else 0
        self._model, self._precision, self._download = model, precision, download
        self._encoder: _Encoder | None = None
        self._pool = Pool(workers, "cachelayer-embed")
        self._loading = forks.lock()
        self._calls = self._items = self._under_way = 0

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.identity or self._model or 'default'}, workers={self._pool.workers})"

    @property
    def shows_tokens(self) -> bool:
        """Whether a close reading makes sense of its tokens: of the default model's, which it was fitted to, wherever
        they come from. False before `start`."""
        return self._encoder is not None and self._encoder.guess is not None

    async def start(self) -> None:
        """Prepare and load the model off the loop; a second call returns at once."""
        if self._encoder is None:
            await asyncio.to_thread(self._load)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Vectors in the order of `texts`; ValueError for a bad batch, RuntimeError before `start`."""
        check_texts(texts)
        if self._encoder is None:
            raise RuntimeError("the embedder is not started: await embedder.start() first")
        run, encode, share = self._pool.run, self._encoder.encode, -(-len(texts) // self._pool.workers)
        parts = [texts[i : i + share] for i in range(0, len(texts), share)]
        self._calls, self._items = self._calls + len(parts), self._items + len(texts)
        self._under_way += len(parts)
        try:
            if len(parts) == 1:
                return await run(encode, texts)
            return _joined(await asyncio.gather(*(run(encode, part) for part in parts)))
        finally:
            self._under_way -= len(parts)

    async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
        """Each text token by token; None if the model cannot read it whole. Of the default model alone: what its
        states mean was learned. RuntimeError before `start`."""
        if self._encoder is None:
            raise RuntimeError("the embedder is not started: await embedder.start() first")
        if not self.shows_tokens:
            return [None] * len(texts)
        read = self._encoder.read_tokens
        return list(await asyncio.gather(*(self._pool.run(read, text) for text in texts)))

    def guess(self, text: str) -> NDArray[np.float32] | None:
        """A vector (d,) near the one that `embed` makes, in microseconds; None if the text does not fit the window,
        with other weights than the default model's, from which that was learned, and before `start`."""
        guess = None if self._encoder is None else self._encoder.guess
        return None if guess is None else guess(text)

    async def lacks_words(self, text: str) -> bool:
        """Whether the text fits the window, but holds a word that the model cannot spell."""
        return self._encoder is not None and self._encoder.tokens.lacks_words(text)

    def clear(self) -> None:
        """Forget the texts that were read last."""
        if self._encoder is not None:
            self._encoder.clear()

    def stats(self) -> dict[str, int]:
        """Batches encoded by one thread each, texts in them, batches that wait for a thread."""
        waiting = max(self._under_way - self._pool.workers, 0)
        return {"calls": self._calls, "items": self._items, "waiting": waiting}

    async def aclose(self) -> None:
        """Let go of threads and model; `start` brings them back."""
        self._encoder = None
        self._pool.close()

    def _load(self) -> None:
        with self._loading:
            if self._encoder is None:
                prepared = prepare(self._model, precision=self._precision, download=self._download)
                encoder = _Encoder(prepared)
                self.identity, self.dimension = prepared.identity, prepared.dimension
                self._encoder = encoder


class _Run(NamedTuple):
    ids: NDArray[np.int64]
    complete: bool
    vector: NDArray[np.float32]
    middle: NDArray[np.float32]
    last: NDArray[np.float32]


class _Encoder:
    """Model and tokenizer; `encode` may run on many threads at once."""

    def __init__(self, prepared: Prepared) -> None:
        self._session = open_session(str(prepared.model))
        self.tokens = Tokenized(open_tokenizer(prepared.tokenizer.read_bytes()), prepared.window)
        self.guess = WordsGuess(self.tokens) if prepared.default else None
        self._recent: OrderedDict[str, _Run] = OrderedDict()
        self._lock = forks.lock()

    def encode(self, texts: Sequence[str]) -> Embedded:
        runs = [self._run(text) for text in texts]
        if len(texts) == 1:
            with self._lock:  # a lookup's text may be asked for token by token in a moment
                self._recent[texts[0]] = runs[0]
                if len(self._recent) > RECENT:
                    self._recent.popitem(last=False)
            return Embedded(runs[0].vector, np.array([runs[0].complete]))
        return Embedded(
            np.concatenate([run.vector for run in runs]), np.array([run.complete for run in runs])
        )

    def read_tokens(self, text: str) -> Tokens | None:
        with self._lock:
            known = self._recent.get(text)
        run = known or self._run(text)
        if not run.complete or run.ids.size < 3:
            return None
        states = np.concatenate([run.middle, run.last])[:, 1:-1]
        states /= np.linalg.norm(states, axis=-1, keepdims=True)
        return Tokens(run.ids[1:-1], states.astype(np.float16))

    def clear(self) -> None:
        with self._lock:
            self._recent.clear()

    def _run(self, text: str) -> _Run:
        ids, complete = self.tokens(text)
        array = np.array([ids], dtype=np.int64)
        return _Run(array[0], complete, *self._session.run(["vector", "middle", "last"], {"ids": array}))


def _joined(parts: Sequence[Embedded]) -> Embedded:
    return Embedded(
        vectors=np.concatenate([part.vectors for part in parts]),
        complete=np.concatenate([part.complete for part in parts]),
    )
