"""Files of certificates and keys as they stand now: those that live briefly are exchanged while a process runs."""

from __future__ import annotations

import importlib
import os
import ssl
from contextlib import suppress

Stamp = tuple[int, int, int]


def stamp(file: str) -> Stamp:
    """Which file it is: another one once it was replaced. Raises OSError."""
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_mtime_ns


def locked() -> str:
    """Raises where OpenSSL would ask for a pass phrase on the terminal, which would block the event loop for good."""
    raise ValueError("the key has a pass phrase, and nothing here can give it: name a file without one")


class Trust:
    """Whom the system trusts, certifi's list where that is installed, and the file `more`. Raises OSError."""

    def __init__(self, more: str) -> None:
        self._more = more
        self._seen = self._stamp()
        self._context = self._made()

    def context(self) -> ssl.SSLContext:
        """The context of the files as they stand now; the one before if they cannot be read."""
        with suppress(OSError):
            if self._seen != (seen := self._stamp()):
                self._context, self._seen = self._made(), seen
        return self._context

    def _stamp(self) -> Stamp | None:
        return stamp(self._more) if self._more else None

    def _made(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._more:
            context.load_verify_locations(self._more)
        with suppress(ImportError):
            context.load_verify_locations(importlib.import_module("certifi").where())
        return context
