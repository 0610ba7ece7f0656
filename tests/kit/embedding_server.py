"""An embeddings server on loopback whose vectors are a pure function of the text, and whose manners can be spoilt."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSION = 24
WINDOW = 64


def hashed(text: str) -> np.ndarray:
    """A vector of length 3, by the text's hash."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")
    row = np.random.default_rng(seed).standard_normal(DIMENSION)
    return 3 * row / np.linalg.norm(row)


async def hashed_all(texts: Sequence[str]) -> np.ndarray:
    return np.stack([hashed(text) for text in texts])


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128
    """Callers who come at once; beyond five, as is usual, some would find their connection reset."""


class EmbeddingServer:
    """Serves POST /v1/embeddings; `spoil` changes an answer, `status` refuses, `requests` are kept."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.status = 200
        self.spoil: Any = lambda answer: answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((body, dict(self.headers)))
                rows = [{"index": i, "embedding": hashed(t).tolist()} for i, t in enumerate(body["input"])]
                tokens = sum(len(text.encode()) for text in body["input"]) // 2
                answer = {"data": rows[::-1], "usage": {"prompt_tokens": tokens}}
                content = json.dumps(outer.spoil(answer)).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                """Quiet."""

        self._server = _Listener(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
