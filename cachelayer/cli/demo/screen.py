"""Where a run is watched: plain lines for logs, or a live table (`rich_table`) on a terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Protocol, Self, TextIO

from ...errors import MissingExtra
from ..terminal import table
from . import words
from .tally import Tally

_LINES = 10


class Screen(AbstractContextManager["Screen"], Protocol):
    """Shows a tally that grows."""

    def show(self) -> None:
        """Called after each request."""


class PlainScreen(AbstractContextManager["PlainScreen"]):
    """A line for every tenth of the run, the table at the end."""

    def __init__(self, tally: Tally, out: TextIO) -> None:
        self._tally, self._out, self._told = tally, out, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *fault: object) -> None:
        if kind is None:
            for line in ("", *table(words.HEAD, words.rows(self._tally)), ""):
                print(line, file=self._out)
            for name, value in words.facts(self._tally):
                print(f"{name:<22} {value}", file=self._out)

    def show(self) -> None:
        done = self._tally.requests + self._tally.failed
        step = done * _LINES // max(self._tally.total, 1)
        if step > self._told:
            self._told = step
            print(words.progress(self._tally), file=self._out, flush=True)


def screen_for(tally: Tally, out: TextIO) -> Screen:
    """A live table where `out` is a terminal and rich is installed, else plain lines."""
    if out.isatty():
        try:
            from .rich_table import RichScreen

            return RichScreen(tally, out)
        except MissingExtra as missing:
            print(missing, file=sys.stderr)
    return PlainScreen(tally, out)
