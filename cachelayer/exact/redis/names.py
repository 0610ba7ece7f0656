"""What things are called in Redis. What belongs to one entry shares a hash tag, thus a slot of a cluster.

    PREFIX:v:{KEY}      an entry                    PREFIX:l:{KEY}      the lease on computing it
    PREFIX:e:k:{KEY}    when it was last deleted    PREFIX:e:DIGEST     the epoch of a tag or a scope
    PREFIX:e:r:{KEY}    written over another        PREFIX:f            the keys of what was made findable, a stream
    PREFIX:n:{KEY}      how to find it by meaning   PREFIX:a            digests of requests kept apart, a stream

KEY and DIGEST are 32 hexadecimal digits. Everything under PREFIX:e: is watched by every process.
"""

from __future__ import annotations

import re
from binascii import crc_hqx, hexlify, unhexlify

from xxhash import xxh3_128_digest

from ...errors import ConfigurationError, Unusable
from .seal import ENCRYPTED, Seal

SLOTS = 16384
SEALED = b"x"
"""How a label begins that is encrypted."""


class Names:
    """The names under one prefix. `seal`: what hides the names of tags and scopes, if anything does."""

    __slots__ = (
        "_entry", "_lease", "_near", "_over", "_seal", "_tomb", "_word", "apart", "feed", "prefix", "watched",
    )  # fmt: skip

    def __init__(self, prefix: str, seal: Seal) -> None:
        if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z0-9._:/-]{1,64}", prefix):
            raise ConfigurationError("prefix", prefix, "use 1 to 64 letters, digits and . _ : / -")
        self.prefix, self._seal = prefix.encode(), seal
        self._entry = b"%b:v:{" % self.prefix
        self._lease = b"%b:l:{" % self.prefix
        self._near = b"%b:n:{" % self.prefix
        self.feed = b"%b:f" % self.prefix
        self.apart = b"%b:a" % self.prefix
        self.watched = b"%b:e:" % self.prefix
        self._tomb = b"%bk:{" % self.watched
        self._over = b"%br:{" % self.watched
        self._word = b"$%d\r\n%b" % (len(self._entry) + 33, self._entry)

    def word(self, key: bytes) -> bytes:
        """The name of the entry of `key` (16 bytes), as a word of a command."""
        return self._word + hexlify(key) + b"}\r\n"

    def entry(self, key: bytes) -> bytes:
        return self._entry + hexlify(key) + b"}"

    def near(self, key: bytes) -> bytes:
        return self._near + hexlify(key) + b"}"

    def near_of(self, entry: bytes) -> bytes:
        """The name under PREFIX:n: that goes with an entry's name."""
        return self._near + entry[len(self._entry) :]

    def entry_beside(self, near: bytes) -> bytes | None:
        """The entry's name that goes with a name under PREFIX:n:; None for any other name."""
        return self._entry + near[len(self._near) :] if near.startswith(self._near) else None

    def lease(self, key: bytes) -> bytes:
        return self._lease + hexlify(key) + b"}"

    def tomb(self, key: bytes) -> bytes:
        return self._tomb + hexlify(key) + b"}"

    def over(self, key: bytes) -> bytes:
        """What is touched when the entry of `key` is written over another."""
        return self._over + hexlify(key) + b"}"

    def epoch(self, digest: bytes) -> bytes:
        return self.watched + hexlify(digest)

    def label(self, digest: bytes, text: bytes) -> bytes:
        """How the epoch of a tag or scope calls it: by its name, encrypted where entries are."""
        if self._seal.flag != ENCRYPTED:
            return text
        return SEALED + self._seal.key_id + self._seal.close(self._around(digest), text)

    def labelled(self, digest: bytes, label: bytes) -> bytes:
        """The name that a label hides; b"" if no key opens it."""
        if not label.startswith(SEALED):
            return label
        try:
            return self._seal.open(ENCRYPTED, label[1:5], self._around(digest), label[5:])
        except Unusable:
            return b""

    def _around(self, digest: bytes) -> bytes:
        return b"%b\0epoch\0%b" % (self.prefix, digest)

    def leased(self, name: bytes) -> bytes | None:
        """The key whose lease `name` is."""
        return _hex(name[len(self._lease) : -1]) if name.startswith(self._lease) else None

    def deleted(self, name: bytes) -> bytes | None:
        """The key of the entry that was deleted, if `name` says so."""
        return _hex(name[len(self._tomb) : -1]) if name.startswith(self._tomb) else None

    def replaced(self, name: bytes) -> bytes | None:
        """The key of the entry that was written over another, if `name` says so."""
        return _hex(name[len(self._over) : -1]) if name.startswith(self._over) else None

    def declared(self, name: bytes) -> bytes | None:
        """The digest of which `name` is the epoch."""
        return _hex(name[len(self.watched) :]) if name.startswith(self.watched) else None


def _hex(digits: bytes) -> bytes | None:
    try:
        return unhexlify(digits)
    except ValueError:
        return None


def slot_of(name: bytes) -> int:
    """The slot of a name in a cluster (Redis Cluster specification, "Hash tags")."""
    start = name.find(b"{") + 1
    if start:
        end = name.find(b"}", start)
        if end > start:
            name = name[start:end]
    return crc_hqx(name, 0) % SLOTS


def tag_name(tag: str) -> bytes:
    """How a tag is written into its epoch."""
    return b"t" + tag.encode(errors="surrogatepass")


def scope_name(scope: bytes) -> bytes:
    """How a scope is written into its epoch."""
    return b"s" + scope


def digest_of(name: bytes) -> bytes:
    """16 bytes under which an epoch is found; two names that collide are invalidated together, which harms nobody."""
    return xxh3_128_digest(name)
