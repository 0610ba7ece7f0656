"""Fit what tells stories that change an answer from what only sets the scene of a question.

    python -m benchmarks.decide.train_stories --out OUT.npz

Logistic regression on the pairs of told_pairs.txt where one text tells more. What ships with it are mean and spread of
the scores of traps whose question was kept out of the fit: the risk of a score is the share of a normal curve above it.
"""

from __future__ import annotations

import asyncio
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from record import parser_of

from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.guards.stories import SAID, Story, covered, repeated
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words

from .pairs_data import by_hand
from .weights import write

TOLD = Path(__file__).with_name("told_pairs.txt")
PENALTY = 2.0
FOLDS = 10
_SCALE = np.array([5.0, 10 / 3, 5.0, *[1.0] * len(SAID)])
"""By which measures are multiplied before all weights pay one penalty; vectors by four."""

Floats = NDArray[np.float64]


def measured(path: Path) -> tuple[Floats, NDArray[np.bool_], list[int]]:
    """Measures of each pair of which one text tells more, whether it takes the same answer, and its fold."""
    table, rows, same, folds = words(), list[list[float]](), list[bool](), list[int]()
    found = list(by_hand(path))
    vectors = asyncio.run(_vectors(sorted({text for _, *pair in found for text in pair})))
    for kind, *texts in found:
        one, other = (read(text, table) for text in texts)
        mine, there = one.parts, other.parts
        if bool(mine.statements) == bool(there.statements):
            continue
        if there.statements:
            other, mine = one, there
        more = [words for words in mine.statements if not repeated(words, other, table)]
        if left := [w for words in more for w in words if not covered(w, other, table)]:
            cosine = float(vectors[texts[0]] @ vectors[texts[1]])
            rows.append(Story(more, left, other.signature.vocabulary).measures(cosine, table))
            same.append(kind.startswith("same "))
            folds.append(zlib.crc32(other.text.lower().encode()) % FOLDS)
    return np.array(rows), np.array(same), folds


async def _vectors(texts: list[str]) -> dict[str, NDArray[np.float32]]:
    embedder = OnnxEmbedder()
    await embedder.start()
    found = dict(zip(texts, (await embedder.embed(texts)).vectors, strict=True))
    await embedder.aclose()
    return found


def fit(x: Floats, same: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Weights and start of a logistic regression whose weights pay a penalty, by Newton's method."""
    scale = np.concatenate([_SCALE, np.full(x.shape[1] - len(_SCALE), 4.0)])
    middle = x.mean(0)
    z = np.concatenate([(x - middle) * scale, np.ones((len(x), 1))], axis=1)
    w, costs = np.zeros(z.shape[1]), np.append(np.full(x.shape[1], PENALTY), 1e-6)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-z @ w))
        slope = z.T @ (p - same) + costs * w
        w -= np.linalg.solve((z * (p * (1.0 - p))[:, None]).T @ z + np.diag(costs), slope)
    weights = w[:-1] * scale
    return weights, float(w[-1] - weights @ middle)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    x, same, folds = measured(TOLD)
    scores, fold = np.zeros(len(x)), np.array(folds)
    for k in sorted(set(folds)):
        weights, start = fit(x[fold != k], same[fold != k])
        scores[fold == k] = x[fold == k] @ weights + start
    above = [(scores[same] > s).mean() for s in scores[~same]]
    weights, start = fit(x, same)
    traps = scores[~same]
    write(args.out, weights=weights.astype(np.float32), start=start, centre=traps.mean(), spread=traps.std())
    print(
        f"{len(x)} pairs, {same.sum()} the same; area under the curve without their question {np.mean(above):.3f}"
    )


if __name__ == "__main__":
    main()
