"""URLs: what they mean, and that no message shows a password."""

from __future__ import annotations

import pytest

from cachelayer import CacheLayer
from cachelayer.errors import ConfigurationError
from cachelayer.exact.redis import RedisStore
from cachelayer.exact.redis.url import Target, parse, redacted


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("redis://h", Target((("h", 6379),))),
        ("redis://h:1/2", Target((("h", 1),), db=2)),
        ("redis://", Target((("localhost", 6379),))),
        ("redis://[::1]:7", Target((("::1", 7),))),
        ("redis://me:p%40ss@h", Target((("h", 6379),), username="me", password="p@ss")),
        ("redis://me@h", Target((("h", 6379),), username="me")),
        ("redis://:secret@h", Target((("h", 6379),), password="secret")),
        ("rediss://h?ssl_cert_reqs=none", Target((("h", 6379),), tls={"ssl_cert_reqs": "none"})),
        ("unix:///run/r.sock?db=3", Target((), path="/run/r.sock", db=3)),
        ("unix:///run/a%20b%25.sock", Target((), path="/run/a b%.sock")),
        ("redis+cluster://a:1,b:2", Target((("a", 1), ("b", 2)), cluster=True)),
        ("redis://a:1?cluster=true", Target((("a", 1),), cluster=True)),
        ("redis://h?lag=1s500ms", Target((("h", 6379),), lag=1.5)),
        ("rediss+cluster://a", Target((("a", 6379),), cluster=True, tls={})),
    ],
)
def test_a_url_names_servers_credentials_and_database(url, target):
    assert parse(url) == target


@pytest.mark.parametrize(
    "url",
    [
        "http://u:secret@h", "redis://u:secret@h:x", "redis://u:secret@h/x", "redis://u:secret@h?color=red",
        "redis+cluster://u:secret@h/1", "unix://u:secret@?cluster=true", "unix://u:secret@",
        "redis://u:secret@h?ssl_certfile=x",
        "redis://u:secret@h:0", "redis://u:secret@h:99999", "rediss://u:secret@h?ssl_cert_reqs=maybe",
        "rediss://u:secret@h?ssl_check_hostname=False", "rediss://u:secret@h?ssl_keyfile=x",
        "redis://u:secret/secret@h:1/0", "redis://u:secret?secret@h:1/0", "redis://u:secret#secret@h:1/0",
        "redis://u:1#secret@h:1/0", "redis://u:secret[secret@h:1/0", "redis://u:secret/s@h?cluster=true",
        "redis://u:secret\u2100@h:1/0", "u:secret@h:1/0", "redis:u:secret@h:1/0", "redis://h?username=u&password=secret",
        "unix://u:secret/secret@/run/r.sock", "redis://u:secret@a:1,b:2",
        "redis://u:secret@h?cluster=yes", "redis://u:secret@h?lag=soon", "redis://u:secret@h?lag=19ms",
    ],
)  # fmt: skip
def test_a_url_that_cannot_work_is_refused_without_its_password(url):
    with pytest.raises(ConfigurationError) as fault:
        parse(url)
    assert fault.value.field == "store"
    assert "secret" not in str(fault.value)


def test_a_url_of_which_a_part_would_be_left_out_is_refused():
    for url, remedy in (
        ("redis://a:1,b:2", "name one server"),
        ("redis+sentinel://a:26379/mine", "name the primary"),
        ("unix://run/redis.sock", "unix:///"),
        ("redis://h/0#note", "%23"),
    ):
        with pytest.raises(ConfigurationError, match=remedy):
            parse(url)


def test_nothing_that_is_printed_shows_a_password():
    url = "redis://u:s@cret@h:1/0"
    store = RedisStore(url)
    assert "cret" not in repr(store) + repr(parse(url)) + redacted(url) + str(store.stats())


def test_what_is_no_store_is_named_without_what_it_holds():
    for given in (b"redis://u:secret@h", {"host": "h", "password": "secret"}):
        for made in (RedisStore, lambda store: CacheLayer(store=store, semantic=False)):
            with pytest.raises(
                ConfigurationError, match=f"^store=<{type(given).__name__}>: give a URL"
            ) as fault:
                made(given)
            assert "secret" not in str(fault.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prefix", "a b"), ("prefix", "a{b}"), ("prefix", ""), ("prefix", "a*"), ("schema", -1), ("schema", 2**32),
        ("compress_above", -1), ("max_connections", 2), ("signing_keys", [b"short"]), ("encrypt_keys", [b"k" * 17]),
        ("prefix", None), ("signing_keys", None), ("signing_keys", b"k" * 32), ("trust_reloaded", "false"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_work_is_refused_at_construction(field, value):
    with pytest.raises(ConfigurationError) as fault:
        RedisStore("redis://h", **{field: value})
    assert fault.value.field == field


def test_a_driver_that_is_too_old_is_told_when_the_layer_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("hiredis.PushNotification")  # as before 3.2
    with pytest.raises(ConfigurationError, match=r"hiredis='3\..* pip install 'hiredis>=3.2'"):
        CacheLayer(store="redis://127.0.0.1:1/0")
