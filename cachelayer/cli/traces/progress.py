"""How far a long job is: a line that is written over on a terminal, a line for every tenth elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

_EVERY = 0.2
"""Seconds between two looks on a terminal."""


class Meter:
    """Shows how far a job of `total` steps is: `with Meter(...) as update: update(done)`."""

    def __init__(self, name: str, total: int, out: TextIO) -> None:
        self._name, self._total, self._out = name, max(total, 1), out
        self._live = out.isatty()
        self._started = self._written_at = time.monotonic()
        self._tenth = 0

    def update(self, done: int) -> None:
        """So many steps are done."""
        now = time.monotonic()
        if self._live:
            if now - self._written_at >= _EVERY or done >= self._total:
                self._written_at = now
                room = shutil.get_terminal_size().columns - 1  # of two lines only the last is written over
                self._out.write(f"\r\x1b[K{self._line(done, now)[:room]}")
                self._out.flush()
        elif done * 10 // self._total > self._tenth:
            self._tenth = done * 10 // self._total
            print(self._line(done, now), file=self._out, flush=True)

    def _line(self, done: int, now: float) -> str:
        spent = now - self._started
        left = spent / done * (self._total - done) if done else 0.0
        rest = f", {left:.0f} s left" if done < self._total else f", {spent:.1f} s"
        return f"{self._name}: {done:,} of {self._total:,} ({done / self._total:.0%}{rest})"

    def __enter__(self) -> Callable[[int], None]:
        return self.update

    def __exit__(self, *fault: object) -> None:
        """Leave the line as it is."""
        if self._live:
            self._out.write("\n")
            self._out.flush()
