"""What came of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..traces.read import Trace
from ..traces.rivals import Nearest
from ..traces.tally import Tally
from .shuffles import Orders, head


@dataclass(frozen=True, slots=True)
class Replayed:
    """All that came of a replay."""

    trace: Trace
    layers: list[Tally]
    shown: list[Tally]
    """Thresholds of the table, the one in hindsight last."""
    grid: list[Tally]
    """All thresholds, for the curve."""
    best: Tally
    """The oracle."""
    nearest: Nearest
    bound: float
    cost: float | None
    orders: list[Orders]
    """Of every configuration, where several orders were asked for."""

    @property
    def rows(self) -> list[Tally]:
        """In the order of the table."""
        return [*self.layers, *self.shown, self.best]

    @property
    def orders_head(self) -> tuple[str, ...]:
        """Names of the columns of `Orders.row`."""
        return head(self.orders)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "trace": self.trace.name, "requests": sum(one.counted for one in self.trace.asked),
            "unlabelled": self.trace.unlabelled, "skipped": self.trace.skipped.count, "bound": self.bound,
            "runs": [run.plain() for run in self.rows], "thresholds": [run.plain() for run in self.grid],
            "orders": [one.plain() for one in self.orders],
        }  # fmt: skip
