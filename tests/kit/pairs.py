"""Two texts: tests of them, and what is said of them by the pair verifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query, Turn

ZERO = np.zeros(4, np.float32)


def pairs(*cases: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Runs a test on each of these: `one` text, the `other`, and whether they `differ` where that differs."""
    return pytest.mark.parametrize(("one", "other", "differ")[: len(cases[0])], cases)


def judge(one: str, other: str, cosine: float = 0.999) -> tuple[float, str]:
    """How likely both take the same answer, and who objects."""
    return PairVerifier().judge(Query(one, ZERO), [Candidate(1, cosine, other, None)])[0]


def repeats(one: str, other: str, turns: tuple[Turn, ...] = ()) -> bool:
    """Whether the one asks what the other did after these turns, so surely that no vector is needed."""
    return PairVerifier().repeated(Query(one, ZERO), [Candidate(1, 0.9, other, None, turns)]) is not None
