"""Do two conversations stand at the same point? Their earlier turns compared, so that one answer fits both.

Turns are aligned in order, gaps free, by the similarity of their words; aligned turns are judged as pairs of texts are;
what found no partner, and what was said anywhere of numbers, names, dates and opposites, is compared as a whole. Each
turn is read once and remembered, so a conversation that grows costs its new turns alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...types import Turn
from ..guards.orders import ordering, orders
from ..guards.plain import identifiers, numbers
from ..guards.relations import relations
from ..guards.slots import slot
from ..text.lexemes import PREPOSITIONS
from ..text.lexicon import CONSENTS
from ..text.reading import Reading
from ..text.words import OPPOSITE, Words
from .features import features

CLOSE: Final = 0.25
"""Similarity of words under which two turns are not aligned."""
LONG: Final = 2000
"""Characters up to which a turn is read whole."""
TURNS: Final = 160
"""Turns up to which contexts are compared."""
MOST: Final = 10_000
"""Characters up to which they are: words are compared each with each, on the event loop."""
SHORT: Final = 5
"""Words up to which a turn of the user is a reply."""
EQUAL: Final = 8.0
"""The log odds of turns that are equal word for word."""
OTHER: Final = -4.0
"""The log odds of turns that say something else for certain."""
FEATURES: Final = (
    "turns_low", "turns_high", "equal", "aligned_low", "aligned_high", "worst", "second", "mean", "assistant", "user",
    "assistant_missing", "lone_low", "lone_high", "heaviest_low", "heaviest_high", "weight_low", "weight_high",
    "numbers_low", "numbers_high", "dates", "names_low", "names_high", "ids", "negations", "opposites",
    "word_low", "word_high", "next_word_low", "next_word_high", "cover_low", "cover_high", "refusals", "consents",
)  # fmt: skip
_POINTING: Final = frozenset("it that this these those them one ones again".split())
Said = tuple[str, Reading, bool]
"""Role and reading of a turn, and whether it may be mere chatter."""
Pairs = list[tuple[int, int]]
Judge = Callable[[Sequence[Sequence[float]]], list[float]]
"""Features of n pairs of texts to n log odds."""


def measures(a: Sequence[Said], b: Sequence[Said], judge: Judge, table: Words) -> list[float]:
    """len(FEATURES) numbers. `a`, `b`: the earlier turns, oldest first, without pleasantries; either may be empty."""
    a, b = _ordered(a, b)
    a, b, pairs = _without_chatter(a, b, align(a, b))
    odds = _odds(a, b, pairs, judge, table)
    worst = sorted(odds.values())
    paired_a, paired_b = {i for i, _ in pairs}, {j for _, j in pairs}
    lone_a = [s[1] for i, s in enumerate(a) if i not in paired_a]
    lone_b = [s[1] for j, s in enumerate(b) if j not in paired_b]
    heavy_a, heavy_b = _heaviest(lone_a), _heaviest(lone_b)
    equal = sum(v >= EQUAL for v in worst)
    share_a, share_b = len(pairs) / max(len(a), 1), len(pairs) / max(len(b), 1)
    assistant, missing = _last(a, b, odds, "assistant")
    out = [*_order(len(a), len(b)), equal / max(len(a), len(b), 1), *_order(share_a, share_b)]
    out += [worst[0] if worst else OTHER, worst[1] if len(worst) > 1 else EQUAL]
    out += [sum(worst) / len(worst) if worst else OTHER, assistant, _last(a, b, odds, "user")[0], missing]
    out += [*_order(len(lone_a), len(lone_b)), *_order(heavy_a, heavy_b)]
    out += _order(sum(r.total for r in lone_a), sum(r.total for r in lone_b))
    out += _whole([r for _, r, _ in a], [r for _, r, _ in b], table)
    (no, yes), (nay, aye) = _replies(a), _replies(b)
    return [*out, abs(no - nay), abs(yes - aye)]


def _ordered(a: Sequence[Said], b: Sequence[Said]) -> tuple[Sequence[Said], Sequence[Said]]:
    """Either way round the same: of alignments that are as good one is taken, whichever side asked."""
    if len(a) != len(b):
        return (a, b) if len(a) < len(b) else (b, a)
    for (role, x, _), (who, y, _) in zip(a, b, strict=True):
        if x is not y and (role, x.signature.words) != (who, y.signature.words):
            return (a, b) if (role, x.signature.words) < (who, y.signature.words) else (b, a)
    return a, b


def too_long(turns: Sequence[Turn]) -> bool:
    """Whether comparing them would hold up others."""
    return len(turns) > TURNS or sum(min(len(turn.text), LONG) for turn in turns) > MOST


def serious(turns: Sequence[Turn], read: Callable[[str], Reading], *, alone: bool = False) -> list[Said]:
    """Turns that say something, read; pleasantries and fillers are left out, the last of the assistant's only where
    nothing else was said and what follows stands `alone`.
    """
    out: list[Said] = []
    final = max((i for i, t in enumerate(turns) if t.role == "assistant"), default=-1)
    chatting = False
    for i, t in enumerate(turns):
        r = read(t.text if len(t.text) <= LONG else _clipped(t.text))
        chatting = (
            r.idle or (r.chatter and not ordering(r)) or (chatting and t.role == "assistant" and r.reply)
        )
        if i == final or not r.idle:
            out.append((t.role, r, chatting and i != final))
    return [] if alone and all(r.idle for _, r, _ in out) else out


def stands(message: Reading) -> bool:
    """Whether it says by itself what is wanted, as 'yes', 'for my mother' and 'repeat that' do not."""
    words = message.signature.words
    return not message.reply and PREPOSITIONS.isdisjoint(words[:1]) and _POINTING.isdisjoint(words)


def _without_chatter(
    a: Sequence[Said], b: Sequence[Said], pairs: Pairs
) -> tuple[list[Said], list[Said], Pairs]:
    """Both without chatter to which nothing of the same role on the other side answers, and the pairs renumbered."""
    at_a, at_b = _gaps(len(a), [i for i, _ in pairs]), _gaps(len(b), [j for _, j in pairs])
    keep_a, keep_b = _kept(a, at_a, b, at_b), _kept(b, at_b, a, at_a)
    new_a, new_b = {i: n for n, i in enumerate(keep_a)}, {j: n for n, j in enumerate(keep_b)}
    return [a[i] for i in keep_a], [b[j] for j in keep_b], [(new_a[i], new_b[j]) for i, j in pairs]


def _gaps(count: int, aligned: list[int]) -> dict[int, int]:
    """Each turn without a partner, with how many that have one come before it."""
    taken = set(aligned)
    return {i: sum(k < i for k in aligned) for i in range(count) if i not in taken}


def _kept(
    mine: Sequence[Said], at: dict[int, int], other: Sequence[Said], there: dict[int, int]
) -> list[int]:
    said = {(gap, other[j][0]) for j, gap in there.items()}
    return [i for i, s in enumerate(mine) if i not in at or not s[2] or (at[i], s[0]) in said]


def _clipped(text: str) -> str:
    """Beginning and end of a long text with a mark of the whole, so that a change in the middle is a change."""
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[: LONG // 2]} 0x{mark} {text[-LONG // 2 :]}"


def align(a: Sequence[Said], b: Sequence[Said]) -> Pairs:
    """Pairs (i, j), rising in both, of turns of one role: the alignment of greatest sum of similarity.

    Turns equal from the beginning or the end are partners in one of the best alignments: they are paired at once.
    """
    shortest, first, rest = min(len(a), len(b)), 0, 0
    while first < shortest and _equal(a[first], b[first]):
        first += 1
    while rest < shortest - first and _equal(a[-1 - rest], b[-1 - rest]):
        rest += 1
    middle = _align(a[first : len(a) - rest], b[first : len(b) - rest])
    pairs = [(i, i) for i in range(first)] + [(i + first, j + first) for i, j in middle]
    return pairs + [(len(a) - k, len(b) - k) for k in range(rest, 0, -1)]


def _equal(x: Said, y: Said) -> bool:
    return x[0] == y[0] and (x[1] is y[1] or x[1].signature.words == y[1].signature.words)


def _align(a: Sequence[Said], b: Sequence[Said]) -> Pairs:
    if not a or not b:
        return []
    close = _means(a) @ _means(b).T
    number: dict[tuple[str, ...], int] = {}
    roles = np.array([s[0] == "user" for s in a])[:, None] == np.array([s[0] == "user" for s in b])
    left, right = (
        np.array([number.setdefault(r.signature.words, len(number)) for _, r, _ in side]) for side in (a, b)
    )
    close = np.where(roles, np.where(left[:, None] == right, 2.0, close), 0.0).astype(np.float32)
    gain = np.maximum(close - CLOSE, 0.0)
    best = np.zeros((len(a) + 1, len(b) + 1), np.float32)
    for above, below, row in zip(best, best[1:], gain, strict=False):
        np.maximum(above[1:], above[:-1] + row, out=below[1:])
        np.maximum.accumulate(below, out=below)
    return _trace(best)


def _means(said: Sequence[Said]) -> NDArray[np.float32]:
    return np.concatenate([r.mean for _, r, _ in said]).reshape(len(said), -1)


def _trace(best: NDArray[np.float32]) -> Pairs:
    pairs, i, j = [], len(best) - 1, len(best[0]) - 1
    while i and j:
        here = best[i, j]
        if here == best[i - 1, j]:
            i -= 1
        elif here == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _odds(
    a: Sequence[Said], b: Sequence[Said], pairs: Pairs, judge: Judge, table: Words
) -> dict[tuple[int, int], float]:
    """Log odds of every aligned pair."""
    odds = dict.fromkeys(pairs, EQUAL)
    open_ = []
    for i, j in pairs:
        one, other = a[i][1].signature, b[j][1].signature
        if one.formal != other.formal or relations(one, other) or slot(a[i][1], b[j][1], table):
            odds[i, j] = OTHER
        elif one.words != other.words:
            if orders(a[i][1], b[j][1]):
                odds[i, j] = OTHER
            else:
                open_.append((i, j))
        elif numbers(one, other) or identifiers(one, other):
            odds[i, j] = OTHER  # '500 €' / '500 $', 'grade A+' / 'grade A-'
    if open_:
        rows = [_features(a[i][1], b[j][1], table) for i, j in open_]
        odds.update(zip(open_, judge(rows), strict=True))
    return odds


def _features(a: Reading, b: Reading, table: Words) -> list[float]:
    return features(a, b, float(a.mean @ b.mean), table)


def _last(
    a: Sequence[Said], b: Sequence[Said], odds: dict[tuple[int, int], float], role: str
) -> tuple[float, float]:
    """Log odds that the last turns of a role say the same, and 1.0 if one side alone has such a turn."""
    i = next((k for k in range(len(a) - 1, -1, -1) if a[k][0] == role), -1)
    j = next((k for k in range(len(b) - 1, -1, -1) if b[k][0] == role), -1)
    if i < 0 or j < 0:
        return (EQUAL, 0.0) if i == j else (OTHER, 1.0)
    return odds.get((i, j), OTHER), 0.0


def _order(x: float, y: float) -> tuple[float, float]:
    return (float(x), float(y)) if x <= y else (float(y), float(x))


def _heaviest(lone: list[Reading]) -> float:
    return max((r.total for r in lone), default=0.0)


def _whole(a: list[Reading], b: list[Reading], table: Words) -> list[float]:
    """numbers_low to cover_high: what one side says somewhere and the other nowhere."""
    s, t = [r.signature for r in a], [r.signature for r in b]
    n, m = Counter(v for x in s for v, _ in x.numbers), Counter(v for x in t for v, _ in x.numbers)
    names, others = _union(x.names for x in s), _union(x.names for x in t)
    stems, their = _union(r.stems for r in a), _union(r.stems for r in b)
    left, right = _missing(a, their), _missing(b, stems)
    out = [*_order((n - m).total(), (m - n).total())]
    out.append(float(len(_union(x.dates for x in s) ^ _union(x.dates for x in t))))
    out += _order(len(names - their), len(others - stems))
    out.append(float(len(_union(x.ids for x in s) ^ _union(x.ids for x in t))))
    out.append(float(abs(sum(x.negations for x in s) - sum(x.negations for x in t))))
    out.append(
        float(sum(table.relation(x, y) == OPPOSITE for x in list(left)[:12] for y in list(right)[:12]))
    )
    open_a, open_b = _open(left, b, table), _open(right, a, table)
    out += [*_order(open_a[0], open_b[0]), *_order(open_a[1], open_b[1]), *_order(open_a[2], open_b[2])]
    return out


def _replies(said: Sequence[Said]) -> tuple[float, float]:
    """How many short replies of the user refuse, and how many consent."""
    short = [r.signature for role, r, _ in said if role == "user" and len(r.signature.words) <= SHORT]
    no = sum(s.negations > 0 for s in short)
    return float(no), float(sum(not s.negations and not CONSENTS.isdisjoint(s.words) for s in short))


def _union(parts: Iterable[Iterable[str]]) -> set[str]:
    return set(chain.from_iterable(parts))


def _missing(mine: list[Reading], theirs: set[str]) -> dict[str, float]:
    """Words of one side that the other never says, with their weights."""
    return {
        word: weight
        for r in mine
        for word, base, weight in zip(r.content, r.stems, r.weights, strict=True)
        if base not in theirs
    }


def _open(missing: dict[str, float], other: list[Reading], table: Words) -> tuple[float, float, float]:
    """Greatest and second greatest weight that nothing on the other side comes near, and the share of all of them."""
    if not missing or not other:
        return (1.2, 1.2, 1.0) if missing else (0.0, 0.0, 0.0)
    rows = table.vectors([table.ids.get(w, -1) for w in missing])
    said = np.concatenate([r.vectors for r in other])
    near = (rows @ said.T).max(1).clip(0.0, 1.0) if len(said) else np.zeros(len(rows))
    gaps = sorted((w * (1.0 - c) for w, c in zip(missing.values(), near.tolist(), strict=True)), reverse=True)
    return gaps[0], gaps[1] if len(gaps) > 1 else 0.0, sum(gaps) / (sum(gaps) + sum(r.total for r in other))
