"""How alike the texts are whose nearest entry is the same one: of honest entries, and of a hub placed in the middle.

    python -m benchmarks.hubs STREAM.jsonl.gz ... --vectors DIR

Every k-th request of a stream is an entry, the others look it up. For entries that are nearest to at least 16 texts at
a cosine of 0.6 or more, the mean cosine between those texts is compared with the level below which
`cachelayer.semantic.quarantine` may call an entry a hub. The hub is the worst case, the normalized mean of all
requests: nobody has a text with that vector.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from decide.data import Stream, load
from numpy.typing import NDArray
from record import parser_of

from cachelayer.semantic.quarantine import LOOKUPS, NEAR, UNLIKE

Vectors = NDArray[np.float32]


def likenesses(entries: Vectors, asked: Vectors) -> dict[int, tuple[int, float]]:
    """Entry -> (texts it was the nearest of, mean cosine between two of them)."""
    scores = asked @ entries.T
    nearest, best = scores.argmax(axis=1), scores.max(axis=1)
    found = {}
    for entry in range(len(entries)):
        rows = asked[(nearest == entry) & (best >= NEAR)]
        n = len(rows)
        if n >= LOOKUPS:
            total = rows.sum(axis=0)
            found[entry] = n, (float(total @ total) - n) / (n * (n - 1))
    return found


def measured(stream: Stream, every: int) -> str:
    """A line of the table."""
    held = np.arange(len(stream.texts)) % every == 0
    entries, asked = stream.vectors[held], stream.vectors[~held]
    honest = likenesses(entries, asked)
    low = min((share for _, share in honest.values()), default=float("nan"))
    below = sum(share < UNLIKE for _, share in honest.values())
    middle = stream.vectors.mean(axis=0)
    hub = likenesses(np.vstack([entries, middle / np.linalg.norm(middle)]), asked).get(len(entries))
    told = f"{hub[1]:.2f} over {hub[0]}" if hub else "not near enough"
    return f"| {stream.name} | {every} | {len(honest)} | {low:.2f} | {below} | {told} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("streams", type=Path, nargs="+", help="files of {q, cls} lines")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--limit", type=int, default=8000, help="requests of each stream (default 8000)")
    args = parser.parse_args()
    print("| stream | one entry in | entries with 16 texts | least alike | below 0.55 | hub in the middle |")
    print("|---|---|---|---|---|---|")
    for path in args.streams:
        stream = load(path, args.vectors)
        for part in ("tune", "report"):
            some = stream.of_part(part)
            some = some.take(np.arange(min(args.limit, len(some.texts))))
            named = Stream(f"{some.name}, {part}", some.texts, some.classes, some.vectors)
            for every in (10, 40, 160):
                print(measured(named, every), flush=True)


if __name__ == "__main__":
    main()
