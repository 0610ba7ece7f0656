"""Any model of the sentence-transformers library, on CPU or CUDA."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import whole
from ...errors import ConfigurationError
from ...flow import forks
from ...types import Embedded
from .checks import CHARS_PER_TOKEN, check_texts, normalized, readable
from .covered import default_tokens, graphed, window_of, within
from .graphs import GraphedBert
from .guess import WordsGuess
from .sources import DEFAULT_DIMENSION


class SentenceTransformersEmbedder:
    """`SentenceTransformer(model)`, loaded by `start`; one thread owns the model and with it the CUDA stream.

    `model` is a name on the hub or a directory. On CUDA the weights are float16 unless `half=False`, and a BERT runs as
    CUDA graphs (`graphs.py`), which gives the same vectors sooner. Batches gain much here: CacheLayer puts
    BatchedEmbedder in front. `identity` and `dimension` are known once started.
    """

    lanes = 1

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        revision: str | None = None,
        half: bool | None = None,
        batch: int = 64,
    ) -> None:
        whole("batch", batch, 1)
        self.identity, self.dimension = "", 0
        self._name, self._device, self._revision = str(model), device, revision
        self._half, self._batch = half, batch
        self._model: Any = None
        self._graphed: GraphedBert | None = None
        self._guess: WordsGuess | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._loading = forks.lock()

    async def start(self) -> None:
        """Load the model off the loop."""
        if self._model is None:
            await asyncio.to_thread(self._load)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """ValueError for a bad batch, RuntimeError before `start`."""
        check_texts(texts)
        if self._model is None or self._pool is None:
            raise RuntimeError("the embedder is not started: await embedder.start() first")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._encode, list(texts))

    def guess(self, text: str) -> NDArray[np.float32] | None:
        """See `OnnxEmbedder.guess`: made on the CPU, without the model."""
        return None if self._guess is None else self._guess(text)

    async def lacks_words(self, text: str) -> bool:
        """Whether the text fits the window, but holds a word that the model cannot spell."""
        if self._pool is None:
            return False
        # on the embedder's thread: a tokenizer that another thread sets up meanwhile raises
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._lacks_words, text)

    def _lacks_words(self, text: str) -> bool:
        model = self._model
        if model is None or len(text) > window_of(model) * CHARS_PER_TOKEN:
            return False
        ids = model.tokenizer(readable(text), truncation=False, verbose=False)["input_ids"]
        return model.tokenizer.unk_token_id in ids and len(ids) <= window_of(model)

    async def aclose(self) -> None:
        """Release thread and model."""
        pool, self._pool, self._model, self._graphed, self._guess = self._pool, None, None, None, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> None:
        with self._loading:
            if self._model is not None:
                return
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as fault:
                remedy = (
                    "pip install sentence-transformers; it brings torch and is in no extra of this package"
                )
                raise ConfigurationError("embedder", "SentenceTransformersEmbedder", remedy) from fault
            model: Any = SentenceTransformer(self._name, device=self._device, revision=self._revision)
            cuda = str(model.device).startswith("cuda")
            half = cuda if self._half is None else self._half
            # releases before 5.4 have only the longer name
            ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
            self.dimension = int(ask())
            # of a large model no weights are copied and hashed as it starts
            tokens = default_tokens(model) if self.dimension == DEFAULT_DIMENSION else None
            if half:
                model.half()
            precision = "fp16" if half else "fp32"
            self.identity = (
                f"{Path(self._name).name}@{self._content(model)}/st/{model.max_seq_length}/{precision}"
            )
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="cachelayer-st")
            self._graphed = self._pool.submit(graphed, model, self._batch).result()
            self._guess = WordsGuess(tokens) if tokens is not None else None
            self._model = model

    def _content(self, model: Any) -> str:
        """The hub's commit, or for a directory a hash of its weights."""
        commit = getattr(getattr(model[0], "auto_model", None), "config", None)
        commit = getattr(commit, "_commit_hash", None)
        if commit:
            return str(commit)[:12]
        digest = hashlib.sha256()
        for path in sorted(Path(self._name).glob("*.safetensors")):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:12]

    def _encode(self, texts: list[str]) -> Embedded:
        model, graphs = self._model, self._graphed
        window = window_of(model)
        longest = window * CHARS_PER_TOKEN
        parts = [readable(text[:longest]) for text in texts]
        bare = {"return_attention_mask": False, "return_token_type_ids": False}
        read = model.tokenizer(parts, truncation=False, padding=False, verbose=False, **bare)["input_ids"]
        if graphs is not None:
            rows = graphs.encode([within(ids, window) for ids in read])
        else:
            rows = model.encode(parts, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        unknown = model.tokenizer.unk_token_id
        whole = (len(ids) <= window and unknown not in ids for ids in read)
        complete = [ok and len(text) <= longest for ok, text in zip(whole, texts, strict=True)]
        return Embedded(normalized(rows, len(texts), self.dimension), np.array(complete))
