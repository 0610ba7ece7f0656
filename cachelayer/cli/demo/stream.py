"""Traffic for the demo: a seeded stream of requests that repeats itself the way support traffic does.

* 78 % ask something general. The article follows Zipf's law (Mandelbrot's form): its share is proportional to
  1 / (rank + 5), and the order of popularity is drawn from the seed. The phrasing within it follows 1 / rank.
* 22 % are about one order and name its number; one in five of them returns to a recent number. Most of these
  answers help nobody else.
* 55 % of the questions come as they stand in the corpus, so that popular ones repeat to the letter. The
  others get what people add: a greeting, thanks, small letters, a slip of the finger.

With the default 2,000 requests `census` counts about 31 % exact repeats, 45 % that could be answered from an
earlier question of the same meaning, and 24 % that are new.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .corpus import Corpus, Question, label

PERSONAL = 0.22
RETURNING = 0.2
VERBATIM = 0.55
RECENT = 40
FLATTEN = 5
"""Added to an article's rank: help desks know many questions of middling popularity."""

OPENERS = (
    "Hi, ",
    "Hello, ",
    "hey, ",
    "Hi there! ",
    "Good morning, ",
    "Hello Wickley team, ",
    "Quick question: ",
    "Sorry to bother you: ",
    "Hi, I am new here. ",
    "Dear support, ",
)
CLOSERS = (
    " Thanks!",
    " Thank you.",
    " thx",
    " Please help.",
    " Cheers",
    " Many thanks in advance.",
    " Kind regards",
)
_WORD = re.compile(r"[a-z]{6,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the text as sent, the label of the right answer, and the question behind it."""

    text: str
    label: str
    question: Question


@dataclass(frozen=True, slots=True)
class Census:
    """What an unbounded cache could do with a stream, seen after the fact."""

    requests: int
    distinct: int
    exact: int
    """Requests whose text was asked before."""
    meaning: int
    """Others whose right answer was given before."""
    fresh: int
    """Requests that nothing earlier answers."""


def traffic(corpus: Corpus, requests: int, seed: int) -> list[Asked]:
    """The stream; equal arguments give equal streams."""
    dice = random.Random(seed)
    ranked = _by_popularity(corpus, dice)
    weights = [1 / (rank + FLATTEN) for rank in range(1, len(ranked) + 1)]
    recent: list[str] = []
    asked = []
    for _ in range(requests):
        if dice.random() < PERSONAL:
            asked.append(_personal(corpus, recent, dice))
        else:
            phrasings = dice.choices(ranked, weights)[0]
            question = dice.choices(phrasings, [1 / rank for rank in range(1, len(phrasings) + 1)])[0]
            asked.append(Asked(_surface(question.text, dice), label(question.article), question))
    return asked


def census(stream: Sequence[Asked]) -> Census:
    """Count exact repeats, repeats of meaning, and news."""
    texts: set[str] = set()
    labels: set[str] = set()
    kinds: Counter[str] = Counter()
    for asked in stream:
        kinds["exact" if asked.text in texts else "meaning" if asked.label in labels else "fresh"] += 1
        texts.add(asked.text)
        labels.add(asked.label)
    return Census(len(stream), len(texts), kinds["exact"], kinds["meaning"], kinds["fresh"])


def _by_popularity(corpus: Corpus, dice: random.Random) -> list[list[Question]]:
    groups: dict[str, list[Question]] = {article: [] for article in corpus.articles}
    for question in corpus.questions:
        groups[question.article].append(question)
    ranked = list(groups.values())
    dice.shuffle(ranked)
    for phrasings in ranked:
        dice.shuffle(phrasings)
    return ranked


def _personal(corpus: Corpus, recent: list[str], dice: random.Random) -> Asked:
    if recent and dice.random() < RETURNING:
        order = dice.choice(recent)
    else:
        order = f"WK-{dice.randrange(10_000, 100_000)}"
        recent.append(order)
        del recent[:-RECENT]
    template = dice.choice(corpus.personal)
    text = _surface(template.text, dice).replace("{order}", order)
    return Asked(text, label(template.article, order), template)


def _surface(text: str, dice: random.Random) -> str:
    """The question as somebody types it; never touches digits, short words or what is in braces."""
    if dice.random() < VERBATIM:
        return text
    habit = dice.random()
    if habit < 0.2:
        return text.lower().rstrip("?.")
    if habit < 0.4:
        return _slip(text, dice)
    opener = dice.choice(OPENERS) if habit < 0.8 else ""
    closer = dice.choice(CLOSERS) if habit >= 0.65 else ""
    return opener + text + closer


def _slip(text: str, dice: random.Random) -> str:
    """Two neighbouring letters inside one longer word change places."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    word = dice.choice(words)
    at = dice.randrange(word.start() + 1, word.end() - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
