"""When to refresh an entry before it expires. Pure; time and randomness are handed in."""

from __future__ import annotations

from math import log


def refresh_due(now: float, expiry: float, cost: float, draw: float, beta: float = 1.0) -> bool:
    """Whether this reader should recompute early: `now - cost * beta * ln(draw) >= expiry`.

    `cost` is how long the last computation took, in the unit of `now` and `expiry`; `draw` is uniform in (0, 1];
    `beta` > 1 favours earlier refreshes. The expected number of refreshes shortly before expiry stays near one however
    many readers there are. XFetch: A. Vattani, F. Chierichetti, K. Lowenstein, "Optimal Probabilistic Cache Stampede
    Prevention", PVLDB 8(8), 2015.
    """
    return now - cost * beta * log(draw) >= expiry
