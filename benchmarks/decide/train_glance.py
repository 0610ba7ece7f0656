"""Fit what a reading by a guessed vector is worth: the prior by which `EvidenceDecider.glance` decides.

    python -m benchmarks.decide.train_glance --data DATA --vectors DIR --out cachelayer/semantic/weights/glance.npz

The streams of `train_risk` are replayed under the shipped prior, or `--prior`; every request is read by its guess as
well, and a logistic regression is fitted to what the neighbours alone may decide by it. The tables that make guesses
(train_guess) never saw these streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from record import parser_of

from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.evidence.function import Function
from cachelayer.semantic.evidence.judging import PROVEN, Judge
from cachelayer.semantic.evidence.neighbours import FEATURES, Reading
from cachelayer.semantic.evidence.risk import Prior
from cachelayer.semantic.evidence.scope import Scope
from cachelayer.semantic.evidence.wording import Signatures
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Query

from .data import Stream
from .replay import Shelf
from .train_risk import Floats, Part, by_prior, domains, fit, replay

SERVED = 0.06
"""Risk up to which a hit is served."""


class Glances:
    """Readings by guesses while a stream is served by its vectors."""

    def __init__(self, embedder: OnnxEmbedder, serve: Callable[[Floats], bool]) -> None:
        self._embedder, self._serve = embedder, serve
        self._guesses: dict[str, NDArray[np.float32] | None] = {}

    def __call__(self, stream: Stream, seed: int) -> tuple[Floats, NDArray[np.bool_]]:
        """(n, d) readings and (n,) whether the best answer was right."""
        fn = Function(stream.vectors.shape[1], Prior.load(), Signatures())
        judge = Judge(PairVerifier())
        rows: list[Floats] = []
        right: list[bool] = []

        def seen(scope: Scope, shelf: Shelf, row: int, reading: Reading | None) -> None:
            text = stream.texts[row]
            guess = self._guess(text)
            if guess is None or scope.hood.labelled < PROVEN:
                return
            judged = judge.glance(fn, scope, Query(text, guess), shelf.search(guess))
            if judged is not None and judged.reading is not None:
                rows.append(np.array(judged.reading.features))
                right.append(judged.answer == scope.find(stream.classes[row]))

        replay(stream, self._serve, seed, seen)
        return np.array(rows), np.array(right)

    def _guess(self, text: str) -> NDArray[np.float32] | None:
        if text not in self._guesses:
            self._guesses[text] = self._embedder.guess(text)
        return self._guesses[text]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prior", type=Path, help="by which hits are served (default: the shipped one)")
    parser.add_argument("--part", choices=("tune", "report"), help="only classes of this part of dev/")
    parser.add_argument("--seeds", type=int, default=2, help="streams drawn of each source (default 2)")
    args = parser.parse_args()
    embedder = OnnxEmbedder(workers=1)
    asyncio.run(embedder.start())
    serving = Prior(**np.load(args.prior)) if args.prior else Prior.load()
    read, parts = Glances(embedder, by_prior(serving, SERVED)), list[Part]()
    for domain in domains(args.data, args.vectors, args.part):
        drawn = [read(domain.draw(1000 + seed), seed) for seed in range(args.seeds)]
        rows, right = (np.concatenate(v) for v in zip(*drawn, strict=True))
        print(f"  {domain.name}: {len(right)} readings, {right.mean():.3f} right", flush=True)
        parts.append((rows, right, domain.weight))
    prior = fit(parts)
    np.savez(args.out, mean=prior.mean, scale=prior.scale, weights=prior.weights)
    for name, weight in zip((*FEATURES, "intercept"), prior.weights, strict=True):
        print(f"{name:24s} {weight:+.3f}")


if __name__ == "__main__":
    main()
