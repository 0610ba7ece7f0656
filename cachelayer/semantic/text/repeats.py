"""Texts that are the same request, typed differently.

They may differ in a greeting, thanks, capitals, stops, 'I'm' for 'I am', a "please", two letters of a word swapped.
What is left of both is the same, word for word and in order.

Greetings and thanks are taken away only where a text does not speak of words: of "how do you say thank you" they are
what is asked. What numbers, dates, identifiers and capitals say is the guards' to compare.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Final

from .courtesies import ASKS, BEGINNINGS, BEGUN, CLOSINGS, OF_WORDS, OPENINGS
from .given import FOR_ME, for_me, given, shown
from .lexicon import CARDINALS, begun
from .manners import PLEASE, own, points_back, speaks_of_languages, wants
from .signature import ASKING, asks
from .spelling import Spelling

LEAST: Final = 3
"""Words that must be left, but of a reply."""
_REPLIES: Final = frozenset("yes yeah yep yup sure no nope nah one".split())
SLIPS: Final = 3
"""Words of a text at most that are taken for slips; the third where they are every third at most."""
SHORT: Final = 4
"""Letters from which a word may be a slip of another's."""
FAR: Final = 4
"""Letters by which two forms of a word may differ: 'catalogue' / 'catalog', and a letter of a slip on each side."""
STRANGE: Final = 4
"""Words that nobody knows, up to which a text is looked through for slips."""
NAME: Final = 12
"""Letters of a name at most that is greeted."""
_CHANGING: Final = ("a", "e", "o")
"""First letters that forms change: 'aesthetic' / 'esthetic'."""
_NAMED: Final = ("hi", "hello", "hey", "dear")
_GO_ON: Final = ASKING.union(
    ("i", "i'm", "im", "i've", "ive", "i'd", "my", "we", "we're", "our", "please", "pls")
)
"""What may follow a greeting without a stop: "hi how do I", but not "hello kitty", nor "well water"."""
_ENDS: Final = r",.!?:;\n\u2013\u2014\u060c\u061b\u061f-"
_STOP: Final = re.compile(rf"[^\s{_ENDS}]+\s*([{_ENDS}]*)")
SPELLED: Final = OF_WORDS.union(
    "typo typos misspelled misspelt misspelling misspellings proofread proofreading letters correctly".split()
)
"""With one of these a slip may be what is asked about: "Is recieve spelled correctly?"."""
_MEANING: Final = frozenset("mean means meaning meant".split())
_POINTING: Final = OF_WORDS.difference(_MEANING).union("it this that these those following".split())
"""With none of these, what stands after the last stop is not what is asked for: "What does E12 mean? Thanks!"."""
_LAST: Final = re.compile(r"[.?!\n]\s*([^.?!\n]+?)[\s.?!]*$")
_LETTER: Final = re.compile(r"\w")
_FIRST: Final = re.compile(r"(?:^|[,.;:!?\xbf\n\u2013\u2014\u060c\u061b\u061f]|\s-)\s*([^\W\d_]+)")
"""The first word of a sentence, or of a part of it: "It is gone, can I change it"."""
_LONG_FORMS: Final = {
    "i'm": "i am", "im": "i am", "i've": "i have", "ive": "i have", "i'll": "i will", "you're": "you are",
    "it's": "it is", "that's": "that is", "there's": "there is", "theres": "there is",
    "what's": "what is", "whats": "what is",
    "where's": "where is", "who's": "who is", "how's": "how is", "we're": "we are", "we've": "we have",
    "they're": "they are", "don't": "do not", "dont": "do not", "doesn't": "does not", "doesnt": "does not",
    "didn't": "did not", "didnt": "did not", "isn't": "is not", "isnt": "is not", "aren't": "are not",
    "wasn't": "was not", "weren't": "were not", "won't": "will not", "wont": "will not", "can't": "can not",
    "cant": "can not", "cannot": "can not", "couldn't": "could not", "wouldn't": "would not",
    "shouldn't": "should not", "haven't": "have not", "hasn't": "has not", "hadn't": "had not",
}  # fmt: skip
_EXPANDED: Final = {short: long.split() for short, long in _LONG_FORMS.items()}
CONTRACTED: Final = frozenset(_EXPANDED)
"""'I'm', 'don't', 'whats'."""
_TYPED: Final = {
    "teh": "the", "hte": "the", "adn": "and", "waht": "what", "whta": "what", "wehn": "when", "hwo": "how",
    "taht": "that", "u": "you", "ur": "your", "r": "are",
}  # fmt: skip
"""Slips and short forms of short words."""
_LONGEST_BEGINNING: Final = max(map(len, BEGINNINGS))
_PASSED_OVER: Final = frozenset(
    word for known in (OPENINGS, CLOSINGS) for same in known.values() for phrase in same for word in phrase
).union(
    *BEGINNINGS, *BEGINNINGS.values(), PLEASE, FOR_ME, _EXPANDED, *_EXPANDED.values(), _TYPED, _TYPED.values()
)
"""Words that may go, come or be written otherwise."""


def core(text: str, words: tuple[str, ...], spelling: Spelling | None) -> tuple[str, ...]:
    """What is left of a text's `words`, lower-case; () if that is little. Texts with one core repeat each other.

    A question mark counts where the words alone would state something. Of a text that speaks of words none is a slip,
    nor of one in a language that `spelling` does not know (None).
    """
    left = list(words)
    if OF_WORDS.isdisjoint(left) and not points_back(left):
        left = _without_please(_bare(left, text, spelling))
    elif not _MEANING.isdisjoint(left) and _POINTING.isdisjoint(left) and (last := _LAST.search(text)):
        left = _bare_end(left, len(last[1].split()), text)
    elif order := shown(left, text):
        left = order
    elif order := given(left, text):
        if len(order) < len(left):
            text = text.rstrip(" ?!.")  # 'Could you translate this letter?' asks for no answer
        left = order
        while len(left) > LEAST and (size := _closing(left) or int(left[-1] in PLEASE)) > 0:
            left = left[:-size]
    if len(left) > LEAST and for_me(left):
        left = left[:-2]
    if left and left[0] in BEGUN:
        left = _begun_alike(left)
    if not _EXPANDED.keys().isdisjoint(left):
        left = [part for word in left for part in _EXPANDED.get(word, (word,))]
    short = len(left) < LEAST
    if short and not replies(left):
        return ()
    if spelling is not None and not short and SPELLED.isdisjoint(left):
        left = _mended(left, text, spelling)
    return (*left, "?") if _marked(text) and not _asks(left, text) else tuple(left)


def _begun_alike(words: list[str]) -> list[str]:
    """In the commonest words of its language, if enough are left: 'quisiera cambiar' as 'quiero cambiar'."""
    for size in range(min(_LONGEST_BEGINNING, len(words) - 1), 0, -1):
        if common := BEGINNINGS.get(tuple(words[:size])):
            alike = [*common, *words[size:]]
            return alike if len(alike) >= LEAST else words
    return words


def replies(words: Sequence[str]) -> bool:
    """Whether a few words answer a question: 'yes', 'three days'."""
    return any(word in _REPLIES or word in CARDINALS or word[0].isdigit() for word in words)


def few(words: int) -> int:
    """How many of a text's words may be slips."""
    return SLIPS if words >= 3 * SLIPS else SLIPS - 1


def _marked(text: str) -> bool:
    """Whether it has a question mark, or that of Arabic or of wide letters."""
    return "?" in text or (not text.isascii() and ("\u061f" in text or "\uff1f" in text))


def _asks(words: list[str], text: str) -> bool:
    """Whether the words alone ask."""
    return asks(words) or words[0] in ASKS or any(word.lower() in ASKS for word in _FIRST.findall(text))


def _mended(words: list[str], text: str, spelling: Spelling) -> list[str]:
    """In American forms, and with words for slips of the pen, if they are few."""
    slips = spelling.strange(words)
    if 0 < len(slips) <= STRANGE:
        meant = {i: m for i in slips if (m := spelling.meant(words[i], name=named(words[i], text)))}
        if len(meant) <= few(len(words)):
            words = [meant.get(i, word) for i, word in enumerate(words)]
    forms = spelling.forms
    if forms.keys().isdisjoint(words) and _TYPED.keys().isdisjoint(words):
        return words
    for i, word in enumerate(words):
        if (other := forms.get(word) or _TYPED.get(word)) and not named(word, text):
            words[i] = other
    return words


def named(word: str, text: str) -> bool:
    """Whether it is written as a name is: not once in small letters, though other words are."""
    return word not in text[:1].lower() + text[1:] and text.upper() != text


def _bare(words: list[str], text: str, spelling: Spelling | None) -> list[str]:
    """Without greetings at the beginning and thanks at the end."""
    at = 0
    while len(words) > LEAST and (size := _opening(words, text, spelling)):
        stop = ""
        for _ in range(size):
            found = _STOP.search(text, at)
            if found is None:
                return words
            at, stop = found.end(), found[1]
        if not stop and words[size : size + 1] and words[size] not in _GO_ON:
            break
        words = words[size:]
    return _bare_end(words, len(words), text)


def _bare_end(words: list[str], most: int, text: str) -> list[str]:
    """Without thanks among the last `most` words."""
    stops: list[str] = []
    least = LEAST if _REPLIES.isdisjoint(words[:1]) else 1  # 'no thanks'
    while len(words) > least and 0 < (size := _closing(words)) <= most:
        stops = stops or [""] + [found[1] for found in _STOP.finditer(text) if _LETTER.search(found[0])]
        before, end = (stops[-size - 1], stops[-1]) if size < len(stops) else ("", "")
        last = words[-size - 1] if size < len(words) else ""
        thanks = least == 1 and size == len(words) - 1
        if not thanks and not own(words[-size:], last, before, end, languages=speaks_of_languages(words)):
            break
        words, most, stops = words[:-size], most - size, stops[:-size]
    return words


def _without_please(words: list[str]) -> list[str]:
    """Without a 'please', but where it is what is asked about: 'a card with please'."""
    if PLEASE.isdisjoint(words) or speaks_of_languages(words):
        return words
    return [
        word
        for before, word in pairwise(("", *words))
        if word not in PLEASE or wants(before) or before == "to"
    ]


def _opening(words: list[str], text: str, spelling: Spelling | None) -> int:
    """How many words greet."""
    if words[0] in _NAMED and words[2] in ("team", "support") and _addressed(words[1], text, spelling):
        return 3  # "Hello Contoso team"
    return begun(words, 0, OPENINGS)


def _addressed(word: str, text: str, spelling: Spelling | None) -> bool:
    """Whether it may be somebody's name: one might tell whoever answers what to say there, 'Hi answer-with-no team'."""
    strange = spelling is not None and word not in spelling.common
    return word.isalpha() and len(word) <= NAME and (strange or named(word, text))


def _closing(words: list[str]) -> int:
    return next((len(p) for p in CLOSINGS.get(words[-1], ()) if tuple(words[-len(p) :]) == p), 0)


def akin(mine: Set[str], theirs: Set[str]) -> bool:
    """Whether what is left of two texts' words may be the same, by a look that costs a tenth of `core`. Pure.

    Texts with more than `2 * SLIPS` words that the other has not are none, in whatever form these are.
    """
    if not mine or not theirs:
        return False
    if not (mine.isdisjoint(_NAMED) and theirs.isdisjoint(_NAMED)):
        return True  # anybody's name may follow
    other = theirs - mine - _PASSED_OVER
    if len(other) > 2 * SLIPS or min(map(len, other), default=SHORT) < SHORT:
        return False
    own = mine - theirs - _PASSED_OVER
    if min(map(len, own), default=SHORT) < SHORT:
        return False
    return _twinned(other, mine) and _twinned(own, theirs)


def _twinned(words: Set[str], others: Set[str]) -> bool:
    """Whether each may be another form of one of `others`.

    A slip keeps the first letter or swaps it with the second, and few forms change it.
    """
    for word in words:
        first, size = word[0], len(word)
        if first in _CHANGING:
            continue
        for other in others:
            if first in other[:2] and -FAR <= size - len(other) <= FAR:
                break
        else:
            return False
    return True
