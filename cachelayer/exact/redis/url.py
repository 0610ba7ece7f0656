"""Where the store lives: a URL taken apart and checked, without any I/O.

`redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path?db=0`, and for a Redis Cluster
`redis+cluster://host:port,host:port`, `rediss+cluster://` or `?cluster=true`. `?lag=500ms`: see `Target.lag`.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ...checks import unquoted
from ...durations import seconds
from ...errors import ConfigurationError, StoreFault
from ...flow.certificates import locked, stamp

Address = tuple[str, int]
SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
OPTIONS = (
    "cluster",
    "db",
    "lag",
    "ssl_ca_certs",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_cert_reqs",
    "ssl_check_hostname",
)
FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
ESCAPED = "in a password write / ? # [ ] @ and % as %2F %3F %23 %5B %5D %40 and %25"
PASSWORD = re.compile(r"(?i)(password=)[^&]*")

BRIEFEST = 0.02
"""Seconds of lag, at least: a server is asked four times in it whether it is there."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL's meaning. Credentials stay out of the representation."""

    addresses: tuple[Address, ...]
    """Host and port: one server, or the seeds of a cluster. Empty for a unix socket."""
    path: str = ""
    """Unix socket."""
    db: int = 0
    cluster: bool = False
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tls: Mapping[str, str] | None = field(default=None, repr=False)
    """The ssl_* options where the scheme asks for TLS."""
    lag: float = 0.1
    """Seconds after which an invalidation made elsewhere is known here, or nothing kept here is vouched for."""

    @property
    def silence(self) -> float:
        """Seconds without a word after which a server may hide an invalidation; the rest of the lag is for noticing."""
        return 0.65 * self.lag

    @property
    def patience(self) -> float:
        """Seconds that a connection may take to stand, and that one which owes replies may stand still."""
        return max(1.0, self.silence)

    @property
    def beat(self) -> float:
        """Seconds between two questions whether a server is there."""
        return min(0.025, self.lag / 4)

    def trusted(self) -> object:
        """Which file it is that names whom to trust: another one once it was replaced. Raises StoreFault."""
        with self._reading():
            return stamp(cafile) if (cafile := (self.tls or {}).get("ssl_ca_certs")) else None

    def context(self) -> ssl.SSLContext:
        """The TLS context. Reads whom to trust; raises StoreFault that names the files."""
        tls = self.tls or {}
        with self._reading():
            context = ssl.create_default_context(cafile=tls.get("ssl_ca_certs"))
        if tls.get("ssl_check_hostname") == "false" or tls.get("ssl_cert_reqs") == "none":
            context.check_hostname = False
        if tls.get("ssl_cert_reqs") == "none":
            context.verify_mode = ssl.CERT_NONE
        return context

    def present(self, context: ssl.SSLContext) -> None:
        """Read our own certificate as it stands now: those that live briefly are exchanged. Raises StoreFault."""
        tls = self.tls or {}
        if certfile := tls.get("ssl_certfile"):
            with self._reading():
                context.load_cert_chain(certfile, tls.get("ssl_keyfile"), password=locked)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as fault:  # ssl.SSLError is one
            files = {name: file for name, file in (self.tls or {}).items() if name in FILES}
            raise StoreFault(f"certificates cannot be read: {fault}: {files}") from fault


def parse(url: str) -> Target:
    """Raises ConfigurationError, which never shows the password."""
    if not isinstance(url, str):
        raise ConfigurationError("store", unquoted(url), "give a URL, such as 'redis://host:6379/0'")
    try:
        parts = urlsplit(url)
    except ValueError:  # whose message may hold the password
        raise _bad(url, ESCAPED) from None
    if "sentinel" in parts.scheme:
        raise _bad(url, "Sentinels are not asked: name the primary, by a host name that follows a failover")
    if parts.scheme not in SCHEMES or "://" not in url:
        raise _bad(url, f"begin with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    options = _options(url, parts)
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    unix = parts.scheme == "unix"
    cluster = parts.scheme.endswith("+cluster") or _flag(url, options.get("cluster", "false"))
    db = _number(url, options.get("db") or ("" if unix else parts.path.strip("/")) or "0")
    if unix and hosts:
        raise _bad(url, f"a path begins with a slash: unix:///run/redis.sock; or {ESCAPED}")
    if cluster and (db or unix):
        raise _bad(url, "a cluster has database 0 only and is reached by host and port")
    if unix and not parts.path:
        raise _bad(url, "give the path of the socket: unix:///run/redis.sock")
    if "," in hosts and not cluster:
        raise _bad(
            url, "name one server; several are the nodes of a cluster: redis+cluster://host:port,host:port"
        )
    return Target(
        () if unix else tuple(_address(url, host) for host in hosts.split(",")),
        unquote(parts.path) if unix else "",
        db,
        cluster,
        unquote(username),
        unquote(password),
        _tls(url, parts.scheme, options),
        _lag(url, options.get("lag", "100ms")),
    )


def _options(url: str, parts: SplitResult) -> dict[str, str]:
    """What stands behind the question mark; known names only."""
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(set(options) - set(OPTIONS))
    misplaced = "@" in ("" if parts.scheme == "unix" else parts.path) or (unknown and "@" in parts.query)
    if parts.fragment or misplaced:  # of a password, most likely
        raise _bad(url, ESCAPED)
    if {"username", "password"} & set(unknown):
        raise _bad(url, "user and password stand before the host: redis://user:password@host:6379/0")
    if unknown:
        raise _bad(url, f"unknown option {unknown[0]!r}; known are {', '.join(OPTIONS)}")
    return options


def _tls(url: str, scheme: str, options: Mapping[str, str]) -> dict[str, str] | None:
    tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if tls and not scheme.startswith("rediss"):
        raise _bad(url, "ssl_ options need the scheme rediss")
    if "ssl_keyfile" in tls and "ssl_certfile" not in tls:
        raise _bad(url, "ssl_keyfile is the key of a certificate: name that by ssl_certfile")
    for name, known in (("ssl_cert_reqs", ("none", "required")), ("ssl_check_hostname", ("true", "false"))):
        if tls.get(name, known[0]) not in known:
            raise _bad(url, f"{name} takes {' or '.join(known)}")
    return tls if scheme.startswith("rediss") else None


def redacted(url: str) -> str:
    """The URL without its credentials, for messages."""
    head, separator, rest = url.partition("://")
    netloc, slash, tail = rest.partition("/")
    return f"{head}{separator}{netloc.rpartition('@')[2]}{slash}{tail}"


def _address(url: str, text: str) -> Address:
    host, port = text, "6379"
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.lstrip(":") or port
    elif ":" in text:
        host, _, port = text.rpartition(":")
    number = _number(url, port)
    if not 0 < number < 65536:
        raise _bad(url, f"{port} is not a port; give one from 1 to 65535")
    return unquote(host) or "localhost", number


def _number(url: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise _bad(url, f"{text!r} is not a number; give one, as in redis://127.0.0.1:6379/0")
    return int(text)


def _flag(url: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise _bad(url, "cluster takes true or false")
    return text == "true"


def _lag(url: str, text: str) -> float:
    try:
        lag = seconds("lag", text)
    except ConfigurationError:
        lag = 0.0
    if lag < BRIEFEST:
        raise _bad(url, f"lag={text!r} is not a duration of at least 20ms; give one, as in ?lag=500ms")
    return lag


def shown(url: str) -> str:
    """What may be shown of a URL that is not understood: nothing that might be a password."""
    head, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    return head + separator + (rest if rest.startswith("/") else rest.rpartition("@")[2])


def _bad(url: str, remedy: str) -> ConfigurationError:
    return ConfigurationError("store", PASSWORD.sub(r"\1***", shown(url)), remedy)
