"""Where each of the gateway's settings stands, for messages."""

from __future__ import annotations

import re


class Places:
    """Of one file, and of the variables and flags that go over it."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._lines = file, text.splitlines()
        self.named: dict[str, str] = {}

    def of(self, path: str) -> str:
        """'gateway.toml:12' or the variable or flag that set it; `path` as 'server.port', 'upstream.1.url'."""
        if path in self.named:
            return self.named[path]
        if line := self._line(path):
            return f"{self._file}:{line}"
        below = (source for name, source in self.named.items() if name.startswith(f"{path}."))
        return next(below, self._file)

    def _line(self, path: str) -> int:
        """Its own line, else that of the table or the value which it is part of; 0 for neither."""
        counts: dict[str, int] = {}
        here, best = "", 0
        for number, line in enumerate(self._lines, 1):
            table = re.match(r"\s*(\[\[?)([\w.\s\"'-]+)\]", line)
            if table:
                here = whole = re.sub(r"[\s\"']", "", table[2])
                if table[1] == "[[":
                    counts[here] = counts.get(here, -1) + 1
                    here = f"{here}.{counts[here]}"
                found = here
            else:
                name, equals, _ = line.partition("=")
                name = re.sub(r"[\s\"']", "", name)
                found = f"{here}.{name}".removeprefix(".") if equals else ""
            if path in (found, table and whole):
                return number
            if found and path.startswith(f"{found}."):
                best = number
        return best
