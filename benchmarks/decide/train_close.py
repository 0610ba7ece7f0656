"""Fit what judges two requests that were read closely, token by token.

    python -m benchmarks.decide.train_close --data DATA --wordnet DIR --kept DIR --out OUT.npz

As train_pairs does, on its pairs and those in written/closely/, with the measures of semantic/pairs/closeness.py
beside the features. What is read closely is a near candidate, so of the traps by hand the table of risks hears those
that come near. Some fifteen minutes on two cores; the tokens of all texts take 3 GB of memory.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.pairs.closeness import CLOSENESS, Tokens, closeness

from .pairs_data import WRITTEN, Pair, written
from .train_pairs import Trees, flat, forbidden, gather, risk_table

FURTHER = WRITTEN / "closely"
OF_HAND = 0.3
"""Weight of all pairs written by hand beside that of all others; .2 to .4 were alike on topics not fitted to."""
NEAR = 0.6
"""Cosine from which a trap by hand is heard by the table of risks."""
TREES = 240
_BATCH = 256


async def tokens(texts: list[str]) -> dict[str, Tokens]:
    """Of every text that the model can read whole."""
    embedder, found = OnnxEmbedder(), dict[str, Tokens]()
    await embedder.start()
    for at in range(0, len(texts), _BATCH):
        part = texts[at : at + _BATCH]
        read = zip(part, await embedder.read_tokens(part), strict=True)
        found.update((text, seen) for text, seen in read if seen is not None)
        if at % (80 * _BATCH) == 0:
            print(f"  tokens of {at} of {len(texts)} texts", flush=True)
    await embedder.aclose()
    return found


def measured(found: list[Pair], x: NDArray[np.float32]) -> tuple[list[Pair], NDArray[np.float32]]:
    """The pairs that can be read closely, and their features with those measures."""
    seen = asyncio.run(tokens(sorted({text for p in found for text in (p.a, p.b)})))
    kept = [i for i, p in enumerate(found) if p.a in seen and p.b in seen]
    more = np.empty((len(kept), len(CLOSENESS)), np.float32)
    for row, i in enumerate(kept):
        more[row] = closeness(seen[found[i].a], seen[found[i].b])
    return [found[i] for i in kept], np.concatenate([x[kept], more], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True, help="folder for vectors, outside the repository")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found, x = measured(*gather(args, written(FURTHER)))
    trees = Trees(found, x, forbidden(found), TREES, OF_HAND)
    model, tune = trees.fit(), trees.part == "tune"
    tuned = [p for p, m in zip(found, tune, strict=True) if m]
    grid, risk = risk_table(trees.scores(model, tune), tuned, trees.by_hand(NEAR))
    np.savez_compressed(args.out, **flat(model), grid=grid, risk=risk)
    print(f"{args.out}: {args.out.stat().st_size / 1e3:.0f} KB")


if __name__ == "__main__":
    main()
