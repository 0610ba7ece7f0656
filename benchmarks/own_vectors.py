r"""Pictures compared by vectors of the owner's (`vector=`): hits and wrong answers among them, through a layer.

    python benchmarks/own_vectors.py --out benchmarks/results/own_vectors.json

Needs scikit-learn for its 1,797 scanned digits (Alpaydin & Kaynak 1998, CC BY 4.0). The vector is the picture's own
64 pixels, normalized; the backend tells the digit. Streams start empty and without labels, each picture is asked once,
in a random order; calls for checks are subtracted from the hits. Nothing in the decider was fitted to pictures.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import numpy as np
from record import heading, keep, parser_of

from cachelayer import CacheLayer, Policy

BOUNDS = (0.01, 0.02, 0.05)


async def stream(pictures: Any, digits: Any, bound: float, seed: int) -> tuple[float, float]:
    """(net hit rate, share wrong among similar hits) of one order."""
    truth = {picture.tobytes(): int(digit) for picture, digit in zip(pictures, digits, strict=True)}
    layer, calls = CacheLayer(policy=Policy(max_error_rate=bound)), 0

    @layer.cached(vector=lambda picture: picture / np.linalg.norm(picture))
    async def read(picture: Any) -> str:
        nonlocal calls
        calls += 1
        return str(truth[picture.tobytes()])

    hits = wrong = 0
    async with layer:
        for at in np.random.default_rng(seed).permutation(len(pictures)):
            outcome = await read.outcome(pictures[at])
            hits += outcome.match == "similar"
            wrong += outcome.answer != str(digits[at])
            await layer.flush()
    return 1.0 - calls / len(pictures), wrong / max(hits, 1)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--shuffles", type=int, default=10)
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    args = parser.parse_args()
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    rows = []
    for bound in BOUNDS:
        runs = []
        for seed in range(args.shuffles):
            runs.append(asyncio.run(stream(pictures.astype(np.float32), digits, bound, seed)))
            print(f"max_error_rate={bound}, order {seed + 1} of {args.shuffles}", file=sys.stderr, end="\r")
        net, errors = zip(*runs, strict=True)
        held = sum(error <= bound for error in errors)
        rows.append({"max_error_rate": bound, "net": float(np.mean(net)), "wrong": float(np.mean(errors)),
                     "worst": max(errors), "held": held, "runs": len(runs)})  # fmt: skip
        print(
            f"{bound}: net hits {np.mean(net):.3f}, wrong {np.mean(errors):.4f} of them, held {held} of {len(runs)}"
        )
    keep(args.out, {**heading("python " + " ".join(sys.argv)), "rows": rows})


if __name__ == "__main__":
    main()
