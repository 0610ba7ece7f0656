"""Guard: two orders ask for different things to be done with the same object.

'outline the speech' / 'grade the speech'. One verb among many words hardly moves a vector, and decides the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import begun, phrases
from ..text.manners import CIVIL, earnest, told
from ..text.signature import Signature

_ACTS: Final = tuple(
    frozenset(verbs.split())
    for verbs in (
        "write compose draft author",
        "outline plan",
        "explain describe clarify teach discuss list enumerate name compare contrast tell",
        "grade rate score evaluate assess critique review",
        "proofread correct fix repair debug",
        "summarize summarise condense shorten abridge",
        "expand elaborate lengthen extend",
        "rewrite rephrase paraphrase reword",
        "translate",
        "quiz test",
        "recommend suggest",
        "book reserve order buy purchase rent",
        "cancel",
        "scale double halve",
        "refactor",
        "optimize optimise",
        "prove",
        "memorize memorise",
        "delete remove erase",
        "rename",
        "copy duplicate",
        "clean tidy vacuum",
        "act pretend roleplay",
        "answer reply respond",
        "draw sketch paint",
        "pause",
        "play resume continue unpause",
        "restart replay rewind",
        "skip",
        "call phone telephone ring dial",
        "email mail",
        "text sms",
        "visit meet",
        "find locate detect spot identify",
    )
)
"""Verbs of one line may ask for the same, those of two never do, but for the last."""
_BY_VERB: Final = {verb: i for i, verbs in enumerate(_ACTS) for verb in verbs}
_VERBS: Final = frozenset(_BY_VERB)
_FINDING: Final = len(_ACTS) - 1
_CHANGED: Final = frozenset(
    _BY_VERB[verb] for verb in "delete rename translate rewrite refactor cancel".split()
)
"""What is not done by finding a thing, as recommending or booking it may be."""
_ROOTS: Final = tuple(frozenset(map(stem, verbs)) for verbs in _ACTS)
_NOUNS: Final = {
    stem(noun): _BY_VERB[verb]
    for noun, verb in (
        pair.split("/")
        for pair in """summary/summarize translation/translate explanation/explain description/describe list/list
        comparison/compare evaluation/evaluate assessment/assess review/review critique/critique correction/correct
        suggestion/suggest recommendation/recommend reservation/reserve booking/book cancellation/cancel copy/copy
        plan/plan outline/outline draft/draft paraphrase/paraphrase quiz/quiz test/test proof/prove
        answer/answer reply/answer response/answer drawing/draw sketch/draw""".split()
    )
}
"""'Write a summary of it' is 'summarize it'."""
_CIVIL: Final = CIVIL.union(("help", "me", "us"))
_WANTED: Final = phrases(
    """i want you to,i need you to,i'd like you to,i would like you to,i want to,i need to,i'd like to,i would like to,
    how do i,how can i,how to,can i,may i,let me"""
)


def acts(a: Signature, b: Signature) -> bool:
    """Both texts begin with what is to be done, and it is not the same."""
    if _VERBS.isdisjoint(a.vocabulary) or _VERBS.isdisjoint(b.vocabulary):
        return False
    mine = _act(a.words)
    theirs = _act(b.words) if mine >= 0 else -1
    if theirs < 0 or mine == theirs or (_FINDING in (mine, theirs) and _CHANGED.isdisjoint((mine, theirs))):
        return False
    return not _mentioned(theirs, a.stems) and not _mentioned(mine, b.stems)


def _act(words: Sequence[str]) -> int:
    """The line of its verb, or -1."""
    at = told(words, _CIVIL)
    if frame := begun(words, at, _WANTED):
        at = earnest(words, _CIVIL, at + frame)
    return _BY_VERB.get(words[at], -1) if at + 1 < len(words) else -1


def _mentioned(act: int, stems: frozenset[str]) -> bool:
    return not stems.isdisjoint(_ROOTS[act]) or any(_NOUNS.get(one) == act for one in stems)
