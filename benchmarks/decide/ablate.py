"""What each guard that forbids is worth: how many pairs it alone keeps apart, and at how many calls.

    python -m benchmarks.decide ablate --kept DIR
    python -m benchmarks.decide ablate --kept DIR --data DATA

Of all pairs written by hand (benchmarks/decide/*_pairs.txt and written/), and with --data of QQP's labelled pairs too
(many `different` ones of those that are near are the same question), each guard is asked on its own.
Counted are the pairs that it objects to; those that no other guard objects to; and those of them that the trees would
then serve at a risk of .05 and of .01. `calls`: function calls of Python and C in asking it once, on an average pair:
a count, which a busy machine does not change. Pairs that are one request typed differently are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from corpus import rows_of
from record import command_of

from cachelayer.semantic.guards.courses import courses
from cachelayer.semantic.guards.mentions import mentions
from cachelayer.semantic.guards.orders import orders
from cachelayer.semantic.guards.plain import FACTS, GUARDS
from cachelayer.semantic.guards.plain import Guard as Plain
from cachelayer.semantic.guards.relations import ANYWHERE, NEARBY, nearby
from cachelayer.semantic.guards.slots import slot
from cachelayer.semantic.guards.strangers import compounds, strangers
from cachelayer.semantic.pairs.features import features
from cachelayer.semantic.pairs.repeated import repeats
from cachelayer.semantic.text.reading import Reading
from cachelayer.semantic.text.reading_cache import ReadingCache
from cachelayer.semantic.text.words import Words, words
from cachelayer.semantic.weights import load_judge

from .data import vectors
from .pairs import handmade
from .pairs_data import Pair, written

Guard = Callable[[Reading, Reading], bool]
RISKS = (0.05, 0.01)
HERE = Path(__file__).parent


def of_signatures(guard: Plain) -> Guard:
    return lambda a, b: guard(a.signature, b.signature)


def where_near(guard: Plain) -> Guard:
    return lambda a, b: nearby(a.signature, b.signature) and guard(a.signature, b.signature)


def of_table(guard: Callable[[Reading, Reading, Words], bool], table: Words) -> Guard:
    return lambda a, b: guard(a, b, table)


def guards() -> dict[str, Guard]:
    """All that forbid, in the order in which they are asked."""
    table, out = words(), dict[str, Guard]()
    for name, plain in GUARDS:
        if name in (*FACTS, "language"):
            out[name] = of_signatures(plain)
    for guard in ANYWHERE:
        out[guard.__name__] = of_signatures(guard)
    for guard in NEARBY:
        out[f"{guard.__name__}, nearby"] = where_near(guard)
    out["foreign words"] = lambda a, b: (
        (a.foreign or b.foreign) and a.signature.content != b.signature.content
    )
    for late in (courses, slot, compounds, strangers):
        out[late.__name__] = of_table(late, table)
    out["mention"] = lambda a, b: mentions(a, b)
    out["orders"] = lambda a, b: orders(a, b)
    return out


def found(data: Path | None) -> Iterator[Pair]:
    for path in sorted(HERE.glob("*_pairs.txt")):
        yield from handmade(path)
    yield from written()
    for r in rows_of(data / "dev/pairs_qqp.jsonl.gz") if data is not None else ():
        yield Pair(r["q1"], r["q2"], bool(r["same"]), "qqp", "tune", "qqp")


def calls(guard: Guard, read: list[tuple[Reading, Reading]]) -> float:
    """Function calls of Python and C on an average pair, its own included."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    for a, b in read:
        sys.setprofile(profile)
        guard(a, b)
        sys.setprofile(None)
        count -= 2  # the call of `setprofile` and that of the guard's wrapper
    return count / len(read)


def counted(pairs: list[Pair], kept: Path) -> None:
    """Print a row of each guard."""
    texts = sorted({text for p in pairs for text in (p.a, p.b)})
    at = {text: i for i, text in enumerate(texts)}
    near = vectors(texts, kept / f"ablate-{len(texts)}.npy")
    asked, kept_apart, table = guards(), Counter[tuple[str, str, str]](), words()
    readings, judge = ReadingCache(64 * 2**20), load_judge("pairs")
    sample: list[tuple[Reading, Reading]] = []
    for p in pairs:
        a, b = readings.get(p.a, table), readings.get(p.b, table)
        if repeats(a, b):
            continue
        if p.source != "qqp" and len(sample) < 2000:
            sample.append((a, b))
        objecting = [name for name, guard in asked.items() if guard(a, b)]
        group = ("qqp " if p.source == "qqp" else "") + ("true" if p.same else "trap")
        kept_apart.update((name, group, "objects") for name in objecting)
        if len(objecting) == 1:
            risk = 1.0 - judge.probabilities([features(a, b, float(near[at[p.a]] @ near[at[p.b]]), table)])[0]
            kept_apart[objecting[0], group, "alone"] += 1
            kept_apart.update((objecting[0], group, f"at {r}") for r in RISKS if risk <= r)
    groups = [g for g in ("trap", "true", "qqp trap", "qqp true") if any(key[1] == g for key in kept_apart)]
    columns = ("objects", "alone", *(f"at {r}" for r in RISKS))
    heads = [f"{g}: {', '.join(columns)}" for g in groups]
    print(f"| guard | {' | '.join(heads)} | calls |")
    print("|---" * (len(groups) + 2) + "|")
    for name, guard in asked.items():
        cells = [", ".join(str(kept_apart[name, g, c]) for c in columns) for g in groups]
        print(f"| `{name}` | {' | '.join(cells)} | {calls(guard, sample):.1f} |")


def add(commands: Any) -> None:
    """The command `ablate`."""
    parser = command_of(commands, "ablate", "what each guard is worth", __doc__)
    parser.add_argument("--kept", type=Path, required=True, help="folder that keeps the texts' vectors")
    parser.add_argument("--data", type=Path, help="folder with dev/pairs_qqp.jsonl.gz")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    counted(list(found(args.data)), args.kept)
    return 0
