"""What differs between two texts, as numbers.

These are: the words without a partner, how the rest is related, and where numbers, dates, names, negation, order and
questions disagree. Symmetric but for `cosine`'s own rounding.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..guards.plain import GUARDS, unlike
from ..text import words as rel
from ..text.reading import Reading
from ..text.signature import Signature
from ..text.words import Words

SEEN: Final = tuple((name, guard) for name, guard in GUARDS if name not in ("modality", "conjunct"))
"""Guards that are features themselves; of the others what they look at is."""
FEATURES: Final = (
    "cosine", "shorter", "longer", "length_ratio", "content_shorter", "content_longer",
    "exact_low", "exact_high", "soft_low", "soft_high", "left_low", "left_high", "left_weight_low", "left_weight_high",
    "worst_low", "worst_high", "second_low", "second_high", "rare_low", "rare_high", "capital_low", "capital_high",
    "same", "kin", "opposite", "kind", "sibling", "slip", "other", "pair_best", "pair_worst", "pair_mean",
    "inversions", "order_same", "prefix", "suffix", "hunk_low", "hunk_high", "words_same",
    "negation", "negated_both", "quantifiers", "modals", "question", "question_known", "roles_conflict", "prepositions",
    "possessors", "conditions", "ands", "numbers_low", "numbers_high", "numbers_both", "units", "ids", "dates_low",
    "dates_high", "names_low", "names_high", *(f"guard_{name}" for name, _ in SEEN),
    "function_low", "function_high", "lone_weight", "lone_similar",
)  # fmt: skip
Near = list[list[float]]


def features(a: Reading, b: Reading, cosine: float, table: Words) -> list[float]:
    """len(FEATURES) numbers, in that order."""
    left_a, left_b, matched = _match(a, b)
    near_a, near_b = _near(a, left_a, b), _near(b, left_b, a)
    soft_a, soft_b = [max(0.0, *row) for row in near_a], [max(0.0, *row) for row in near_b]
    own_a, own_b = _side(a, left_a, soft_a), _side(b, left_b, soft_b)
    n, m = len(a.signature.words), len(b.signature.words)
    out = [
        cosine,
        *_order(float(n), float(m)),
        min(n, m) / max(n, m, 1),
        *_order(len(a.content), len(b.content)),
    ]
    for x, y in zip(own_a, own_b, strict=True):
        out += (x, y) if x <= y else (y, x)
    out += _partners(a, b, left_a, left_b, near_a, table)
    out += _sequence(a, b, matched)
    out += _symbols(a, b)
    out += [float(guard(a.signature, b.signature)) for _, guard in SEEN]
    out += _order(n - len(a.content), m - len(b.content))
    out += _lone(a, left_a, soft_a) if not left_b else _lone(b, left_b, soft_b) if not left_a else (0.0, 1.0)
    return out


def _order(x: float, y: float) -> tuple[float, float]:
    return (x, y) if x <= y else (y, x)


def _match(a: Reading, b: Reading) -> tuple[list[int], list[int], list[int]]:
    """Words left over on either side, and the partners in `b` of equal words or stems, in the order of `a`."""
    if a.stems == b.stems:
        return [], [], list(range(len(a.stems)))
    places: dict[str, list[int]] = {}
    for j in range(len(b.stems) - 1, -1, -1):
        places.setdefault(b.stems[j], []).append(j)
    matched, left = [], []
    for i, word in enumerate(a.stems):
        there = places.get(word)
        if there:
            matched.append(there.pop())
        else:
            left.append(i)
    return left, sorted(j for js in places.values() for j in js), matched


def _near(r: Reading, left: list[int], other: Reading) -> Near:
    """How near each word left over comes to each word of the other side."""
    if not left or not other.content:
        return [[0.0]] * len(left)
    near: Near = r.vectors.take(left, axis=0).dot(other.vectors.T).tolist()
    return near


_NOTHING_LEFT: Final = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _side(r: Reading, left: list[int], soft: list[float]) -> tuple[float, ...]:
    """exact, soft, left, left_weight, worst, second, rare, capital of one side."""
    if not left:
        return _NOTHING_LEFT
    weights = [r.weights[i] for i in left]
    missing = sum(weights)
    open_ = [w * (1.0 - s) for w, s in zip(weights, soft, strict=True)]
    ranked = sorted(open_, reverse=True)
    return (
        1.0 - missing / r.total,
        1.0 - sum(open_) / r.total,
        float(len(left)),
        missing,
        ranked[0] if ranked else 0.0,
        ranked[1] if len(ranked) > 1 else 0.0,
        float(sum([not r.known[i] for i in left])),
        float(sum([r.stems[i] in r.capitals for i in left])) if r.capitals else 0.0,
    )


def _partners(
    a: Reading, b: Reading, left_a: list[int], left_b: list[int], near: Near, table: Words
) -> list[float]:
    """How the words left over on both sides are related, best partners first; at most six a side."""
    left_a, left_b = left_a[:6], left_b[:6]
    counts = [0.0] * 7
    if not left_a or not left_b:
        return [*counts, 1.0, 1.0, 1.0]
    relation, words_a, words_b = table.relation, a.content, b.content
    related = [
        ((kind := relation(words_a[i], words_b[j])) not in _SURE, -row[j], i, j, kind)
        for i, row in zip(left_a, near, strict=False)
        for j in left_b
    ]
    related.sort()
    free_a, free_b = set(left_a), set(left_b)
    similar = []
    for _, distance, i, j, kind in related:
        if i in free_a and j in free_b:
            free_a.remove(i)
            free_b.remove(j)
            counts[kind] += 1.0
            similar.append(-distance)
            if not free_a or not free_b:
                break
    return [*counts, max(similar), min(similar), sum(similar) / len(similar)]


_SURE: Final = frozenset((rel.SAME, rel.KIN, rel.OPPOSITE, rel.SLIP))


def _sequence(a: Reading, b: Reading, matched: list[int]) -> list[float]:
    """inversions, order_same, prefix, suffix, hunk_low, hunk_high, words_same."""
    other = matched[:48]
    wrong = 0
    if other != sorted(other):
        wrong = sum(x > y for k, x in enumerate(other) for y in other[k + 1 :])
    pairs = len(other) * (len(other) - 1) / 2
    left, right = a.signature.words, b.signature.words
    shortest = min(len(left), len(right))
    prefix = suffix = 0
    while prefix < shortest and left[prefix] == right[prefix]:
        prefix += 1
    while suffix < shortest - prefix and left[-1 - suffix] == right[-1 - suffix]:
        suffix += 1
    longest = max(len(left), len(right), 1)
    hunks = _order(len(left) - prefix - suffix, len(right) - prefix - suffix)
    same = float(len(left) == len(right) and (left == right or sorted(left) == sorted(right)))
    return [
        wrong / pairs if pairs else 0.0,
        float(left == right),
        prefix / longest,
        suffix / longest,
        *hunks,
        same,
    ]


def _symbols(a: Reading, b: Reading) -> list[float]:
    """Negation to names, in the order of FEATURES."""
    s, t = a.signature, b.signature
    known = {"", "other", "yesno"}
    conflict = 0
    if s.roles and t.roles:
        roles_s, roles_t = dict(s.roles), dict(t.roles)
        conflict = sum(roles_s[k] != roles_t[k] for k in roles_s if k in roles_t)
    only_s, only_t, unit = (0, 0, 0) if s.numbers == t.numbers else _numbers(s, t)
    return [
        float(abs(s.negations - t.negations)),
        float(min(s.negations, t.negations)),
        float(len(s.quantifiers ^ t.quantifiers)),
        float(len(s.modals ^ t.modals)),
        float(s.question != t.question),
        float(s.question not in known and t.question not in known),
        float(conflict),
        float(len(a.prepositions ^ b.prepositions)),
        float(len(a.possessors ^ b.possessors)),
        float(len(a.conditions ^ b.conditions)),
        float(abs(a.ands - b.ands)),
        *_order(float(only_s), float(only_t)),
        float(min(len(s.numbers), len(t.numbers))),
        float(unit),
        float(len(s.ids ^ t.ids)),
        *_order(float(len(s.dates - t.dates)), float(len(t.dates - s.dates))),
        *_order(float(len(s.names - t.stems)), float(len(t.names - s.stems))),
    ]


def _numbers(s: Signature, t: Signature) -> tuple[int, int, int]:
    """Values that one side alone has, and equal values with different units."""
    left, right = unlike(s, t)
    mine, theirs = Counter(v for v, _ in left), Counter(v for v, _ in right)
    units = dict(right)
    unit = sum(bool(u) and bool(units.get(v)) and u != units[v] for v, u in left)
    return (mine - theirs).total(), (theirs - mine).total(), unit


def _lone(r: Reading, left: list[int], soft: list[float]) -> tuple[float, float]:
    """Where one side only has words left over: the weight of its heaviest, and how near that comes."""
    if not left:
        return 0.0, 1.0
    at = max(range(len(left)), key=lambda k: r.weights[left[k]] * (1.0 - soft[k]))
    return r.weights[left[at]], soft[at]
