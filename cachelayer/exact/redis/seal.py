"""Signatures and encryption of entries: HMAC-SHA256 (RFC 2104) or AES-GCM (NIST SP 800-38D), with key rotation.

The first key of a ring writes, all of them read. What surrounds the body (prefix, key, scope, schema version, function,
times, epochs) is associated data: an entry moved under another key or given another date does not open. The names of
tags and scopes are encrypted where entries are.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from typing import Any

from ...checks import unquoted
from ...errors import ConfigurationError, MissingExtra, Unusable, broken
from ...types import Reason

SIGNED, ENCRYPTED = 2, 4
NONCE, MAC = 12, 32
PLAIN_ID = bytes(4)


class Seal:
    """Both rings. With encryption keys new entries are encrypted, else signed, else plain.

    A ring that is not empty refuses what it cannot vouch for; with both, signed entries are still read.
    """

    __slots__ = ("_ciphers", "_macs", "flag", "key_id")

    def __init__(self, signing_keys: Sequence[bytes] = (), encrypt_keys: Sequence[bytes] = ()) -> None:
        for name, keys, sizes in (
            ("signing_keys", signing_keys, None),
            ("encrypt_keys", encrypt_keys, (16, 24, 32)),
        ):
            if not isinstance(keys, list | tuple):
                raise ConfigurationError(name, unquoted(keys), "give a list of keys, even of one")
            for key in keys:
                _check(name, key, sizes)
        self._macs = {_key_id(key): key for key in signing_keys}
        self._ciphers: dict[bytes, Any] = {_key_id(key): _cipher(key) for key in encrypt_keys}
        self.flag = ENCRYPTED if encrypt_keys else SIGNED if signing_keys else 0
        self.key_id = next(iter(self._ciphers or self._macs), PLAIN_ID)

    def close(self, around: bytes, body: bytes) -> bytes:
        """What is written in place of `body`: longer by 32 bytes signed, by 28 encrypted."""
        if self.flag == ENCRYPTED:
            nonce = os.urandom(NONCE)
            return nonce + bytes(self._ciphers[self.key_id].encrypt(nonce, body, around))
        return body + hmac.digest(self._macs[self.key_id], around + body, "sha256")

    def open(self, flags: int, key_id: bytes, around: bytes, sealed: bytes) -> bytes:
        """The body. Raises Unusable(UNTRUSTED) for anything that these keys did not write here."""
        if flags & ENCRYPTED and key_id in self._ciphers:
            return self._decrypt(key_id, around, sealed)
        if flags & SIGNED and key_id in self._macs:
            body, mac = sealed[:-MAC], sealed[-MAC:]
            if hmac.compare_digest(hmac.digest(self._macs[key_id], around + body, "sha256"), mac):
                return body
        raise Unusable("an entry is not signed by a known key for this place", Reason.UNTRUSTED)

    def _decrypt(self, key_id: bytes, around: bytes, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(self._ciphers[key_id].decrypt(sealed[:NONCE], sealed[NONCE:], around))
        except (InvalidTag, ValueError) as fault:
            raise Unusable("an entry does not decrypt in this place", Reason.UNTRUSTED) from fault


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as fault:
        raise MissingExtra("encrypt_keys", "cryptography", "redis", broken("cryptography", fault)) from fault
    return AESGCM(key)


def _key_id(key: bytes) -> bytes:
    return hmac.digest(key, b"cachelayer key id", "sha256")[:4]


def _check(name: str, key: object, sizes: tuple[int, ...] | None) -> None:
    if not isinstance(key, bytes):
        raise ConfigurationError(name, unquoted(key), "give a sequence of bytes objects")
    if sizes is not None and len(key) not in sizes:
        raise ConfigurationError(name, f"{len(key)} bytes", "AES keys have 16, 24 or 32 bytes")
    if len(key) < 16:
        raise ConfigurationError(name, f"{len(key)} bytes", "give at least 16 random bytes")
