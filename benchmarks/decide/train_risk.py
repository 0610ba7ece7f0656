"""Fit the prior of the risk model: how readings foretell right answers in functions never seen.

    python -m benchmarks.decide.train_risk --data DATA --vectors DIR --out cachelayer/semantic/weights/risk.npz

Streams are replayed with the library's own reading of neighbours; a logistic regression is fitted to (reading, right),
every domain with equal weight, those with noisy labels with less. Two rounds: the second under the first's rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from cachelayer.semantic.evidence import FEATURES, Metric
from cachelayer.semantic.risk import Prior
from cachelayer.semantic.scope import Scope

from .data import Stream, load
from .replay import Shelf

Floats = NDArray[np.float64]
NOISY = {"hwu64": 0.3, "dstc11": 0.3}
"""Weight of domains whose classes are broader than an answer."""


@dataclass(frozen=True)
class Domain:
    """A source of streams; `draw(seed)` makes one."""

    name: str
    draw: Callable[[int], Stream]


def domains(data: Path, kept: Path, part: str | None) -> list[Domain]:
    """`part`: only classes of this part of Banking77 and CLINC150; None for all of them."""
    out = []
    for name in ("banking77", "clinc150"):
        stream = load(data / "dev" / f"stream_{name}.jsonl.gz", kept)
        out.append(Domain(name, (stream.of_part(part) if part else stream).shuffled))
    for name, fewest, most in (("hwu64", 15, 64), ("dstc11", 30, 78)):
        out.append(
            Domain(name, _varied(load(data / "train/open" / name / "texts.jsonl.gz", kept), fewest, most))
        )
    return out


def _varied(stream: Stream, fewest: int, most: int) -> Callable[[int], Stream]:
    def draw(seed: int) -> Stream:
        rng = np.random.default_rng(seed)
        return stream.zipf(seed, int(rng.integers(fewest, most)), float(rng.uniform(0.0, 1.2)), 4000)

    return draw


def by_margin(features: Floats) -> bool:
    """The rule of the first round."""
    top, rival, vote = features[0], features[1], features[2]
    return bool(top - rival > 0.15 or (vote > 4.0 and top > 0.75) or top > 0.95)


def by_prior(prior: Prior, most: float) -> Callable[[Floats], bool]:
    def rule(features: Floats) -> bool:
        x = np.clip((features - prior.mean) / prior.scale, -6, 6)
        return bool(1 / (1 + np.exp(x @ prior.weights[:-1] + prior.weights[-1])) < most)

    return rule


def readings(stream: Stream, serve: Callable[[Floats], bool], seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(n, d) readings of a stream and (n,) whether the best answer was right; 5 % of hits are checked."""
    rng = np.random.default_rng(seed)
    shelf = Shelf(stream)
    scope = Scope(stream.vectors.shape[1], Metric(stream.vectors.shape[1]))
    rows: list[Floats] = []
    right: list[bool] = []
    for row, text in enumerate(stream.texts):
        x, name = stream.vectors[row], stream.classes[row]
        known = scope.known(shelf.search(x))
        reading = scope.hood.read(x, known, len(scope.entries), len(text.split()))
        served = False
        if reading is not None:
            rows.append(reading.features)
            right.append(reading.answer == scope.find(name))
            served = serve(reading.features)
            if served and rng.random() >= 0.05:
                continue
        truth, new = scope.answer(name)
        scope.hood.learn(x, truth, reading, new)
        if not served:
            scope.keep(shelf.add(row, name), name)
    return np.array(rows), np.array(right)


def fit(parts: Sequence[tuple[Floats, NDArray[np.bool_], float]]) -> Prior:
    """`parts`: readings, right, weight of the domain."""
    x = np.concatenate([f for f, _, _ in parts])
    y = np.concatenate([r for _, r, _ in parts])
    w = np.concatenate([np.full(len(r), weight / len(r)) for _, r, weight in parts])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    model = LogisticRegression(C=0.3, max_iter=2000)
    model.fit(np.clip((x - mean) / scale, -6, 6), y, sample_weight=w / w.mean())
    return Prior(mean, scale, np.append(model.coef_[0], model.intercept_))


def train(sources: Sequence[Domain], seeds: int) -> Prior:
    serve: Callable[[Floats], bool] = by_margin
    for first in (0, 1000):
        parts = []
        for d in sources:
            drawn = [readings(d.draw(first + s), serve, s) for s in range(seeds)]
            rows, right = (np.concatenate(v) for v in zip(*drawn, strict=True))
            parts.append((rows, right, NOISY.get(d.name, 1.0)))
        prior = fit(parts)
        serve = by_prior(prior, 0.06)
    return prior


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("tune", "report"), help="only classes of this part of dev/")
    parser.add_argument("--without", action="append", default=[], help="leave a source out")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    sources = [d for d in domains(args.data, args.vectors, args.part) if d.name not in args.without]
    prior = train(sources, args.seeds)
    np.savez(args.out, mean=prior.mean, scale=prior.scale, weights=prior.weights)
    for name, weight in zip((*FEATURES, "intercept"), prior.weights, strict=True):
        print(f"{name:16s} {weight:+.3f}")


if __name__ == "__main__":
    main()
