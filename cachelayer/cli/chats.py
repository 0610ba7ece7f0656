"""An OpenAI-style chat server that a command asks: what is wrong with its URL or a key is said before."""

from __future__ import annotations

import os
import re
from types import ModuleType

from ..errors import CacheLayerError, MissingExtra, broken
from ..exact.redis.url import redacted

KEY = re.compile("[!-~]([ -~]*[!-~])?")
"""What can be sent as a key."""


def httpx_for(feature: str, extra: str) -> ModuleType:
    """The package. Raises MissingExtra."""
    try:
        import httpx
    except ImportError as fault:
        raise MissingExtra(feature, "httpx", extra, broken("httpx", fault)) from fault
    return httpx


def chat_url(httpx: ModuleType, url: str) -> str:
    """The chat URL of a server, given that or its base URL. Raises CacheLayerError, which tells no password."""
    base = url.rstrip("/")
    whole = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
    try:
        read = httpx.URL(whole)
        sound = read.scheme in ("http", "https") and read.host
    except (httpx.InvalidURL, ValueError):  # whose messages quote it
        sound = False
    if not sound:
        raise CacheLayerError(f"{redacted(url)}: not the URL of a server; give one like http://host:port/v1")
    return whole


def key_headers() -> dict[str, str]:
    """What proves who asks, if OPENAI_API_KEY is set. Raises CacheLayerError, where a client's fault would quote it."""
    key = os.environ.get("OPENAI_API_KEY")
    if key and not KEY.fullmatch(key):
        raise CacheLayerError(
            "what the variable OPENAI_API_KEY holds cannot be sent as a key; "
            "give plain ASCII, with no line break or space at either end"
        )
    return {"Authorization": f"Bearer {key}"} if key else {}
