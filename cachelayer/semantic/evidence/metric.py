"""Which directions of the embedding separate the answers of one function: the inverse scatter of its requests.

It makes a sum of vectors the prediction of a ridge regression (Hoerl & Kennard 1970), updated in O(d^2) (Sherman &
Morrison 1950).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Metric:
    """The inverse of I + sum of x x', for the requests of one function."""

    def __init__(self, dimension: int) -> None:
        self.inverse = np.eye(dimension, dtype=np.float32)
        self._last: tuple[Vector, Vector] | None = None
        """The last vector asked for since something was added, and its product."""

    def bend(self, x: Vector) -> Vector:
        """`inverse @ x`, not to be changed: asked for when a request is judged, and again when it teaches."""
        if self._last is None or self._last[0] is not x:
            self._last = x, self.inverse.dot(x)
        return self._last[1]

    def suppose(self, x: Vector, others: Sequence[Vector]) -> None:
        """Until `recall`, `bend(x)` is what it would be with these added."""
        bends, px = list[tuple[Vector, float]](), self.inverse.dot(x)
        for other in others:
            bent = self.inverse.dot(other)
            for u, weight in bends:
                bent = bent - u * (float(u.dot(other)) / weight)
            bends.append((bent, 1.0 + float(other.dot(bent))))
            px = px - bent * (float(bent.dot(x)) / bends[-1][1])
        self._last = x, px

    def recall(self) -> None:
        self._last = None

    def add(self, x: Vector) -> None:
        px = self.bend(x)
        self._last = None
        self.inverse -= np.multiply.outer(px, px / (1.0 + float(x.dot(px))))
