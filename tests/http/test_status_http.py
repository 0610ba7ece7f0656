"""The header `Cache-Status`: whatever a detail says, it stays one token or one string (RFC 8941, section 3.3)."""

from __future__ import annotations

import asyncio
import re

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi.status import bypass, hit
from hypothesis import given
from hypothesis import strategies as st
from upstream import Upstream

from cachelayer import CacheLayer

_ITEM = re.compile(rb"cachelayer; fwd=bypass; detail=(?:[A-Za-z][A-Za-z0-9_./:-]*|\"[ !#-\[\]-~]*\")")


@given(st.text() | st.text('ab_-:./ "\\\r\n\x7fé'))
def test_no_detail_ends_the_header_or_begins_another(detail: str) -> None:
    name, value = bypass(detail)
    assert name == b"cache-status" and _ITEM.fullmatch(value)


@pytest.mark.parametrize(
    ("detail", "written"),
    [
        ("no-principal", b"no-principal"),
        ("no_key", b"no_key"),
        ("415 is not known", b'"415 is not known"'),
        ("9lives", b'"9lives"'),
        ('say "no"\r\nx: y', b'"say  no   x: y"'),
        ("é", b'" "'),
        ("", b'""'),
    ],
)
def test_what_is_no_token_is_a_string_without_what_cannot_stand_in_one(detail: str, written: bytes) -> None:
    assert bypass(detail)[1] == b"cachelayer; fwd=bypass; detail=" + written


def test_a_hit_tells_whole_seconds_and_nothing_where_nobody_knows() -> None:
    assert hit(59.9, "memory")[1] == b"cachelayer; hit; ttl=59; detail=memory"
    assert hit(-1.5, "memory")[1] == b"cachelayer; hit; ttl=-1; detail=memory"
    assert hit(None, "redis")[1] == b"cachelayer; hit; detail=redis"


async def test_what_was_declared_invalid_while_it_was_made_is_not_called_stored(
    c: Client, upstream: Upstream, layer: CacheLayer
) -> None:
    """It was: an answer is sent before it is kept, and whether it still might be was not looked at."""
    asked = {"say": "hi", "hold": "g"}
    call = c.chatting(asked)
    while not upstream.requests:
        await asyncio.sleep(0)
    await layer.erase()
    upstream.gate("g").set()
    assert "kept:invalidated" in (await call.wait()).header("cache-status")
    assert not (await c.chat(asked)).hit
