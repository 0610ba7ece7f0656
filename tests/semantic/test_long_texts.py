"""Texts made to be long: reading and judging them takes time as their length does, not as its square."""

from __future__ import annotations

import numpy as np
import pytest

from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query

VECTOR = np.eye(1, 384, dtype=np.float32)[0]
LENGTH = 100_000


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("as " * (LENGTH // 3), "as " * (LENGTH // 3 - 1) + "?"),
        (f"How do I {' ' * LENGTH} work?", f"How do I {' ' * LENGTH} work? x"),
    ],
    ids=["into", "spaces"],
)
def test_a_pair_of_long_texts_is_judged_in_one_pass_over_each(text: str, other: str) -> None:
    """Each of these took minutes."""
    assert PairVerifier().judge(Query(text, VECTOR), [Candidate(1, 0.9, other, "x")])
