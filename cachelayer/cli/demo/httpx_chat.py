"""Answers from a server with an OpenAI-style chat API, instead of the simulated one."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from ...errors import CacheLayerError, MissingExtra, broken
from .corpus import Article

_TIMEOUT = 120.0
_SYSTEM = "You are the help desk of Wickley. Answer in at most three sentences, only from this article.\n\n"


class Chat:
    """Writes answers with POST {url}/chat/completions. Sends OPENAI_API_KEY where it is set."""

    def __init__(self, url: str, model: str) -> None:
        base = url.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._model = model
        httpx = _httpx()
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._failure = httpx.HTTPError
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, headers=headers)

    async def write(self, question: str, article: Article) -> str:
        """The model's answer. Raises CacheLayerError if the server's reply is not one."""
        messages = [
            {"role": "system", "content": f"{_SYSTEM}{article.title}\n{article.body}"},
            {"role": "user", "content": question},
        ]
        body = {"model": self._model, "messages": messages, "temperature": 0}
        try:
            response = await self._client.post(self._url, json=body)
            reply: Any = response.raise_for_status().json()
            return str(reply["choices"][0]["message"]["content"]).strip()
        except (self._failure, ValueError) as fault:
            raise CacheLayerError(f"{self._url}: {fault or type(fault).__name__}") from fault
        except (KeyError, IndexError, TypeError) as fault:
            raise CacheLayerError(f"{self._url}: the reply has no choices[0].message.content") from fault

    async def aclose(self) -> None:
        await self._client.aclose()


def _httpx() -> ModuleType:
    try:
        import httpx
    except ImportError as fault:
        raise MissingExtra("cachelayer demo --backend", "httpx", "demo", broken("httpx", fault)) from fault
    return httpx
