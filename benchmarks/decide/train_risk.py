"""Fit the prior of the risk model: how readings foretell right answers in functions never seen.

    python -m benchmarks.decide.train_risk --data DATA --vectors DIR --out cachelayer/semantic/weights/risk.npz

Streams are replayed with the library's own reading of neighbours and words; a logistic regression is fitted to
(reading, right), every domain with its own weight. Two rounds: the second under the first's rule. Domains: streams
of intents, the same with one-edit traps put in, and templates of database questions where a value decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus import rows_of
from numpy.typing import NDArray
from record import parser_of
from sklearn.linear_model import LogisticRegression

from cachelayer.semantic.evidence.neighbours import FEATURES, Reading, Shared
from cachelayer.semantic.evidence.risk import Prior
from cachelayer.semantic.evidence.scope import Scope
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Query

from .data import Stream, load, vectors
from .edits import edit, trapped
from .replay import Shelf
from .sources import leaders

Floats = NDArray[np.float64]
WEIGHTS = {"hwu64": 0.3, "dstc11": 0.3, "advising": 0.3, "traps": 0.5}
"""Weight of domains whose classes are broader than an answer, and of made ones."""


@dataclass(frozen=True)
class Domain:
    """A source of streams; `draw(seed)` makes one."""

    name: str
    weight: float
    draw: Callable[[int], Stream]


def domains(data: Path, kept: Path, part: str | None, without: Sequence[str] = ()) -> list[Domain]:
    """`part`: only classes of this part of Banking77 and CLINC150; None for all of them."""
    out = []
    for name in ("banking77", "clinc150", "hwu64", "dstc11"):
        if name in without:
            continue
        ours = name in ("banking77", "clinc150")
        path = data / (f"dev/stream_{name}.jsonl.gz" if ours else f"train/open/{name}/texts.jsonl.gz")
        every = load(path, kept)
        stream = every.of_part(part) if ours and part else every
        draw = stream.shuffled if ours else _varied(stream)
        weight = WEIGHTS.get(name, 1.0)
        out += [
            Domain(name, weight, draw),
            Domain(f"{name} traps", weight * WEIGHTS["traps"], _trapped(draw, edits(every, kept))),
        ]
    if "advising" not in without:
        out.append(Domain("advising", WEIGHTS["advising"], _advising(data, kept)))
    return out


def _varied(stream: Stream) -> Callable[[int], Stream]:
    """Streams of a random number of classes, more or less evenly used."""
    most = len(set(stream.classes))

    def draw(seed: int) -> Stream:
        rng = np.random.default_rng(seed)
        return stream.zipf(seed, int(rng.integers(15, most)), float(rng.uniform(0.0, 1.2)), 4000)

    return draw


def edits(stream: Stream, kept: Path) -> dict[str, NDArray[np.float32]]:
    """Vectors of every edited text of a stream."""
    path = kept / f"edits-{stream.name.removeprefix('stream_')}.npy"
    made = sorted(
        {
            e[0]
            for text, name in zip(stream.texts, stream.classes, strict=True)
            for which in range(3)
            if (e := edit(text, name, which))
        }
    )
    return dict(zip(made, vectors(made, path), strict=True))


def _trapped(draw: Callable[[int], Stream], embed: dict[str, NDArray[np.float32]]) -> Callable[[int], Stream]:
    return lambda seed: trapped(draw(seed), embed, (0.1, 0.2, 0.35)[seed % 3], seed)


def _advising(data: Path, kept: Path) -> Callable[[int], Stream]:
    """Questions to a course catalogue: another value is another answer; some forty templates a stream."""
    pairs = [r for r in rows_of(data / "train/open/pairs.jsonl.gz") if r["src"] == "advising"]
    group = {r[side]: r["grp"] for r in pairs for side in "ab"}
    leader = leaders(group, [(r["a"], r["b"]) for r in pairs if r["same"]])
    texts = sorted(group)
    stream = Stream(
        "advising", texts, [leader[t] for t in texts], vectors(texts, kept / "pairs-advising.npy")
    )
    names = np.array([group[t] for t in texts])

    def draw(seed: int) -> Stream:
        rng = np.random.default_rng(seed)
        chosen = rng.choice(np.unique(names), 40, replace=False)
        return stream.take(rng.permutation(np.flatnonzero(np.isin(names, chosen)))[:4000])

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


Seen = Callable[[Scope, Shelf, int, Reading | None], None]
"""Told of each request before anything is learned of it: what is known, the row, what the neighbours say."""


def readings(stream: Stream, serve: Callable[[Floats], bool], seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(n, d) readings of a stream and (n,) whether the best answer was right."""
    rows: list[Floats] = []
    right: list[bool] = []

    def seen(scope: Scope, shelf: Shelf, row: int, reading: Reading | None) -> None:
        if reading is not None:
            rows.append(np.array(reading.features))
            right.append(reading.answer == scope.find(stream.classes[row]))

    replay(stream, serve, seed, seen)
    return np.array(rows), np.array(right)


def replay(stream: Stream, serve: Callable[[Floats], bool], seed: int, seen: Seen) -> None:
    """Serve a stream by this rule; 5 % of hits are checked."""
    rng = np.random.default_rng(seed)
    shelf = Shelf(stream)
    scope = Scope(stream.vectors.shape[1], Shared(stream.vectors.shape[1]))
    verifier = PairVerifier()
    for row, text in enumerate(stream.texts):
        x, name = stream.vectors[row], stream.classes[row]
        query, found = Query(text, x), shelf.search(x)
        known = scope.known(found)
        reading = None
        if known:
            reading = scope.hood.read(x, text, known, len(scope.entries))
            judged = verifier.judge(query, [found[i] for i in reading.asked])
            reading = reading.heard([p for p, _ in judged])
        seen(scope, shelf, row, reading)
        served = reading is not None and serve(np.array(reading.features))
        if served and rng.random() >= 0.05:
            continue
        truth, new = scope.answer(name)
        scope.hood.learn(x, text, truth, reading, new)
        if reading is not None:
            scope.hood.shared.record.learn(reading.objected, reading.answer != truth)
        if not served:
            scope.keep(shelf.add(row, name), name)


Part = tuple[Floats, NDArray[np.bool_], float]
"""Readings, right, weight of the domain."""


def fit(parts: Sequence[Part]) -> Prior:
    x = np.concatenate([f for f, _, _ in parts])
    y = np.concatenate([r for _, r, _ in parts])
    w = np.concatenate([np.full(len(r), weight / len(r)) for _, r, weight in parts])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    model = LogisticRegression(C=0.3, max_iter=2000)
    model.fit(np.clip((x - mean) / scale, -6, 6), y, sample_weight=w / w.mean())
    return Prior(mean, scale, np.append(model.coef_[0], model.intercept_))


def gather(sources: Sequence[Domain], seeds: int, serve: Callable[[Floats], bool], first: int) -> list[Part]:
    parts = []
    for d in sources:
        drawn = [readings(d.draw(first + s), serve, s) for s in range(seeds)]
        rows, right = (np.concatenate(v) for v in zip(*drawn, strict=True))
        parts.append((rows, right, d.weight))
        print(f"  {d.name}: {len(right)} readings, {right.mean():.3f} right", flush=True)
    return parts


def train(sources: Sequence[Domain], seeds: int) -> Prior:
    prior = fit(gather(sources, seeds, by_margin, 0))
    return fit(gather(sources, seeds, by_prior(prior, 0.06), 1000))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("tune", "report"), help="only classes of this part of dev/")
    parser.add_argument("--without", action="append", default=[], help="leave a source out")
    parser.add_argument("--seeds", type=int, default=2, help="streams drawn of each source (default 2)")
    args = parser.parse_args()
    prior = train(domains(args.data, args.vectors, args.part, args.without), args.seeds)
    np.savez(args.out, mean=prior.mean, scale=prior.scale, weights=prior.weights)
    for name, weight in zip((*FEATURES, "intercept"), prior.weights, strict=True):
        print(f"{name:24s} {weight:+.3f}")


if __name__ == "__main__":
    main()
