"""When to refresh an entry before it expires. Pure; time and randomness are handed in.

A fixed margin makes every reader refresh at the same moment; a coin whose odds rise towards the expiry makes one of
them do it, with no word between them. Where several processes share a store the winner takes the lease, so that a
second winner elsewhere in the fleet waits for the first one's answer.
"""

from __future__ import annotations

from math import log


def refresh_due(now: float, expiry: float, cost: float, draw: float, beta: float = 1.0) -> bool:
    """Whether this reader should recompute early: `now - cost * beta * ln(draw) >= expiry`.

    now: this moment, in seconds.
    expiry: the end of freshness, on the same clock.
    cost: how long the last computation took, seconds.
    draw: uniform in (0, 1]; the smaller, the earlier.
    beta: above 1 favours earlier refreshes, below 1 later ones.

    The lead `-cost * beta * ln(draw)` is exponentially distributed with mean `cost * beta`, which the paper shows to be
    optimal: the number of refreshes shortly before an expiry stays near one however many readers there are, and
    whatever the rate at which they come. At the expiry itself the answer is always True.

    XFetch: A. Vattani, F. Chierichetti, K. Lowenstein, "Optimal Probabilistic Cache Stampede Prevention", Proceedings
    of the VLDB Endowment 8(8), 2015, section 3.

    Raises ValueError if `draw` is not above 0.
    """
    return now - cost * beta * log(draw) >= expiry
