"""What came of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..traces.read import Trace
from ..traces.rivals import Nearest
from ..traces.settings import Config
from ..traces.tally import Tally
from .choose import Choice


@dataclass(frozen=True, slots=True)
class Calibrated:
    """All that came of a calibration. Runs are over the whole trace; `cut` is where the reported part begins."""

    trace: Trace
    cut: int
    target: float
    base: Config
    runs: list[Tally]
    grid: list[Tally]
    best: Tally
    nearest: Nearest
    choice: Choice
    cost: float | None

    def held_out(self, run: Tally) -> Tally:
        """What is reported of a run."""
        return run.part(self.cut)

    def settings(self) -> dict[str, Any]:
        """The recommended fields of `Policy`, the owner's own included."""
        if self.choice.run is None:
            return {**self.base.given, "semantic": False}
        return {**self.base.given, "max_error_rate": self.choice.run.bound}

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        run = self.choice.run
        return {
            "trace": self.trace.name, "chosen_on": self.cut, "reported_on": len(self.trace.asked) - self.cut,
            "target": self.target, "verdict": self.choice.verdict, "settings": self.settings(),
            "expected": None if run is None else self.held_out(run).plain(),
            "runs": [
                {"max_error_rate": run.bound, "chosen_on": run.part(0, self.cut).plain(),
                 "reported_on": self.held_out(run).plain()}
                for run in self.runs
            ],
            "oracle": self.held_out(self.best).plain(),
        }  # fmt: skip
