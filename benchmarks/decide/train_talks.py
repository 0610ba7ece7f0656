"""Fit the comparison of conversations: the judge of single turns, then that of whole contexts.

    python -m benchmarks.decide.train_talks --data DATA --wordnet DIR --kept DIR --out cachelayer/semantic/weights

Turns are judged by trees fitted to the pairs of train_pairs.py but those written by hand (with these more is served,
and more of it wrongly), with the similarity of the words in place of the embedder's: no turn is embedded. Contexts are
judged by few small trees over what contexts.py measures, fitted to the scripts of the part 'fit' in talks.txt and to
strings of requests; the risk of each score is set on 'tune'.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import parser_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from cachelayer.semantic.pairs.contexts import measures, serious
from cachelayer.semantic.text.reading import Reading, read
from cachelayer.semantic.text.words import words
from cachelayer.semantic.weights import Judge

from .pairs_data import BY_HAND, Pair
from .talk_strings import strings
from .talks import TalkPair, talks
from .train_pairs import balance, fit, flat, gather
from .weights import write

Floats = NDArray[np.float64]
CAUTION = 8.0
"""How many times the share of generated traps is foretold as risk."""
GRID = np.linspace(-5.0, 7.0, 49)


def turn_judge(found: list[Pair], x: NDArray[np.float32], trees: int) -> dict[str, NDArray[Any]]:
    """Arrays of the judge of turns. `x`: features as train_pairs.py reads them; the first column is replaced."""
    x = x.copy()
    reader = remembering()
    for i, p in enumerate(found):
        x[i, 0] = float(reader(p.a).mean @ reader(p.b).mean)
    mine = np.array([p.part == "fit" for p in found])
    y = np.array([p.same for p in found])
    model = fit(x[mine], y[mine], balance([p for p in found if p.part == "fit"]), trees)
    return {**flat(model), "grid": GRID, "risk": np.ones(len(GRID))}


def remembering() -> Callable[[str], Reading]:
    """A reader of texts that reads each once."""
    table, known = words(), dict[str, Reading]()

    def reader(text: str) -> Reading:
        if text not in known:
            known[text] = read(text, table)
        return known[text]

    return reader


def matrix(found: list[TalkPair], judge: Judge) -> NDArray[np.float32]:
    """(n, d): what contexts.py measures of each pair."""
    reader, table = remembering(), words()
    rows = []
    for i, p in enumerate(found):
        rows.append(measures(serious(p.a, reader), serious(p.b, reader), judge.logits, table))
        if i % 2000 == 0:
            print(f"  measures of {i} of {len(found)} conversations", flush=True)
    return np.array(rows, np.float32)


def risk_table(scores: Floats, found: list[TalkPair]) -> Floats:
    """Risk of each score of GRID: CAUTION times the share of traps above, kinds of traps alike."""
    shares = []
    for kind in sorted({p.kind for p in found if not p.same}):
        mine = scores[[p.kind == kind for p in found]]
        shares.append([(np.sum(mine >= g) + 0.5) / (len(mine) + 1) for g in GRID])
    return np.minimum.accumulate(np.minimum(1.0, CAUTION * np.mean(shares, axis=0)))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True, help="folder for vectors, outside the repository")
    parser.add_argument("--out", type=Path, required=True, help="folder of the weights")
    parser.add_argument("--trees", type=int, default=160)
    args = parser.parse_args()
    found, x = gather(args)
    drawn = np.array([not p.source.startswith(BY_HAND) for p in found])
    write(
        args.out / "turns.npz",
        **turn_judge([p for p, m in zip(found, drawn, strict=True) if m], x[drawn], args.trees),
    )
    fit_contexts(args.data, args.wordnet, args.out)


def fit_contexts(data: Path, wordnet: Path, out: Path) -> None:
    """Fit and write the judge of contexts, given that of turns."""
    with np.load(out / "turns.npz", allow_pickle=False) as arrays:
        judge = Judge(dict(arrays))
    drawn = {
        part: [*talks(part, n), *strings(part, n, data, wordnet)]
        for part, n in (("fit", 7000), ("tune", 3000))
    }
    x = {part: matrix(found, judge) for part, found in drawn.items()}
    y = {part: np.array([p.same for p in found]) for part, found in drawn.items()}
    model = HistGradientBoostingClassifier(
        max_iter=120, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=40, l2_regularization=5.0,
        early_stopping=False, random_state=0,
    ).fit(x["fit"], y["fit"])  # fmt: skip
    scores = model.decision_function(x["tune"])
    print(f"tune: AUC {roc_auc_score(y['tune'], scores):.4f}")
    write(out / "talks.npz", **flat(model), grid=GRID, risk=risk_table(scores, drawn["tune"]))


if __name__ == "__main__":
    main()
