"""An OpenAI-style `/v1/embeddings` server as an embedder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from ...checks import named, unquoted, whole
from ...durations import Duration, seconds
from ...errors import ConfigurationError
from ...flow.http import Http, HttpFault
from ...flow.loops import left_behind
from ...types import Embedded
from .checks import check_texts, normalized, readable


class HttpEmbedder:
    """POSTs `{"model": ..., "input": [...]}` to `url`/embeddings (https://platform.openai.com/docs/api-reference/embeddings).

    `url` ends before `/embeddings`, as a rule in `/v1`. `api_key` defaults to $OPENAI_API_KEY. `window` is what the
    model reads in full, in tokens: a text is complete where it cannot be longer (a token is a byte at least) or
    where the server counted fewer for the whole request. `start` asks for one vector and learns the dimension.
    `revision` distinguishes models served under one name. No retries: the caller has a budget.
    """

    lanes = 4
    """Calls at once; what comes beyond them shares the next (see BatchedEmbedder)."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        window: int = 8191,
        revision: str = "",
        dimensions: int | None = None,
        api_key: str | None = None,
        timeout: Duration = 30.0,
        connections: int = 16,
        batch: int = 256,
    ) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ConfigurationError("url", url, "give an http(s) address that ends before /embeddings")
        named("model", model)
        if not (api_key is None or isinstance(api_key, str)):
            raise ConfigurationError(
                "api_key", unquoted(api_key), "give it as text, or None for $OPENAI_API_KEY"
            )
        if "@" in url:
            raise ConfigurationError(
                "url", "...@...", "the address becomes part of the identity: pass api_key"
            )
        for name, given in (("batch", batch), ("window", window), ("connections", connections)):
            whole(name, given, 1)
        if dimensions is not None:
            whole("dimensions", dimensions, 1, ", or None for all of the model's")
        self.identity = f"{url.rstrip('/')}#{model}@{revision}/{dimensions or 'full'}"
        self.dimension = dimensions or 0
        self._url, self._window, self._batch = url.rstrip("/"), window, batch
        self._body: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._body["dimensions"] = dimensions
        self._timeout = seconds("timeout", timeout, zero=False)
        self._key, self._connections = api_key, connections
        self._clients: dict[asyncio.AbstractEventLoop, Http] = {}

    def __repr__(self) -> str:
        return f"HttpEmbedder({self.identity})"

    async def start(self) -> None:
        """Ask for one vector. Raises HttpFault, ValueError for an answer that is none."""
        try:
            self.dimension = (await self._post(["probe"], None)).vectors.shape[1]
        except BaseException:  # whoever fails to start is not closed
            await self.aclose()
            raise

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """ValueError for a bad batch or answer, RuntimeError before `start`, HttpFault without an answer."""
        check_texts(texts)
        if not self.dimension:
            raise RuntimeError("the embedder is not started: await embedder.start() first")
        parts = [
            await self._post(texts[i : i + self._batch], self.dimension)
            for i in range(0, len(texts), self._batch)
        ]
        if len(parts) == 1:
            return parts[0]
        vectors = np.concatenate([part.vectors for part in parts])
        return Embedded(vectors, np.concatenate([part.complete for part in parts]))

    async def aclose(self) -> None:
        """Close this loop's connections, and let go of those of loops that have ended."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        await self._let_go()
        if client is not None:
            await client.aclose()

    async def _let_go(self) -> None:
        for client in left_behind(self._clients):
            await client.aclose()  # it waits for nothing there

    async def _post(self, texts: Sequence[str], dimension: int | None) -> Embedded:
        clean = [readable(text) for text in texts]
        answer = await self._asked(orjson.dumps({**self._body, "input": clean}))
        try:
            rows = sorted(answer["data"], key=lambda row: int(row["index"]))
            vectors = [row["embedding"] for row in rows]
            read = (answer.get("usage") or {}).get("prompt_tokens")
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(
                f"{self._url}/embeddings did not answer as an embeddings server: no {fault}"
            ) from fault
        short = isinstance(read, int) and 0 < read < self._window
        complete = np.array([short or len(text.encode()) <= self._window for text in clean])
        return Embedded(normalized(vectors, len(texts), dimension), complete)

    async def _asked(self, body: bytes) -> Any:
        loop = asyncio.get_running_loop()
        http = self._clients.get(loop)
        if http is None:
            await self._let_go()
            http = self._clients[loop] = Http(
                self._url, connect=self._timeout, read=self._timeout, connections=self._connections,
                needed_by="HttpEmbedder", extra="serve",
            )  # fmt: skip
        headers = [(b"content-type", b"application/json"), (b"accept", b"application/json")]
        key = self._key if self._key is not None else os.environ.get("OPENAI_API_KEY", "")
        if key:
            headers.append((b"Authorization", f"Bearer {key}".encode()))
        status, content = await http.whole("POST", "/embeddings", headers=headers, body=body)
        if not 200 <= status < 300:
            raise HttpFault(f"status {status}", f"from {self._url}/embeddings")
        return orjson.loads(content)
