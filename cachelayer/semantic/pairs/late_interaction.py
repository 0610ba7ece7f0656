"""How near every token of one text comes to some token of another, in context: late interaction.

A word's vector in its sentence says more than the word alone ("book" of a table, "book" of an author). Each token meets
its best partner in the other text (MaxSim: Khattab & Zaharia, "ColBERT", SIGIR 2020, arXiv:2004.12832), once among the
states after half of the encoder's layers and once after all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LAYERS: Final = ("middle", "last")
CLOSENESS: Final = tuple(
    f"{layer}_{measure}_{side}"
    for layer in LAYERS
    for measure in ("mean", "least", "second", "weighted", "rarity", "gap", "gap_root", "mutual")
    for side in ("low", "high")
)
"""Names of the measures: of both texts the lower and the higher value."""
CLOSER: Final = 0.7
"""Weight of the close reading's log odds beside the first one's; half is nearly as good, either alone is not."""
_COMMON: Final = 1000.0
"""Word pieces of BERT's vocabulary stand in the order of their frequency from about this id on: the log of the id,
in these, weighs a token as the log of its rarity does."""


class Tokens(NamedTuple):
    """A text as its encoder read it, without the marks at both ends."""

    ids: NDArray[np.int64]
    """(t,) ids of word pieces."""
    states: NDArray[np.float16]
    """(len(LAYERS), t, d) hidden states, L2-normalized."""


def closeness(a: Tokens, b: Tokens) -> list[float]:
    """len(CLOSENESS) numbers, in that order; the same for (b, a). Both must have a token."""
    out: list[float] = []
    weights = _rarity(a.ids), _rarity(b.ids)
    for mine, other in zip(a.states, b.states, strict=True):
        met = mine.astype(np.float32) @ other.astype(np.float32).T
        one = [*_side(met, weights[0]), _mutual(met)]
        two = [*_side(met.T, weights[1]), _mutual(met.T)]
        for x, y in zip(one, two, strict=True):
            out += (x, y) if x <= y else (y, x)
    return out


def _rarity(ids: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.maximum(np.log(ids / _COMMON + 1.0), 0.05)


def _side(met: NDArray[np.float32], weights: NDArray[np.float64]) -> tuple[float, ...]:
    """mean, least, second, weighted, rarity of the least, gap, gap_root: of each row's best partner."""
    best = met.max(axis=1)
    order = np.argsort(best)
    missing = 1.0 - best
    return (
        float(best.mean()),
        float(best[order[0]]),
        float(best[order[min(1, len(best) - 1)]]),
        float((best * weights).sum() / weights.sum()),
        float(weights[order[0]]),
        float((weights * missing).sum()),
        float(np.sqrt((weights * missing * missing).sum())),
    )


def _mutual(met: NDArray[np.float32]) -> float:
    """The share of rows whose best partner's best partner they are."""
    partner = met.argmax(axis=1)
    return float((met.argmax(axis=0)[partner] == np.arange(len(partner))).mean())
