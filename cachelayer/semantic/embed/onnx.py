"""Sentence encoders on ONNX Runtime: one thread per text, as many texts at once as there are workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import MissingExtra
from ...flow.pool import Pool
from ...types import Embedded
from ..marks import faceless
from .bert import Precision
from .checks import CHARS_PER_TOKEN, check_texts, readable
from .prepare import Prepared, prepare
from .sources import DEFAULT_DIMENSION

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


class OnnxEmbedder:
    """A BERT-type sentence encoder, by default all-MiniLM-L6-v2 quantized to int8 (384 dimensions).

    `model` is a directory in the layout of sentence-transformers, a name on the hub, or None. The model is
    prepared by `start` where it is not in the cache directory yet (`download=False` forbids fetching it).
    `workers` texts are encoded at once, one thread each (default: one per core). `tokens=True` adds token
    vectors (t, 2d) float16, the hidden states after half of the layers and after all, side by side.
    `identity` is empty until started; `dimension` is 0 until then unless the model is the default.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        workers: int | None = None,
        tokens: bool = False,
        precision: Precision = "int8",
        download: bool = True,
    ) -> None:
        self.identity = ""
        self.dimension = DEFAULT_DIMENSION if model is None else 0
        self._model, self._precision, self._download = model, precision, download
        self._tokens = tokens
        self._encoder: _Encoder | None = None
        self._pool = Pool(workers, "cachelayer-embed")
        self._loading = threading.Lock()
        self._calls = self._items = self._under_way = 0

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.identity or self._model or 'default'}, workers={self._pool.workers})"

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
                return await run(encode, texts, self._tokens)
            return _joined(await asyncio.gather(*(run(encode, part, self._tokens) for part in parts)))
        finally:
            self._under_way -= len(parts)

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


class _Encoder:
    """Model and tokenizer; `encode` may run on many threads at once."""

    def __init__(self, prepared: Prepared) -> None:
        self._session = open_session(str(prepared.model))
        self._tokenizer = open_tokenizer(prepared.tokenizer.read_bytes())
        self._window = prepared.window
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._end = self._tokenizer.encode("").ids[-1]

    def encode(self, texts: Sequence[str], tokens: bool) -> Embedded:
        made = [self._one(text, tokens) for text in texts]
        return made[0] if len(made) == 1 else _joined(made)

    def _one(self, text: str, tokens: bool) -> Embedded:
        ids, complete = self._read(text)
        feed, covered = {"ids": np.array([ids], dtype=np.int64)}, np.array([complete])
        if not tokens:
            return Embedded(self._session.run(["vector"], feed)[0], covered)
        vector, middle, last = self._session.run(["vector", "middle", "last"], feed)
        states = np.concatenate([middle[0], last[0]], axis=1).astype(np.float16)
        return Embedded(vector, covered, (states,))

    def _read(self, text: str) -> tuple[list[int], bool]:
        """Token ids, at most a window of them, and whether they cover the whole text.

        A word the vocabulary cannot spell ([UNK]) is not covered: the vector would be the same for any other. A smile
        after a sentence is left out.
        """
        longest = self._window * CHARS_PER_TOKEN
        part = readable(text[:longest])
        ids: list[int] = self._tokenizer.encode(part).ids
        if self._unknown in ids:
            ids = self._tokenizer.encode(faceless(part)).ids
        complete = len(ids) <= self._window and len(text) <= longest and self._unknown not in ids
        if len(ids) > self._window:
            ids = [*ids[: self._window - 1], self._end]
        return ids, complete


def _joined(parts: Sequence[Embedded]) -> Embedded:
    rows = tuple(row for part in parts for row in part.tokens or ())
    return Embedded(
        vectors=np.concatenate([part.vectors for part in parts]),
        complete=np.concatenate([part.complete for part in parts]),
        tokens=rows or None,
    )


def open_session(model: str | bytes) -> InferenceSession:
    """One thread per run; runs on several threads share the session's weights."""
    try:
        import onnxruntime
    except ImportError as fault:
        raise MissingExtra("OnnxEmbedder", "onnxruntime", "local") from fault
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # lengths differ from text to text
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_tokenizer(content: bytes) -> Tokenizer:
    """Without truncation and padding: the caller has to know how long a text really is."""
    try:
        from tokenizers import Tokenizer
    except ImportError as fault:
        raise MissingExtra("OnnxEmbedder", "tokenizers", "local") from fault
    tokenizer = Tokenizer.from_str(content.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
