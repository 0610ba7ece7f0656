"""Answers from a server with an OpenAI-style chat API, instead of the simulated one."""

from __future__ import annotations

from typing import Any

from ...errors import CacheLayerError
from ...exact.redis.url import redacted
from ..chats import chat_url, httpx_for, key_headers
from .corpus import Article

_TIMEOUT = 120.0
_SYSTEM = "You are the help desk of Wickley. Answer in at most three sentences, only from this article.\n\n"


class Chat:
    """Writes answers with POST {url}/chat/completions. Sends OPENAI_API_KEY where it is set."""

    def __init__(self, url: str, model: str) -> None:
        httpx = httpx_for("cachelayer demo --backend", "demo")
        self._url, self._model = chat_url(httpx, url), model
        self._named = redacted(self._url)
        self._failure = httpx.HTTPError
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, headers=key_headers())

    async def write(self, question: str, article: Article) -> str:
        """The model's answer. Raises CacheLayerError if the server's reply is not one."""
        messages = [
            {"role": "system", "content": f"{_SYSTEM}{article.title}\n{article.body}"},
            {"role": "user", "content": question},
        ]
        body = {"model": self._model, "messages": messages, "temperature": 0}
        try:
            response = await self._client.post(self._url, json=body)
            if not response.is_success:  # httpx itself would say so with the whole URL
                raise CacheLayerError(f"{self._named}: {response.status_code} {response.reason_phrase}")
            reply: Any = response.json()
            return str(reply["choices"][0]["message"]["content"]).strip()
        except (self._failure, ValueError) as fault:
            raise CacheLayerError(f"{self._named}: {fault or type(fault).__name__}") from fault
        except (KeyError, IndexError, TypeError) as fault:
            raise CacheLayerError(f"{self._named}: the reply has no choices[0].message.content") from fault

    async def aclose(self) -> None:
        await self._client.aclose()
