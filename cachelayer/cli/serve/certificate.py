"""The gateway's own certificate, as its files stand: those that live briefly are exchanged while it serves."""

from __future__ import annotations

import os
import ssl
from typing import Any

from ...flow.certificates import Stamp, locked, stamp
from .logs import say
from .parts import ServerPart

EVERY = 1
"""Seconds between two looks."""


class Certificate:
    """Called every second by uvicorn, whose `config` holds the context in use."""

    def __init__(self, part: ServerPart, config: Any) -> None:
        self._files, self._config = (part.tls_cert, part.tls_key), config
        self._seen = self._state()

    async def __call__(self) -> None:
        """New connections are served by what the files hold now; by what they held before where that is of no use, as
        while one of them is being replaced."""
        seen = self._state()
        if seen == self._seen:
            return
        self._seen = seen
        try:  # elsewhere first: a key that does not belong to it leaves a context without a key
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._config.ssl):
                context.load_cert_chain(*self._files, locked)
        except (OSError, ValueError) as fault:
            why = getattr(fault, "strerror", None) or fault
            cert, key = self._files
            say(f"server.tls_cert={cert!r} and server.tls_key={key!r} cannot be used ({why}); what they held before "
                "serves on")  # fmt: skip

    def _state(self) -> list[Stamp]:
        return [stamp(file) for file in self._files if os.path.exists(file)]
