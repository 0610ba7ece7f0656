"""A calibration in words and numbers, and its settings as Python and as the gateway's TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ..serve.parts import CachePart
from ..terminal import Verbatim, table
from ..traces import tally
from ..traces.intervals import limit, percent
from ..traces.tally import EXACT, FILLED, MISS, RIGHT, WRONG, Tally
from .result import Calibrated

HEAD = ("error budget", *tally.HEAD, "checks", "")


def recommendation(found: Calibrated) -> Iterator[str]:
    """What the terminal shows."""
    yield f"\nMeasured on {_reported(found)}:\n"
    yield from table(HEAD, rows(found))
    yield ""
    yield verdict(found)
    yield from (f"  {line}" for line in expected(found))
    yield "\nPython:\n"
    yield Verbatim(python(found.settings()))
    yield "\ngateway.toml:\n"
    yield Verbatim(toml(found.settings()))


def rows(found: Calibrated) -> list[tuple[str, ...]]:
    """Every budget on the part that is reported, in the order of `HEAD`."""
    parts = [(run, found.held_out(run)) for run in (*found.runs, found.best)]
    return [
        (run.name, *part.cells(), f"{part.checks:,}", "recommended" if run is found.choice.run else "")
        for run, part in parts
    ]


def verdict(found: Calibrated) -> str:
    """The recommendation in a sentence."""
    choice, target = found.choice, limit(found.target)
    if choice.run is None:
        return (
            f"Recommended: semantic=False. Even with the smallest error budget, more than {target} of the similar "
            "answers were wrong on the part that settings were chosen on; `cachelayer replay` shows them."
        )
    sure = (
        f"On the part it was chosen on, wrong answers stayed under {target}, interval included."
        if choice.verdict == "shown"
        else f"Wrong answers seem to stay under {target}, but there is too little evidence to show it: that takes "
        f"{evidence(found.target):,} similar answers without an error, and more if there are any."
    )
    return f"Recommended: max_error_rate={choice.run.bound:g}. {sure}"


def evidence(target: float) -> int:
    """Error-free similar answers after which the Clopper-Pearson interval keeps a target; 0 for no target."""
    return math.ceil(math.log(0.025) / math.log1p(-target)) if 0 < target < 1 else 0


def expected(found: Calibrated) -> Iterator[str]:
    """What to expect of the recommended settings, with intervals."""
    if found.choice.run is None:
        return
    part = found.held_out(found.choice.run)
    yield f"expected net hits            {part.hit:.1%}  (95 %: {percent(part.hit_interval)})"
    if not part.similar:
        yield "NOTE: nothing was served by similarity there: the evidence in this traffic does not suffice"
    else:
        yield (
            f"expected wrong among similar {part.share_wrong:.2%}  (95 %: {percent(part.share_wrong_interval)}; "
            f"{part.wrong:,} of {part.similar:,})"
        )
        yield f"expected wrong of all        {part.error:.2%}  (95 %: {percent(part.error_interval)})"
        if part.share_wrong_interval[0] > found.target:
            yield f"NOTE: that is above the target of {limit(found.target)}; take a smaller --target"
    budget = found.choice.run.bound or 0.0
    if budget > found.target:
        yield (
            f"NOTE: in production, similar answers stop only where more than {limit(budget)} are wrong; if traffic may "
            f"change and that is too much, take max_error_rate={found.target:g}"
        )
    if found.trace.pairs:
        yield from _pairs(part, found.held_out(found.best))
    calls = part.hits - part.checks
    money = f", ${calls * found.cost:,.2f}" if found.cost else ""
    yield f"calls saved                  {calls:,} of {part.requests:,}{money}"


def _pairs(part: Tally, best: Tally) -> Iterator[str]:
    same = sum(code != MISS for code in best.path) - best.path.count(FILLED)
    other = part.requests - same
    if same:
        yield f"same-answer pairs served     {(part.path.count(RIGHT) + part.path.count(EXACT)) / same:.1%} of {same:,}"
    if other:
        yield f"other pairs served (wrong)   {part.path.count(WRONG) / other:.2%} of {other:,}"


def _reported(found: Calibrated) -> str:
    n = sum(one.counted for one in found.trace.asked[found.cut :])
    if found.trace.pairs:
        return f"{n:,} pairs, none of whose questions occurs in the part that settings were chosen on"
    return f"the last {n:,} requests; settings were chosen on those before"


def python(settings: dict[str, Any]) -> str:
    """As a program says it."""
    fields = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"from cachelayer import CacheLayer, Policy\n\nlayer = CacheLayer(policy=Policy({fields}))"


def toml(settings: dict[str, Any]) -> str:
    """As the gateway reads it; a comment names what the gateway cannot be told."""
    known = {field.name for field in fields(CachePart)}
    lines = []
    for name, value in settings.items():
        if name == "semantic" and isinstance(value, bool):
            value = "on" if value else "off"
        if name in known:
            lines.append(f"{name} = {json.dumps(value)}")
        else:
            lines.append(f"# {name}={value!r} is not a setting of the gateway")
    return "\n".join(["[cache]", *lines])
