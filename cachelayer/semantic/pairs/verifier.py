"""The probability that two requests take the same answer, from the two requests alone.

Each text is read once and remembered. In this order:

1. the same request, typed differently: `repeats`;
2. guards that forbid: `forbidding`;
3. features of what differs, boosted trees, and a table from score to risk: the share of generated traps with one edit
   that score as high, times a factor. So `1 - probability` bounds the share of such traps that is served;
4. guards that are asked last, because few pairs come so far: `late`, `story`;
5. the earlier turns, if they differ (contexts.py).

The weights come from benchmarks/decide/train_pairs.py, train_close.py and train_talks.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...types import Candidate, Query, Turn
from ..guards.called import called
from ..guards.courses import courses
from ..guards.measured import measured
from ..guards.mentions import mentions
from ..guards.modifiers import alternatives, modifiers
from ..guards.orders import orders, speaking
from ..guards.plain import FACTS, GUARDS, veto
from ..guards.relations import relations, requests
from ..guards.slots import slot
from ..guards.stories import scenic, story
from ..guards.strangers import compounds, strangers
from ..text.phrasebook import phrasebook
from ..text.reading import Reading
from ..text.reading_cache import ReadingCache
from ..text.repeats import LEAST as LEAST_WORDS
from ..text.repeats import SLIPS
from ..text.signature import Signature
from ..text.slips import misspelt
from ..text.words import Words, words
from ..weights import load_judge
from .contexts import Said, measures, serious, stands, too_long
from .features import features
from .heads import behind_one_head
from .late_interaction import CLOSER
from .reframed import reframed
from .reordered import reordered
from .repeated import may_repeat, repeats

REMEMBERED: Final = 16 * 2**20
"""Bytes of texts' readings that are kept: about 20,000 questions."""
QUERIES: Final = 64
"""Queries for which the judgements of their candidates are remembered."""
DOUBTFUL: Final = 0.8
"""Probability under which the guard that objected is named."""
_SURE: Final = (
    *((name, guard) for name, guard in GUARDS if name in (*FACTS, "language")),
    ("relations", relations),
)
"""Guards that forbid. Those that the trees know too were right on every pair of the tuning part that the trees would
have served, slips of the pen in the name of a day aside; `relations` they do not know."""
LEAST: Final = 0.5
"""Probability of the last messages under which contexts are not compared."""
REPEATED: Final = 0.999
"""Probability that a text which repeats another but for how it is typed takes the same answer: see
decision 66."""
REFRAMED: Final = 0.9995
"""The same of one question in two frames, word for word: of 320 such pairs by hand none takes another, and of QQP's
220 five are labelled so, by mistake."""
COMPARED: Final = 2
"""Contexts compared for one request at most."""
ENOUGH: Final = 0.95
"""Probability at which no further context is compared."""


def load() -> None:
    """Read the shipped tables now; takes some tens of milliseconds, once."""
    words()
    phrasebook()
    for name in ("pairs", "close", "turns", "talks"):
        load_judge(name)


def probabilities(rows: Sequence[Sequence[float]], close: Sequence[Sequence[float] | None]) -> list[float]:
    """The probability of each pair by its features, and by the measures of its close reading if it had one."""
    first, out = load_judge("pairs"), list[float]()
    for row, further, score in zip(rows, close, first.logits(rows), strict=True):
        if further is None:
            out.append(first.probability(score))
        else:
            second = load_judge("close")
            closely = second.logits([(*row, *further)])[0]
            out.append(second.probability(CLOSER * closely + (1.0 - CLOSER) * score))
    return out


class PairVerifier:
    """Reads both requests, aligns their words and judges what is left. Deterministic; English, see docs/deciding.md.

    Tables are read by `load`, else at the first call. Not thread-safe: the caller holds a lock.
    """

    identity = "pairs-1"
    compares_turns = True
    reads_closely = True

    def __init__(self) -> None:
        self._readings = ReadingCache(REMEMBERED)
        self._judged: dict[int, tuple[Query, dict[tuple[int, str, bool], tuple[float, str]]]] = {}
        """The last queries, and what was judged of each, by entry, text and whether the pair was read closely.

        One query is judged several times: by a decision, after a close reading, and when its answer is learned.
        """

    def clear(self) -> None:
        """Forget every text that was read."""
        self._readings.clear()
        self._judged.clear()

    def prepare(self, text: str) -> None:
        """Read what every decision asks of a text now, while its vector is made, instead of at its first comparison."""
        read = self._read(text)
        _ = read.signature.vocabulary, read.letters

    def signature(self, text: str) -> Signature:
        """What the guards read of a text, which is read whole: it will be compared."""
        return self._readings.get(text, words()).signature

    def vocabulary(self, text: str) -> frozenset[str]:
        """The words alone of a text that need not be read whole."""
        return frozenset(self._readings.signature(text, words()).words)

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        known, closely = self._known(query.first), None if query.close is None else query.close[0]
        asked = [(c.entry, c.text, c.entry == closely) for c in candidates]
        new = [(c, key) for c, key in zip(candidates, asked, strict=True) if key not in known]
        if new:
            judged = self._pairs(query, [c for c, _ in new])
            known.update(zip((key for _, key in new), judged, strict=True))
        return self._in_context(query, candidates, [known[key] for key in asked])

    def repeated(self, query: Query, candidates: Sequence[Candidate]) -> Candidate | None:
        """The first candidate in the same conversation whose text the query repeats but for how it is typed."""
        table, mine, turns = words(), self._read(query.text), query.turns
        letters, english = mine.letters, mine.signature.english
        if not letters:
            return None
        for c in candidates:
            if c.turns != turns:
                continue
            theirs = self._readings.signature(c.text, table)
            more = (theirs.letters if theirs.letters >= 0 else self._read(c.text).letters) - letters
            if not -SLIPS <= more <= SLIPS and english and theirs.english:
                continue  # a slip is a letter more or less; accents are left out in other languages
            if may_repeat(mine, c.text, theirs.words) and repeats(mine, self._read(c.text)):
                return c
        return None

    def _known(self, query: Query) -> dict[tuple[int, str, bool], tuple[float, str]]:
        found = self._judged.get(id(query))
        if found is None:
            if len(self._judged) >= QUERIES:
                del self._judged[next(iter(self._judged))]
            found = self._judged[id(query)] = (query, {})  # held, so that no other gets its id
        return found[1]

    def _pairs(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        """The texts alone; where a sure guard speaks nothing else is read."""
        table, mine = words(), self._read(query.text)
        out: list[tuple[float, str]] = []
        asked: list[tuple[int, Candidate, Reading, bool, list[float]]] = []
        measured: list[tuple[float, ...] | None] = []
        closely, further = query.close or (None, None)
        for c in candidates:
            other = self._read(c.text)
            said = other.signature
            if may_repeat(mine, c.text, said.words) and repeats(mine, other):
                out.append((REPEATED, ""))
                continue
            if reordered(mine, other):
                other = mine
            guard = forbidding(mine, other, table)
            headed = guard in ("", "slot") and self._headed(mine.text, other.text)
            if headed:
                guard = ""
            if not guard and not query.turns and requests(mine.signature, other.signature):
                guard = "relations"
            out.append((0.0, guard))
            if not guard and (headed or reframed(mine, other)):
                out[-1] = _late(mine, other, c.similarity, REFRAMED, scene=False)
            elif not guard:
                scene = scenic(mine, other, table)
                alike = mine if scene else other
                asked.append((len(out) - 1, c, other, scene, features(mine, alike, c.similarity, table)))
                measured.append(further if c.entry == closely and alike is other else None)
        judged = probabilities([row for *_, row in asked], measured) if asked else []
        for (at, c, other, scene, _), p in zip(asked, judged, strict=True):
            out[at] = _late(mine, other, c.similarity, p, scene=scene)
        return out

    def _headed(self, text: str, other: str) -> bool:
        """Whether both say the same behind one head, however that is framed."""
        rest = behind_one_head(text, other)
        if rest is None:
            return False
        a, b = map(self._read, rest)
        return reframed(a, b) and not forbidding(a, b, words()) and not late(a, b, words())

    def _in_context(
        self, query: Query, candidates: Sequence[Candidate], judged: list[tuple[float, str]]
    ) -> list[tuple[float, str]]:
        """Where earlier turns differ they must agree too; looked at for the likeliest, until one will do."""
        left = COMPARED
        for i in sorted(range(len(judged)), key=lambda k: judged[k][0], reverse=True):
            other = candidates[i].turns
            if other == query.turns:
                continue
            if not left:
                judged[i] = 0.0, "context"
                continue
            alone = stands(self._read(query.text)) and stands(self._read(candidates[i].text))
            judged[i] = self._beside(*judged[i], query.turns, other, alone)
            left = 0 if judged[i][0] >= ENOUGH else left - 1
        return judged

    def _beside(
        self, p: float, guard: str, mine: tuple[Turn, ...], other: tuple[Turn, ...], alone: bool
    ) -> tuple[float, str]:
        """The probability where the earlier turns differ: that of the last messages times that of the contexts.

        `alone`: the last messages need no turn before them.
        """
        if p < LEAST or too_long(mine) or too_long(other):
            return 0.0, guard or "context"
        a, b = (serious(turns, self._read, alone=alone) for turns in (mine, other))
        if (not a and not b) or _alike(a, b):
            return p, guard
        both = p * load_judge("talks").probabilities([measures(a, b, load_judge("turns").logits, words())])[0]
        return both, guard or ("context" if both < DOUBTFUL else "")

    def _read(self, text: str) -> Reading:
        return self._readings.get(text, words())


def _alike(a: Sequence[Said], b: Sequence[Said]) -> bool:
    """Whether all turns say the same, in one frame or another: 'Show me sales' / 'Can you show me sales?'."""
    return len(a) == len(b) and all(
        who == role and (x is y or _same(x, y)) for (who, x, _), (role, y, _) in zip(a, b, strict=True)
    )


def _same(a: Reading, b: Reading) -> bool:
    if a.signature.formal != b.signature.formal:
        return False
    table = words()
    return repeats(a, b) or (reframed(a, b) and not forbidding(a, b, table) and not late(a, b, table))


def _late(a: Reading, b: Reading, cosine: float, p: float, *, scene: bool) -> tuple[float, str]:
    """What is left of a probability after what is asked last, and who objects; where it is low already, who does.

    `scene`: one text only sets the scene of the other's question.
    """
    if p < DOUBTFUL:
        return p, veto(a.signature, b.signature)
    table = words()
    if guard := late(a, b, table, scene=scene):
        return 0.0, guard
    beside = None if scene else story(a, b, table)
    if beside is not None:
        p = min(p, 1.0 - beside.risk(cosine, table))
    return p, "" if p >= DOUBTFUL else "story"


def late(a: Reading, b: Reading, table: Words, *, scene: bool = False) -> str:
    """The name of a guard that forbids a pair that all others let pass, or ''. Few pairs come so far."""
    if compounds(a, b, table) or strangers(a, b, table):
        return "strangers"
    if mentions(a, b) or misspelt(a, b, table.spelling):
        return "mention"
    if called(a, b):
        return "names"
    if measured(a, b, table) or modifiers(a, b, table) or alternatives(a, b, table):
        return "relations"
    return "orders" if (speaking(a, b) if scene else orders(a, b)) else ""


def forbidding(a: Reading, b: Reading, table: Words) -> str:
    """The name of the first guard that forbids to serve one for the other, or ''."""
    for name, guard in _SURE:
        if guard(a.signature, b.signature):
            return name
    if (a.foreign or b.foreign) and a.signature.content != b.signature.content:
        return "language"
    if courses(a, b, table):
        return "relations"
    if a.signature.words == b.signature.words and len(a.core) < LEAST_WORDS and a.core != b.core:
        return "question"  # 'yes' and 'yes?'
    return "slot" if slot(a, b, table) else ""
