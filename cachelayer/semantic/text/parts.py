"""Splits a text into statements and a question: 'My card was stolen, what should I do?'.

Statements are sentences before or after the question, and clauses that end with a comma or begin with 'because',
'since', 'when I'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from .signature import ASKING, QUESTION_WORDS

_STOP: Final = re.compile(r"[.?!;:\n\u2026]+(?=[\s\"')\]\u201d]|$)")
_PLAIN: Final = re.compile(
    rf"\s*(?:{'|'.join(sorted(ASKING))})\b[^.?!;:,\n\u2026\u2013\u2014]*+[.?!]*+\s*$", re.IGNORECASE
)
"""One question and nothing else, unless something is linked to it."""
_WORD: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|,|\s[\u2013\u2014-]\s")
_PAUSES: Final = frozenset((",", "-", "\u2013", "\u2014"))
_JOINTS: Final = frozenset("so and but then well ok okay also hi hey hello please actually basically".split())
"""Before a statement or a question these say nothing."""
_TELLERS: Final = frozenset(
    """i i'm i've i'd i'll im ive we we're we've we'd my our me the a an it it's its this that these those there he she
    they his her their he's she's they're your you you're some someone somebody nobody no one everyone both
    just got lost been had bought ordered moved tried forgot need want can't cannot couldn't don't didn't haven't
    still currently""".split()
)
"""With which a statement begins, 'I' being left out at times: 'Lost my card.'."""
_FINITE: Final = frozenset("i my me is are was were has have had did isn't wasn't hasn't haven't".split())
"""With any of which a sentence that begins otherwise is one, too: 'Delta cancelled my flight.'."""
_LINKS: Final = frozenset("because since as although though while when after now if".split())
_LINKED: Final = re.compile(rf"\b(?:{'|'.join(sorted(_LINKS))}) ", re.IGNORECASE)
_PEOPLE: Final = frozenset("i i'm i've im we we're we've my our he she they his her their he's she's".split())
_OWN: Final = _PEOPLE.union(("it", "the"))
_ASKS_ON: Final = (ASKING - QUESTION_WORDS).union("much many long often far to can't don't".split())
"""Behind 'how' or 'what' within a sentence, where a question begins there."""
_OF_ME: Final = frozenset("can should do may must could will am does is".split())
_ME: Final = frozenset(("i", "we", "my"))
_NO_END: Final = QUESTION_WORDS.union("i we you they he she it that to and or if whether".split())
"""Behind these 'can I' begins no question."""
_NO_SUBJECT: Final = frozenset(("not", "been", "to", ","))

Spoken = list[tuple[str, int, int]]
"""Words in small letters, and where each stands."""


class Parts(NamedTuple):
    """What a text says beside its question, and the question. No statements if it asks nothing, or nothing else."""

    statements: tuple[tuple[str, ...], ...]
    """Their words in small letters."""
    question: str
    """The text without them."""


def parts_of(text: str) -> Parts:
    """Split a text. Pure; a plain question costs two looks."""
    if _PLAIN.match(text) and not _LINKED.search(text):
        return Parts((), text)
    small = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if len(small) != len(text):
        return Parts((), text)  # a letter is two in small then
    statements, cuts, asks = list[tuple[str, ...]](), list[tuple[int, int]](), False
    at = 0
    while at < len(text):
        stop = _STOP.search(text, at)
        end = stop.end() if stop else len(text)
        words = _begun(_words(small, at, stop.start() if stop else end))
        if len(words) > 1:
            asked, spans = _parted(words, stop is not None and "?" in stop[0])
            asks = asks or asked
            for span in spans:
                if bare := _bare([word for word, *_ in words[span]]):
                    statements.append(bare)
                    first = at if span.start == 0 else words[span.start][1]
                    whole = span.start == 0 and span.stop == len(words)
                    cuts.append((first, end if whole else words[span.stop - 1][2]))
        at = end
    return Parts(tuple(statements), _without(text, cuts)) if asks else Parts((), text)


def _words(text: str, start: int, end: int) -> Spoken:
    """`text` has small letters and plain apostrophes."""
    return [(m[0].strip(), m.start(), m.end()) for m in _WORD.finditer(text, start, end)]


def _begun(words: Spoken) -> Spoken:
    at = 0
    while at < len(words) and (words[at][0] in _JOINTS or words[at][0] in _PAUSES):
        at += 1
    return words[at:]


def _parted(spoken: Spoken, marked: bool) -> tuple[bool, list[slice]]:
    """Whether a sentence asks, and which of its words tell something; `marked` as a question."""
    words = [word for word, *_ in spoken]
    at = _asked(words)
    if at < 0:
        tells = not marked and (words[0] in _TELLERS or not _FINITE.isdisjoint(words))
        return marked, [slice(0, len(words))] if tells else []
    spans = []
    if at > 0 and (words[0] in _TELLERS or words[0] in _LINKS):
        spans.append(slice(0, at))
    for i in range(at + 1, len(words) - 2):
        if words[i] in _LINKS and words[i + 1] in (_PEOPLE if words[i] == "if" else _OWN):
            spans.append(slice(i, len(words)))
            break
    return True, spans


def _asked(words: Sequence[str]) -> int:
    """Where the question begins, or -1: at the beginning, after a comma, or 'what should', 'can I' in the middle."""
    if words[0] in ASKING:
        return 0
    for i in range(1, len(words) - 1):
        word, after, k = words[i], words[i + 1], i - 1
        if word not in ASKING:
            continue
        while k > 0 and words[k] in _JOINTS:
            k -= 1
        if word in QUESTION_WORDS and after in _ASKS_ON:
            return i
        if words[k] in _PAUSES and after not in _NO_SUBJECT:
            return i
        if word in _OF_ME and after in _ME and words[k] not in _NO_END:
            return i
    return -1


def _bare(words: Sequence[str]) -> tuple[str, ...]:
    """Without what joins it to the question."""
    bare = [word for word in words if word[0].isalnum()]
    while bare and bare[-1] in _JOINTS:
        bare.pop()
    return tuple(bare[1:] if len(bare) > 1 and bare[0] in _LINKS else bare)


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    kept, at = list[str](), 0
    for start, end in cuts:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return " ".join(kept).strip(" ,\u2013\u2014-") if cuts else text
