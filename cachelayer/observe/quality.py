"""Whether similar answers are right: checks by slice and over time, drift, and doubtful hits for a person to judge."""

from __future__ import annotations

import json
import math
import os
import time
import unicodedata
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ..checks import whole
from ..errors import ConfigurationError
from ..flow import forks

HOURS: Final = 14 * 24
SCOPES: Final = 200
RECENT: Final = 50
"""Checks that make 'now' when drift is looked for."""
_Z: Final = 1.959963984540054
"""The percentile of the normal distribution beyond which 2.5 % lie."""
_COMMON: Final = {
    "en": "the is to of and a in how what my do i can", "de": "der die das ist und ich wie was mein nicht ein zu",
    "fr": "le la les est et je comment quoi mon ne une des", "es": "el los es y como que mi no una de en para",
    "it": "il lo gli è e come che mio non una di per", "pt": "o os é e como que meu não uma de em para",
    "nl": "de het is en ik hoe wat mijn niet een te van",
}  # fmt: skip
_WORDS: Final = {language: frozenset(words.split()) for language, words in _COMMON.items()}


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer that was served by similarity."""

    id: str
    """Of the entry, as in `Outcome.id`."""
    function: str
    scope: str
    """A digest: which scopes there are is nobody's business."""
    question: str
    served_for: str
    """The question that the answer was made for."""
    answer: str
    similarity: float
    confidence: float
    detail: str = ""
    """What spoke, and after a colon the guard that objected; of a comparison of models 'model:' and its name."""


class Quality:
    """Counts similar hits and what checks of them found. Bounded; holds texts of at most `keep` doubtful hits."""

    def __init__(self, *, keep: int = 200) -> None:
        whole("keep", keep, 0, " doubtful hits, 0 for none")
        self._lock = forks.whole_lock()
        """Callers of plain functions are served in threads of their own."""
        self._keep = keep
        self._slices: dict[tuple[str, str], Counter[str]] = {}
        self._hours: OrderedDict[int, Counter[str]] = OrderedDict()
        self._scopes: OrderedDict[tuple[str, str], tuple[Counter[str], deque[bool]]] = OrderedDict()
        self._doubts: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        self._judged: dict[tuple[str, bytes], None] = {}
        """Hits that a person judged, by a digest of the question: each counts once."""
        self.erasures = 0
        """Times that texts were to be forgotten: those of before come no more."""

    def served(self, hit: Hit) -> None:
        """An answer was served by similarity."""
        with self._lock:
            self._count(hit, "hits")
            self._doubt(hit, hit.confidence)

    def checked(self, hit: Hit, right: bool, truth: str | None = None) -> None:
        """A hit was asked again, or a person looked at it."""
        with self._lock:
            self._checked(hit, right, truth)

    def _checked(self, hit: Hit, right: bool, truth: str | None) -> None:
        self._count(hit, "right" if right else "wrong")
        counts, recent = self._scopes.setdefault((hit.function, hit.scope), (Counter(), deque(maxlen=RECENT)))
        if len(recent) == RECENT:
            counts["wrong" if not recent[0] else "right"] += 1
        recent.append(right)
        self._scopes.move_to_end((hit.function, hit.scope))
        while len(self._scopes) > SCOPES:
            self._scopes.popitem(last=False)
        if not right:
            self._doubt(hit, -1.0, verdict="wrong", truth=truth)

    def judged(self, hit: Hit) -> bool:
        """A person judged this hit, which is exported no more; False if that was told before."""
        self._doubts.pop((hit.id, hit.question), None)
        key = hit.id, blake2b(hit.question.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in self._judged:
            return False
        self._judged[key] = None
        if len(self._judged) > 10 * SCOPES:
            del self._judged[next(iter(self._judged))]
        return True

    def forget_texts(self) -> None:
        """An erased tenant's questions and answers must not stay; what was counted does."""
        self.erasures += 1
        self._doubts.clear()

    def _count(self, hit: Hit, what: str) -> None:
        hour = int(time.time() // 3600)
        self._hours.setdefault(hour, Counter())[what] += 1
        while len(self._hours) > HOURS:
            self._hours.popitem(last=False)
        for name, value in slices_of(hit):
            if (name, value) in self._slices or len(self._slices) < 500:
                self._slices.setdefault((name, value), Counter())[what] += 1

    def _doubt(self, hit: Hit, confidence: float, **more: Any) -> None:
        doubts, key = self._doubts, (hit.id, hit.question)
        if self._keep == 0 or (key in doubts and doubts[key][0] <= confidence):
            return
        if key not in doubts and len(doubts) >= self._keep:
            surest = max(doubts, key=lambda k: doubts[k][0])
            if doubts[surest][0] <= confidence:
                return
            del doubts[surest]
        doubts[key] = confidence, {**asdict(hit), "verdict": None, **more}

    # reading -----------------------------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Hits, checks, wrong ones and the 95 % interval of their share, by slice and by hour; scopes that drifted."""
        with self._lock:
            return self._report()

    def _report(self) -> dict[str, Any]:
        return {
            "slices": {
                name: {v: share(counts) for (n, v), counts in self._slices.items() if n == name}
                for name in {name for name, _ in self._slices}
            },
            "hours": {hour * 3600: share(counts) for hour, counts in self._hours.items()},
            "drifted": list(self.drifted()),
        }

    def drifted(self) -> Iterator[dict[str, Any]]:
        """Scopes whose last checks found more wrong than those before them, beyond chance (two shares, z > 3)."""
        for (function, scope), (counts, recent) in self._scopes.items():
            before, now = counts["right"] + counts["wrong"], len(recent)
            wrong = recent.count(False)
            if before < RECENT or now < RECENT:
                continue
            pooled = (counts["wrong"] + wrong) / (before + now)
            error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / before + 1 / now))
            if wrong / now - counts["wrong"] / before > 3 * error:
                yield {
                    "function": function,
                    "scope": scope,
                    "before": counts["wrong"] / before,
                    "now": wrong / now,
                }

    def export(self, path: Path | str) -> int:
        """Write the most doubtful hits, one JSON object a line, to a new file that its owner alone can read.

        Put "right" or "wrong" under "verdict" and give the file to `CacheLayer.judge`. Returns how many. Raises
        ConfigurationError where the file is there already or cannot be made.
        """
        with self._lock:
            doubts = list(self._doubts.values())
        rows = [row for _, row in sorted(doubts, key=lambda doubt: doubt[0])]
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as fault:
            raise ConfigurationError(
                "path", str(path), f"{fault.strerror}; name a file that is not there yet"
            ) from None
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace"
        ) as file:  # as JSON spells it, too
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return len(rows)


def verdicts(path: Path | str) -> list[tuple[Hit, bool]]:
    """What a person judged in a file of `export`. Raises ConfigurationError naming file, line and field."""
    found = []
    try:
        lines = Path(path).read_text("utf-8").split("\n")  # texts may hold other ends of lines
    except (OSError, UnicodeDecodeError) as fault:
        what = getattr(fault, "strerror", None) or fault
        raise ConfigurationError("path", str(path), f"cannot be read: {what}") from None
    for number, line in enumerate(filter(str.strip, lines), 1):
        try:
            row = json.loads(line)
            verdict = row["verdict"]
            hit = Hit(**{name: row[name] for name in Hit.__slots__})
        except (ValueError, KeyError, TypeError) as fault:
            raise ConfigurationError(
                "path", f"{path}, line {number}", f"{fault!r}; give what export wrote"
            ) from None
        if verdict not in (None, "right", "wrong"):
            remedy = "give 'right' or 'wrong', or leave it null"
            raise ConfigurationError("verdict", f"{verdict} ({path}, line {number})", remedy)
        if verdict is not None:
            found.append((hit, verdict == "right"))
    return found


def slices_of(hit: Hit) -> Iterator[tuple[str, str]]:
    """(slice, value): function, language, length in words, what decided, the guard that objected, confidence."""
    words = len(hit.question.split())
    yield "function", hit.function
    yield "language", language_of(hit.question)
    yield "length", "1-4" if words < 5 else "5-12" if words < 13 else "13-40" if words < 41 else "41+"
    rule, _, guard = hit.detail.partition(":")
    yield "rule", rule[:40] or "none"
    yield ("model" if rule == "model" else "guard"), guard[:40] or "none"
    yield (
        "confidence",
        ">= 0.99" if hit.confidence >= 0.99 else ">= 0.95" if hit.confidence >= 0.95 else "< 0.95",
    )


def language_of(text: str) -> str:
    """A guess: the language whose commonest words it holds most of, else the script of its first letter."""
    words = set(text.casefold().split())
    best = max(_WORDS, key=lambda language: len(words & _WORDS[language]))
    if words & _WORDS[best]:
        return best
    letter = next((c for c in text if c.isalpha()), "")
    return unicodedata.name(letter, "none").split()[0].lower() if letter else "none"


def share(counts: Counter[str]) -> dict[str, Any]:
    """Hits, checks, wrong ones, and the 95 % interval of the share of wrong ones."""
    checks, wrong = counts["right"] + counts["wrong"], counts["wrong"]
    low, high = wilson(wrong, checks)
    return {"hits": counts["hits"], "checks": checks, "wrong": wrong, "low": low, "high": high}


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % score interval for a share (Wilson 1927, J. Am. Stat. Assoc. 22): close to its level at any share."""
    if trials == 0:
        return 0.0, 1.0
    share, zz = successes / trials, _Z * _Z
    middle = (share + zz / (2 * trials)) / (1 + zz / trials)
    half = _Z / (1 + zz / trials) * math.sqrt(share * (1 - share) / trials + zz / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == trials else min(1.0, middle + half)
