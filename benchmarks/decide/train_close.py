"""Fit what judges two requests that were read closely, token by token.

    python -m benchmarks.decide.train_close --data DATA --wordnet DIR --kept DIR --out OUT.npz

As train_pairs does, on its pairs and those in written/closely/, with the measures of semantic/pairs/late_interaction.py
beside the features. Both readings count: the table of risks is that of their log odds, `CLOSER` of these trees' and
the rest of those that ship in pairs.npz. What is read closely is a near candidate, so of the traps by hand it counts
those that come near. Some twenty minutes on two cores; the tokens of all texts take 3 GB of memory.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from record import parser_of

from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.pairs.features import FEATURES
from cachelayer.semantic.pairs.late_interaction import CLOSENESS, CLOSER, Tokens, closeness
from cachelayer.semantic.weights import load_judge

from .pairs_data import WRITTEN, Pair, written
from .train_pairs import Floats, Trees, flat, forbidden, gather, risk_table
from .weights import write

FURTHER = WRITTEN / "closely"
OF_HAND = 0.3
"""Weight of all pairs written by hand beside that of all others; .2 to .4 were alike on topics not fitted to."""
NEAR = 0.6
"""Cosine from which a trap by hand counts in the table of risks."""
TREES = 240
OVERSTATED = 1.5
"""How many times too large a risk is that was foretold by trees without its topic: what ships knows them all. Of sets
of pairs that were read when guards were written, none was served more of its traps than the bound then says."""
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


def both(closely: Floats, first: Floats) -> Floats:
    """The log odds by both readings."""
    return CLOSER * closely + (1.0 - CLOSER) * first


def traps_by_hand(closely: Trees, first: Trees) -> Floats:
    """Scores of the near traps by hand, each under trees of both readings that were fitted without its topic."""
    out, near = [], closely.x[:, FEATURES.index("cosine")] >= NEAR
    for topic in sorted(set(closely.topic) - {""}):
        traps = (closely.topic == topic) & ~closely.y & near
        models = closely.fit(without=topic), first.fit(without=topic)
        out.append(both(closely.scores(models[0], traps), first.scores(models[1], traps)))
        print(f"  {topic}: {traps.sum()} traps, {np.isfinite(out[-1]).sum()} not forbidden", flush=True)
    return np.concatenate(out)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True, help="folder for vectors, outside the repository")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found, x = measured(*gather(args, written(FURTHER)))
    barred, further = forbidden(found), {p.source for p in written(FURTHER)}
    trees, first = Trees(found, x, barred, TREES, OF_HAND), Trees(found, x[:, : len(FEATURES)], barred, TREES)
    first.part[np.isin(first.topic, sorted(further))] = ""  # what ships was not fitted to them
    model, tune = trees.fit(), trees.part == "tune"
    tuned = [p for p, m in zip(found, tune, strict=True) if m]
    scores = both(trees.scores(model, tune), np.array(load_judge("pairs").logits(first.x[tune])))
    grid, risk = risk_table(scores, tuned, traps_by_hand(trees, first))
    write(args.out, **flat(model), grid=grid, risk=risk / OVERSTATED)


if __name__ == "__main__":
    main()
