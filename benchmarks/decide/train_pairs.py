"""Fit the pair verifier: does the answer to one request also answer another?

    python -m benchmarks.decide.train_pairs --data DATA --wordnet DIR --kept DIR --out OUT.npz

DATA holds dev/ and train/open/ as benchmarks/decide/sources.py reads them; WordNet's files draw edits and synonyms.
Pairs are generated with a fixed seed, embedded once (kept in --kept) and read with the library's own features; those
written by hand, in written/, are added to them. Trees are fitted to what no guard forbids of the part 'fit'. The risk
of a score is foretold from traps that were not fitted to: generated ones of the part 'tune', and those by hand of
each topic under trees that were fitted without it. 'report' is for `python -m benchmarks.decide pairs`. Some eight
minutes on two cores, three of them for the vectors. The same vectors give the same file, byte for byte; vectors are
those of the default embedder and may differ between processors.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import parser_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from cachelayer.semantic.pairs.features import FEATURES, features
from cachelayer.semantic.pairs.verifier import forbidding
from cachelayer.semantic.text.reading import Reading, read
from cachelayer.semantic.text.words import words
from cachelayer.semantic.weights.boosted import LEAVES

from .pair_vectors import Embedded, embed
from .pairs_data import BY_HAND, CLASSED, FAMILIES, Pair, near_other_class, pairs
from .sources import texts
from .weights import write

Floats = NDArray[np.float64]
LOOSE = 0.6
"""Cosine below which two requests of one class are not taken for the same."""
CAUTION = 2.5
"""How many times the share of generated traps is foretold as risk: traps by people are harder than generated ones."""
SHARE = 0.1
"""Weight of all pairs written by hand beside that of all others."""


def matrix(found: list[Pair], vectors: Embedded) -> NDArray[np.float32]:
    """(n, len(FEATURES)): what the library reads of each pair."""
    table = words()
    readings: dict[str, Reading] = {}
    out = np.empty((len(found), len(FEATURES)), np.float32)
    for i, p in enumerate(found):
        for text in (p.a, p.b):
            if text not in readings:
                readings[text] = read(text, table)
        out[i] = features(readings[p.a], readings[p.b], vectors.cosine(p.a, p.b), table)
        if i % 20_000 == 0:
            print(f"  features of {i} of {len(found)} pairs", flush=True)
    return out


def balance(found: list[Pair], of_hand: float = SHARE) -> Floats:
    """Weights: both labels alike in sum, in each a kind by the root of its number, those by hand by `of_hand`."""
    kinds = [f"{p.same}:{p.kind}" for p in found]
    many = Counter(kinds)
    w: Floats = np.array([p.weight / many[k] ** 0.5 for p, k in zip(found, kinds, strict=True)])
    same = np.array([p.same for p in found])
    hand = np.array([p.source.startswith(BY_HAND) for p in found])
    for label in (same, ~same):
        for mine, share in ((label & ~hand, 1.0), (label & hand, of_hand)):
            if mine.any():
                w[mine] *= share / w[mine].sum()
    w *= (~hand).sum() / 2.0
    return w


def fit(
    x: NDArray[np.float32], y: NDArray[np.bool_], w: Floats, trees: int
) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=trees, learning_rate=0.09, max_leaf_nodes=LEAVES, min_samples_leaf=60, l2_regularization=5.0,
        max_features=0.5, early_stopping=False, random_state=0,
    )  # fmt: skip
    return model.fit(x, y, sample_weight=w)


def flat(model: Any) -> dict[str, NDArray[Any]]:
    """The trees in the arrays that cachelayer.semantic.weights.boosted reads."""
    count = len(model._predictors)
    feature = np.zeros((count, LEAVES - 1), np.int16)
    threshold = np.full((count, LEAVES - 1), np.inf, np.float32)
    mask = np.full((count, LEAVES - 1), 0xFFFFFFFF, np.uint32)
    value = np.zeros((count, LEAVES), np.float32)
    for t, (tree,) in enumerate(model._predictors):
        _walk(tree.nodes, 0, [0, 0], feature[t], threshold[t], mask[t], value[t])
    start = np.array(float(np.ravel(model._baseline_prediction)[0]))
    return {"feature": feature, "threshold": threshold, "mask": mask, "value": value, "start": start}


def _walk(nodes: Any, at: int, seen: list[int], feature: Any, threshold: Any, mask: Any, value: Any) -> None:
    """Number leaves from left to right; `seen`: inner nodes and leaves numbered so far."""
    node = nodes[at]
    if node["is_leaf"]:
        value[seen[1]] = node["value"]
        seen[1] += 1
        return
    mine, first = seen[0], seen[1]
    seen[0] += 1
    feature[mine], threshold[mine] = node["feature_idx"], _down(node["num_threshold"])
    _walk(nodes, node["left"], seen, feature, threshold, mask, value)
    ruled_out = ((1 << seen[1]) - 1) & ~((1 << first) - 1)
    mask[mine] = 0xFFFFFFFF & ~ruled_out
    _walk(nodes, node["right"], seen, feature, threshold, mask, value)


def _down(threshold: float) -> np.float32:
    """The nearest float32 that is not above, so that no float32 value changes sides."""
    near = np.float32(threshold)
    return near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf))


def risk_table(generated: Floats, found: list[Pair], by_hand: Floats) -> tuple[Floats, Floats]:
    """Log odds and the risk of each: the share of traps that score higher, the larger of two.

    CAUTION times that of `generated` scores, of the traps `found`, families alike; and that of those `by_hand`. Of
    questions those by hand speak alone: most generated ones are asked by nobody ('Who is the role of melatonin?').
    """
    grid = np.linspace(-4.0, 9.0, 209)
    shares = []
    for kinds in (k for name, k in FAMILIES.items() if name != "question"):
        mine = generated[[p.kind.removeprefix("trap:") in kinds for p in found]]
        shares.append(_above(mine, grid))
    risk = np.minimum(1.0, np.maximum(CAUTION * np.mean(shares, axis=0), _above(by_hand, grid)))
    return grid, np.minimum.accumulate(risk)


def _above(scores: Floats, grid: Floats) -> Floats:
    """The share of `scores` from each point of the grid on."""
    ordered = np.sort(scores)
    return (len(ordered) - np.searchsorted(ordered, grid) + 0.5) / (len(ordered) + 1)


def forbidden(found: list[Pair]) -> NDArray[np.bool_]:
    """(n,): whether a guard forbids the pair; the trees are not asked then."""
    table, known = words(), dict[str, Reading]()
    out = np.zeros(len(found), bool)
    for i, p in enumerate(found):
        for text in (p.a, p.b):
            if text not in known:
                known[text] = read(text, table)
        out[i] = bool(forbidding(known[p.a], known[p.b], table))
        if i % 20000 == 0:
            print(f"  guards of {i} of {len(found)} pairs", flush=True)
            known.clear()
    return out


class Trees:
    """The pairs, and trees fitted to some of them."""

    def __init__(
        self,
        found: list[Pair],
        x: NDArray[np.float32],
        barred: NDArray[np.bool_],
        many: int,
        of_hand: float = SHARE,
    ) -> None:
        self.found, self.x, self.barred = found, x, barred
        self.many, self.of_hand = many, of_hand
        self.y = np.array([p.same for p in found])
        self.part = np.array([p.part for p in found])
        self.topic = np.array([p.source if p.source.startswith(BY_HAND) else "" for p in found])

    def fit(self, without: str = "") -> HistGradientBoostingClassifier:
        """To the part 'fit' of what no guard forbids, but for one topic."""
        mine = (self.part == "fit") & ~self.barred
        if without:
            mine &= self.topic != without
        chosen = [p for p, m in zip(self.found, mine, strict=True) if m]
        return fit(self.x[mine], self.y[mine], balance(chosen, self.of_hand), self.many)

    def scores(self, model: HistGradientBoostingClassifier, mine: NDArray[np.bool_]) -> Floats:
        """-inf for what a guard forbids."""
        return np.where(self.barred[mine], -np.inf, model.decision_function(self.x[mine]))

    def by_hand(self) -> Floats:
        """Scores of the traps by hand, each under trees that were fitted without its topic."""
        out = []
        for topic in sorted(set(self.topic) - {""}):
            traps = (self.topic == topic) & ~self.y
            out.append(self.scores(self.fit(without=topic), traps))
            print(f"  {topic}: {traps.sum()} traps, {np.isfinite(out[-1]).sum()} not forbidden", flush=True)
        return np.concatenate(out)


def gather(args: argparse.Namespace, further: Sequence[Pair] = ()) -> tuple[list[Pair], NDArray[np.float32]]:
    """All pairs and their features, from the folders `data`, `wordnet` and `kept` of `args`."""
    found = [*pairs(args.data, args.wordnet), *further]
    classed = [t for t in texts(args.data) if t.source in CLASSED]
    vectors = embed([*(x for p in found for x in (p.a, p.b)), *(t.text for t in classed)], args.kept)
    found = [p for p in found if p.kind != "class" or vectors.cosine(p.a, p.b) >= LOOSE]
    found += near_other_class(classed, vectors)
    print(f"{len(found)} pairs")
    return found, matrix(found, vectors)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True, help="folder for vectors, outside the repository")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trees", type=int, default=240)
    args = parser.parse_args()
    found, x = gather(args)
    trees = Trees(found, x, forbidden(found), args.trees)
    model = trees.fit()
    tune = trees.part == "tune"
    scores = trees.scores(model, tune)
    free = np.isfinite(scores)
    print(f"tune: AUC {roc_auc_score(trees.y[tune][free], scores[free]):.4f} of what no guard forbids")
    tuned = [p for p, m in zip(found, tune, strict=True) if m]
    grid, risk = risk_table(scores, tuned, trees.by_hand())
    write(args.out, **flat(model), grid=grid, risk=risk)


if __name__ == "__main__":
    main()
