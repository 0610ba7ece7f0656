"""The time of a decision, in CPU time of the deciding thread; embedding and search excluded."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query, Turn

from .talks import TalkPair, talks

ASKED = (
    "how do i reset the password of my business account", "what is the fee for a transfer to another bank",
    "can i change the delivery address after the order was sent", "why was my card payment declined in the shop",
    "show me the invoices of the last three months", "is the library in the main street open on sunday morning",
    "book a table for four people at seven tonight", "how many vacation days do i have left this year",
    "what documents do i need to open an account", "when will the replacement card arrive at my home",
)  # fmt: skip
ROUNDS = 1500


def decision_times() -> dict[str, tuple[float, float]]:
    """Name of the case to (p50, p99) in microseconds."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(64, 384)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    out = {
        "8 candidates, 3 verified, nothing known of the function": _timed(_cold(base)),
        "the same, texts never read before": _timed(_cold(base, fresh=True)),
        "the same, candidates all reworded a little": _timed(_cold(base, near=True)),
        "8 candidates of a function with 300 labelled requests": _timed(_warm(base)),
        "the same, one of them the question but for how it is typed": _timed(_warm(base, "please, ")),
        "the verifier alone, 3 candidates": _timed(_verifier(base)),
    }
    by_length = {"conversation of 6-16 messages": (6, 16), "conversation of 40-70 messages": (40, 70)}
    found = talks("report", 600)
    for name, (low, high) in by_length.items():
        mine = [p for p in found if low <= len(p.a) <= high and p.kind in ("reworded", "both", "value")]
        out[f"{name} beside a reworded one, one new turn"] = _timed(_talk(base, mine))
    return out


def _timed(step: Callable[[int], None]) -> tuple[float, float]:
    for i in range(50):
        step(i)
    gc.collect()
    took = []
    for i in range(ROUNDS):
        started = time.thread_time_ns()
        step(i)
        took.append((time.thread_time_ns() - started) / 1e3)
    return float(np.percentile(took, 50)), float(np.percentile(took, 99))


def _query(i: int, base: np.ndarray, fresh: bool = False) -> Query:
    return Query(ASKED[i % len(ASKED)] + (f" {i}x" if fresh else ""), base[i % len(base)])


NEAR = (
    "{x}", "{x}?", "please, {x}", "hello, {x} thanks", "can you tell me {x}", "i would like to know {x}", "{x} today",
    "{x} by phone",
)  # fmt: skip


def _reworded(i: int) -> list[Candidate]:
    text = ASKED[i % len(ASKED)]
    return [
        Candidate(k, 0.97 - 0.02 * k, way.format(x=text), f"answer {k}") for k, way in enumerate(NEAR[::-1])
    ]


def _candidates(i: int, fresh: bool, way: str = "can you tell me ") -> list[Candidate]:
    near = [ASKED[(i + k) % len(ASKED)] for k in range(8)]
    return [
        Candidate(k, 0.97 - 0.04 * k, way + text + (f" {i}y{k}" if fresh else ""), f"answer {k}")
        for k, text in enumerate(near)
    ]


def _cold(base: np.ndarray, fresh: bool = False, near: bool = False) -> Callable[[int], None]:
    decider = EvidenceDecider(PairVerifier(), random=lambda: 0.5)
    asked = [(_query(i, base, fresh), _reworded(i) if near else _candidates(i, fresh)) for i in range(ROUNDS)]

    def step(i: int) -> None:
        decider.decide("f", b"scope", *asked[i], 0.05)

    return step


def _warm(base: np.ndarray, way: str = "can you tell me ") -> Callable[[int], None]:
    decider = EvidenceDecider(PairVerifier(), random=lambda: 0.5)
    asked = [(_query(i, base), _candidates(i, False, way)) for i in range(ROUNDS)]
    for query, found in asked[:300]:
        decider.observe("f", b"scope", query, found, str(found[0].answer), None)

    def decide(i: int) -> None:
        decider.decide("f", b"scope", *asked[i], 0.05)

    return decide


def _verifier(base: np.ndarray) -> Callable[[int], None]:
    verifier = PairVerifier()

    def step(i: int) -> None:
        verifier.judge(_query(i, base), _candidates(i, False)[:3])

    return step


def _talk(base: np.ndarray, found: list[TalkPair]) -> Callable[[int], None]:
    verifier = PairVerifier()

    def step(i: int) -> None:
        p = found[i % len(found)]
        new = (Turn("user", f"and number {i}?"), *p.a[1:])
        query = Query(p.last, base[0], new)
        verifier.judge(query, [Candidate(1, 1.0, p.last, None, p.b)])

    return step
