"""The live table of the demo, drawn with rich."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager
from typing import Any, Self, TextIO

from ...errors import MissingExtra, broken
from ..charts import NOTHING
from . import words
from .tally import HITS, Lane, Tally

_FRAMES_PER_SECOND = 8
_ROOM = {"p50": 76, "p99": 76, "share": 48}
"""Columns that a terminal has to have for a figure to be shown."""
_COLOURS = {
    Lane.MEMORY: "cyan",
    Lane.REDIS: "magenta",
    Lane.INDEX: "green",
    Lane.REPEATED: "green",
    Lane.COALESCED: "yellow",
    Lane.BACKEND: "bright_black",
}
_BY_NAME = {words.NAMES[lane]: colour for lane, colour in _COLOURS.items()}


class RichScreen(AbstractContextManager["RichScreen"]):
    """A table that rich's own thread redraws from the tally. Raises MissingExtra without rich."""

    def __init__(self, tally: Tally, out: TextIO) -> None:
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError as fault:
            raise MissingExtra("the live table", "rich", "demo", broken("rich", fault)) from fault
        self._tally = tally
        self.console = Console(file=out)
        self._live = Live(
            console=self.console, get_renderable=self.render, refresh_per_second=_FRAMES_PER_SECOND
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: object, *fault: object) -> None:
        self._live.stop()

    def show(self) -> None:
        """Nothing to do: the table is redrawn by the clock."""

    def render(self) -> Any:
        """Progress, lanes and facts of this moment."""
        from rich.console import Group
        from rich.padding import Padding

        return Padding(Group(self._progress(), "", self._lanes(), "", self._facts()), (1, 0, 1, 1))

    def _progress(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        tally = self._tally
        grid = Table.grid(padding=(0, 2))
        done = f"{tally.requests:,}/{tally.total:,} requests"
        bar = ProgressBar(
            total=max(tally.total, 1), completed=tally.requests, width=30, complete_style="green"
        )
        hits = f"[bold green]{tally.share(HITS):.0%}[/] without the backend"
        grid.add_row(bar, done, f"{tally.elapsed:.0f} s", hits)
        return grid

    def _lanes(self) -> Any:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        rows = [words.HEAD, *words.rows(self._tally)]
        shown = [self.console.width >= _ROOM.get(name, 0) for name in words.HEAD]
        head, *rows = [tuple(itertools.compress(row, shown)) for row in rows]
        for i, name in enumerate(head):  # names and heads may wrap; figures are whole or not there
            least = max([len(row[i]) for row in rows]) if i else None
            table.add_column(name, justify="right" if i else "left", min_width=least)
        for name, *cells, cache, backend in rows:
            alarm = f"[bold red]{cache}[/]" if cache not in ("0", NOTHING) else cache
            table.add_row(f"[{_BY_NAME.get(name, 'white')}]{name}[/]", *cells, alarm, backend)
        return table

    def _facts(self) -> Any:
        from rich.table import Table

        grid = Table.grid(padding=(0, 2))
        for name, value in words.facts(self._tally):
            grid.add_row(f"[bold]{name}[/]", value)
        return grid
