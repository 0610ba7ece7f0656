"""What a response's head says: whether it may be kept, why not, and for how long it is fresh."""

from __future__ import annotations

import pytest
from cachelayer.adapters.asgi.storable import fresh_for, judge

JSON = ("content-type", "application/json")
EVENTS = ("content-type", "text/event-stream")


@pytest.mark.parametrize(
    ("status", "headers", "why"),
    [
        (200, [JSON], ""),
        (200, [("content-type", "application/problem+json; charset=utf-8")], ""),
        (200, [EVENTS], ""),
        (200, [], "content-type"),
        (200, [("content-type", "text/html")], "content-type"),
        (404, [JSON], "status 404"),
        (200, [JSON, ("content-encoding", "identity")], ""),
        (200, [JSON, ("content-encoding", " GZIP ")], ""),
        (200, [JSON, ("content-encoding", "br")], "content-encoding"),
        (200, [EVENTS, ("content-encoding", "identity")], ""),
        (200, [EVENTS, ("content-encoding", "gzip")], "content-encoding"),
        (200, [JSON, ("cache-control", "max-age=5, No-Store")], "cache-control"),
        (200, [JSON, ("cache-control", "max-age=5"), ("cache-control", "private")], "cache-control"),
        (200, [JSON, ("vary", "accept-encoding, X-User")], "vary x-user"),
        (200, [JSON, ("vary", "*")], "vary *"),
        (200, [JSON, ("vary", "Origin, ,X-Tenant")], ""),
        (200, [JSON, ("set-cookie", "session=1")], "set-cookie"),
        (200, [JSON, ("set-cookie", "__cf_bm=1; path=/")], ""),
        (200, [JSON, ("trailer", "expires")], "trailers"),
    ],
)
def test_what_may_be_kept(status: int, headers: list[tuple[str, str]], why: str) -> None:
    judged = judge(status, [(n.encode(), v.encode()) for n, v in headers], frozenset({b"x-tenant"}))
    assert judged.why_not == why


def test_of_several_reasons_the_first_is_named() -> None:
    told = [
        (b"set-cookie", b"a=1"),
        (b"cache-control", b"no-store"),
        (b"vary", b"x"),
        (b"content-encoding", b"br"),
    ]
    assert judge(500, told, frozenset()).why_not == "status 500"
    for begin, why in enumerate(["set-cookie", "cache-control", "vary x", "content-type"]):
        assert judge(200, told[begin:], frozenset()).why_not == why


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([JSON], None),
        ([JSON, ("cache-control", "max-age=60")], 60),
        ([JSON, ("cache-control", "max-age=60"), ("cache-control", "max-age=20")], 20),
        ([JSON, ("cache-control", "max-age=20"), ("cache-control", "public")], 20),
        ([JSON, ("cache-control", "max-age=60, max-age=20")], 20),
        ([JSON, ("cache-control", "s-maxage=90, max-age=20")], 90),
        ([JSON, ("cache-control", "max-age=soon")], 0),
        ([JSON, ("cache-control", "no-cache"), ("cache-control", "max-age=60")], 0),
        ([EVENTS, ("cache-control", "no-cache")], None),
        ([JSON, ("cache-control", "max-age=60"), ("age", "45")], 15),
        ([JSON, ("cache-control", "max-age=60"), ("age", "75")], 0),
        ([JSON, ("cache-control", "max-age=60"), ("age", "45, 5")], 15),
        ([JSON, ("age", "45"), ("age", "5"), ("age", "-1"), ("cache-control", "max-age=60")], 15),
        ([JSON, ("expires", "0")], 0),
        ([JSON, ("expires", "0"), ("cache-control", "max-age=60")], 60),
    ],
)
def test_for_how_long_it_says_it_is_fresh(headers: list[tuple[str, str]], seconds: float | None) -> None:
    judged = judge(200, [(n.encode(), v.encode()) for n, v in headers], frozenset())
    assert judged.why_not == "" and fresh_for(judged.terms) == seconds
