"""Where commands write, as a terminal."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True
