"""Pairs of requests with the question whether one answer serves both: from data sets and from the generators.

Negatives are one-edit traps, alone and inside rewordings; natural pairs that differ in one slot; and near neighbours of
another class. Positives are rewordings, near repeats, annotated paraphrases and close requests of one class. Pairs of
both kinds were written by hand, a file a topic.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus import rows_of

from cachelayer.semantic.guards.plain import FACTS, GUARDS
from cachelayer.semantic.pairs.verifier import forbidding
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.words import words

from .pair_vectors import Embedded
from .rewordings import Reworder
from .roles import role_base
from .sources import PARTS, Text, part_of, texts
from .traps import Trapper
from .wordnet import WordNet

CLASSED = ("banking77", "clinc150", "dstc11")
"""Sources whose classes are narrow enough that close requests of one class take one answer."""
GENERAL = ("cast", "mtrag", "qald")
FAMILIES = {
    "number": ("number", "year", "unit", "identifier"), "date": ("date",), "entity": ("entity", "noun"),
    "negation": ("negation", "antonym"), "scope": ("scope", "added", "modifier", "dropped"), "role": ("role",),
    "question": ("question", "verb"),
}  # fmt: skip
"""Kinds of edits by what they change."""
GUARD = dict(GUARDS)
PER_KIND = 900
"""Annotated pairs taken of one kind at most."""
WRITTEN = Path(__file__).with_name("written")
BY_HAND = "written:"
"""How the source of such pairs begins; the topic follows."""


@dataclass(frozen=True, slots=True)
class Pair:
    """`kind` names its making: 'trap:date', 'reworded', 'class', ..."""

    a: str
    b: str
    same: bool
    kind: str
    part: str
    source: str
    weight: float = 1.0


def pairs(data: Path, wordnet: Path, seed: int = 0, scale: float = 0.45) -> list[Pair]:
    """All of them, shuffled within each part, no pair twice. `scale` multiplies how many are generated."""
    net, everything, out = WordNet(wordnet), texts(data), []
    for part in PARTS:
        rng = random.Random(f"{seed}:{part}")
        mine = [t for t in everything if t.part == part and 3 <= len(t.text.split()) <= 35]
        made = [
            *_generated(mine, part, net, rng, scale),
            *_roles(part, net, rng, scale),
            *_classed(mine, part, rng),
        ]
        rng.shuffle(made)
        out += made
    out += _annotated(data, seed)
    out += written()
    rng = random.Random(seed)
    kept = [p for p in out if p.a.strip() and p.b.strip() and (p.kind != "equal" or rng.random() < 0.15)]
    kept = [
        p for p in kept if not (p.same and ("same-intent" in p.kind or p.kind == "class") and _forbidden(p))
    ]
    return list({(p.a, p.b): p for p in kept}.values())


def _generated(mine: list[Text], part: str, net: WordNet, rng: random.Random, scale: float) -> Iterator[Pair]:
    reword, trap = Reworder(part, net), Trapper(part, net)
    share = {"snips": 0.25, "hwu64": 0.4, "banking77": 0.6, "clinc150": 0.6}
    used: Counter[str] = Counter()
    for base in mine:
        rounds = 3 if base.source in GENERAL else 1
        if rounds == 1 and rng.random() > share.get(base.source, 1.0) * scale:
            continue
        for _ in range(rounds):
            x = base.text
            greeting = _greeting(x)
            y = reword(x, rng)
            yield Pair(x, y, True, "reworded" if y != x else "equal", part, base.source)
            yield Pair(reword(x, rng), reword(x, rng), True, "reworded-both", part, base.source)
            yield Pair(x, reword.repeat(x, rng), True, "repeat", part, base.source)
            for other in (x, y, reword(x, rng)):
                rare = sorted(trap.edits, key=lambda k: used[k] * (0.5 + rng.random()))[:8]
                edited = trap(x[greeting:], rng, rare)
                if edited is not None:
                    used[edited[1]] += 1
                    changed = x[:greeting] + edited[0]
                    if other is not x and rng.random() >= 0.4:
                        changed = reword(changed, rng)
                    yield Pair(other, changed, False, f"trap:{edited[1]}", part, base.source)


def _forbidden(p: Pair) -> bool:
    """Of one class, and yet 'from home to work' / 'from work to home': the label says too much."""
    table = words()
    return bool(forbidding(read(p.a, table), read(p.b, table), table))


_GREETING = re.compile(r"good (?:morning|afternoon|evening|day)\b\W*", re.IGNORECASE)


def _greeting(text: str) -> int:
    """Where it begins in earnest: no trap is made of 'Good morning' and 'Good evening'."""
    found = _GREETING.match(text)
    return found.end() if found else 0


def _roles(part: str, net: WordNet, rng: random.Random, scale: float) -> Iterator[Pair]:
    """Requests with two places: swapped, one exchanged, and as many reworded only."""
    reword, trap = Reworder(part, net), Trapper(part, net)
    for _ in range(int((3000 if part == "fit" else 700) * scale)):
        x, swapped = role_base(rng, part)
        yield Pair(
            x, swapped if rng.random() < 0.5 else reword(swapped, rng), False, "trap:role", part, "roles"
        )
        yield Pair(x, reword(x, rng), True, "reworded", part, "roles")
        if rng.random() < 0.5:
            yield Pair(reword(x, rng), reword.repeat(x, rng), True, "reworded-both", part, "roles")
        edited = trap(x, rng, ["entity", "number", "added", "scope"])
        if edited is not None and rng.random() < 0.5:
            yield Pair(reword(x, rng), edited[0], False, f"trap:{edited[1]}", part, "roles")


def _classed(mine: list[Text], part: str, rng: random.Random) -> Iterator[Pair]:
    """Pairs of one class; those whose vectors lie far apart are dropped later, where vectors are known."""
    by_class: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for t in mine:
        if t.source in CLASSED:
            by_class[t.source, t.cls].append(t.text)
    for (source, _), members in sorted(by_class.items()):
        for _ in range(min(200, 2 * len(members)) if len(members) > 1 else 0):
            a, b = rng.sample(members, 2)
            if not any(GUARD[name](signature(a), signature(b)) for name in (*FACTS, "names", "negation")):
                yield Pair(a, b, True, "class", part, source, 0.6)


def _annotated(data: Path, seed: int) -> Iterator[Pair]:
    by_kind: defaultdict[str, list[Pair]] = defaultdict(list)
    for r in rows_of(data / "train/open/pairs.jsonl.gz"):
        if r["kind"].startswith("translation"):
            continue
        kind = f"{r['src']}:{r['kind'].partition(':')[0]}:{r['same']}"
        a, b = (_joined(t) if r["src"] == "advising" else t for t in (r["a"], r["b"]))
        weight = 0.7 if r["src"] == "hwu64" else 1.0
        part = part_of(f"{r['src']}:{r['grp']}")
        by_kind[r["kind"] + kind].append(Pair(a, b, bool(r["same"]), kind, part, r["src"], weight))
    rng = random.Random(seed)
    for kind in sorted(by_kind):
        found = by_kind[kind]
        many = 4000 if found[0].same else PER_KIND
        yield from rng.sample(found, min(many, len(found)))


def by_hand(path: Path) -> Iterator[tuple[str, str, str]]:
    """Kind, one text and the other, of every pair in a file of such lines."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, a, b = (part.strip() for part in line.split(" | "))
            yield kind, a, b


def written(folder: Path = WRITTEN) -> list[Pair]:
    """Pairs to be fitted to; 'same synonym' is a kind that takes one answer."""
    return [
        Pair(a, b, kind.startswith("same "), f"{BY_HAND}{kind}", "fit", f"{BY_HAND}{path.stem}")
        for path in sorted(folder.glob("*.txt"))
        for kind, a, b in by_hand(path)
    ]


def _joined(text: str) -> str:
    """Untokenized: 'Spring ?' -> 'Spring?'."""
    for a, b in (
        (" ?", "?"),
        (" ,", ","),
        (" .", "."),
        (" 's", "'s"),
        (" n't", "n't"),
        (" -", "-"),
        (" '", "'"),
    ):
        text = text.replace(a, b)
    return text


def near_other_class(everything: list[Text], vectors: Embedded, seed: int = 0) -> list[Pair]:
    """Requests beside one of the five nearest of another class of the same source and part."""
    rng, out = random.Random(seed), []
    for source in CLASSED:
        for part in PARTS:
            mine = [t for t in everything if t.source == source and t.part == part and t.text in vectors.at]
            if not mine:
                continue
            rows = np.stack([vectors[t.text] for t in mine])
            for i in rng.sample(range(len(mine)), min(len(mine), 3000)):
                near = [j for j in np.argsort(-(rows @ rows[i]))[:40] if mine[j].cls != mine[i].cls][:5]
                if near:
                    a, b = mine[i].text, mine[rng.choice(near)].text
                    out.append(Pair(a, b, False, "other-class", part, source, 0.7))
    return out
