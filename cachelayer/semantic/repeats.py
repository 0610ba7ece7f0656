"""Texts that are one request but for how somebody types it: a greeting, thanks, small letters, stops, 'I'm' for 'I am',
a "please", two letters of a word swapped. What is left of both is the same, word for word and in order.

Greetings and thanks are taken away only where a text does not speak of words: of "how do you say thank you" they are
what is asked. What numbers, dates, identifiers and capitals say is the guards' to compare.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final

from .signature import ASKING, asks

LEAST: Final = 3
"""Words that must be left."""
SLIPS: Final = 2
"""Words at most that are spelled otherwise."""
LONG: Final = 5
"""Letters from which a word with two of them swapped is taken for a slip of the pen."""
Phrases = dict[str, list[tuple[str, ...]]]


def _phrases(text: str, at: int) -> Phrases:
    """Phrases, separated by commas, by their first (0) or last (-1) word, long ones first."""
    found: Phrases = {}
    for phrase in sorted((tuple(part.split()) for part in text.split(",")), key=len, reverse=True):
        found.setdefault(phrase[at], []).append(phrase)
    return found


_OPENINGS: Final = _phrases(
    "hi, hello, hey, heya, hiya, greetings, hi there, hello there, hey there, hi all, hello all, hi everyone,"
    "hello everyone, hi team, hello team, hey team, hi again, hello again, hi support, hello support,"
    "good morning, good afternoon, good evening, good day, dear support, dear team, dear support team,"
    "dear sir, dear madam, dear sir or madam, dear sirs, dear all, excuse me, sorry to bother you,"
    "quick question, a quick question, just a quick question, i have a question, i have a quick question,"
    "i am new here, i'm new here, im new here, thanks in advance, ok, okay, so, well, um, uh, hmm,"
    "hallo, guten tag, guten morgen, guten abend, hola, buenos días, buenas tardes, bonjour, bonsoir, salut,"
    "ciao, buongiorno, buonasera, olá, bom dia, boa tarde",
    0,
)
_CLOSINGS: Final = _phrases(
    "thanks, thank you, thx, ty, cheers, thanks a lot, thank you so much, thank you very much, thanks so much,"
    "many thanks, thanks in advance, thank you in advance, many thanks in advance, please help, please help me,"
    "help please, please advise, kind regards, best regards, warm regards, best wishes, any help appreciated,"
    "any help is appreciated, any help would be appreciated, have a nice day, have a good day,"
    "have a great day, danke, danke schön, vielen dank, bitte, mit freundlichen grüßen, viele grüße, gracias,"
    "muchas gracias, por favor, saludos, merci, merci beaucoup, merci d'avance, s'il vous plaît,"
    "s'il te plaît, cordialement, grazie, grazie mille, per favore, obrigado, obrigada, muito obrigado",
    -1,
)
_NAMED: Final = ("hi", "hello", "hey", "dear")
_GO_ON: Final = ASKING.union(
    ("i", "i'm", "im", "i've", "ive", "i'd", "my", "we", "we're", "our", "please", "pls")
)
"""What may follow a greeting without a stop: "hi how do I", but not "hello kitty", nor "well water"."""
_STOP: Final = re.compile(r"[^\s,.!?:;\n\u2013\u2014-]+\s*([,.!?:;\n\u2013\u2014-]*)")
_PLEASE: Final = frozenset(("please", "pls", "plz", "kindly"))
_OF_WORDS: Final = frozenset(
    """say says saying said translate translates translated translating translation mean means meaning meant word words
    phrase phrases spell spelled spelling pronounce pronounced write writes writing written wrote reply replies
    respond quote greet greets greeting greetings sentence sentences summarize rewrite rephrase paraphrase grammar
    sentiment classify tone sagt heißt heissen bedeutet übersetze dice decir significa traduce dit dire signifie
    traduis""".split()
)
_LONG_FORMS: Final = {
    "i'm": "i am", "im": "i am", "i've": "i have", "ive": "i have", "i'll": "i will", "you're": "you are",
    "it's": "it is", "that's": "that is", "there's": "there is", "what's": "what is", "whats": "what is",
    "where's": "where is", "who's": "who is", "how's": "how is", "we're": "we are", "we've": "we have",
    "they're": "they are", "don't": "do not", "dont": "do not", "doesn't": "does not", "doesnt": "does not",
    "didn't": "did not", "didnt": "did not", "isn't": "is not", "isnt": "is not", "aren't": "are not",
    "wasn't": "was not", "weren't": "were not", "won't": "will not", "wont": "will not", "can't": "can not",
    "cant": "can not", "cannot": "can not", "couldn't": "could not", "wouldn't": "would not",
    "shouldn't": "should not", "haven't": "have not", "hasn't": "has not", "hadn't": "had not",
}  # fmt: skip
_EXPANDED: Final = {short: long.split() for short, long in _LONG_FORMS.items()}

_PASSED_OVER: Final = frozenset(
    word
    for phrases in (_OPENINGS, _CLOSINGS)
    for same in phrases.values()
    for phrase in same
    for word in phrase
).union(_PLEASE, _EXPANDED, *_EXPANDED.values())
"""Words that may go, come or be written otherwise."""


def core(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """What is left of a text's `words`, lower-case; () if that is little.

    A question mark counts where the words alone would state something.
    """
    left = list(words)
    if _OF_WORDS.isdisjoint(left):
        left = [word for word in _bare(left, text) if word not in _PLEASE]
    if not _EXPANDED.keys().isdisjoint(left):
        left = [part for word in left for part in _EXPANDED.get(word, (word,))]
    if len(left) < LEAST:
        return ()
    return (*left, "?") if "?" in text and not asks(left) else tuple(left)


def _bare(words: list[str], text: str) -> list[str]:
    """Without greetings at the beginning and thanks at the end."""
    at = 0
    while len(words) > LEAST and (size := _opening(words)):
        stop = ""
        for _ in range(size):
            found = _STOP.search(text, at)
            if found is None:
                return words
            at, stop = found.end(), found[1]
        if not stop and words[size : size + 1] and words[size] not in _GO_ON:
            break
        words = words[size:]
    while len(words) > LEAST and (size := _closing(words)):
        words = words[:-size]
    return words


def _opening(words: list[str]) -> int:
    """How many words greet."""
    if words[0] in _NAMED and words[2] in ("team", "support"):
        return 3  # "Hello Contoso team"
    return next((len(p) for p in _OPENINGS.get(words[0], ()) if tuple(words[: len(p)]) == p), 0)


def _closing(words: list[str]) -> int:
    return next((len(p) for p in _CLOSINGS.get(words[-1], ()) if tuple(words[-len(p) :]) == p), 0)


def akin(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether what is left of two texts' words may be the same, by a look that costs a tenth of `core`. Pure."""
    if not mine or not theirs:
        return False
    if mine[0] in _NAMED or theirs[0] in _NAMED:
        return True  # anybody's name may follow
    strange = [word for word in theirs if word not in mine and word not in _PASSED_OVER]
    if len(strange) > SLIPS:
        return False
    strange += [word for word in mine if word not in theirs and word not in _PASSED_OVER]
    return len(strange) <= 2 * SLIPS and all(len(word) >= LONG for word in strange)


def repeats(mine: tuple[str, ...], theirs: tuple[str, ...], known: Container[str]) -> bool:
    """Whether one of two cores repeats the other. `known`: the words of the language. Pure."""
    if not mine or len(mine) != len(theirs):
        return False
    if mine == theirs:
        return True
    apart = [(x, y) for x, y in zip(mine, theirs, strict=True) if x != y]
    return len(apart) <= SLIPS and all(_swapped(x, y, known) for x, y in apart)


def _swapped(x: str, y: str, known: Container[str]) -> bool:
    """Whether one is a word and the other none, and the same but for two neighbours inside it."""
    if len(x) != len(y) or len(x) < LONG or (x in known) == (y in known):
        return False
    i = next(k for k, (c, d) in enumerate(zip(x, y, strict=True)) if c != d)
    return i > 0 and x[i : i + 2] == y[i : i + 2][::-1] and x[i + 2 :] == y[i + 2 :]
