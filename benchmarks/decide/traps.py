"""One-edit traps: a request changed in one place so that it takes another answer. Each edit gives None if it
does not apply; every draw comes from the `random.Random` handed in, words from one part of the lists only."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from cachelayer.semantic.text.opposites import ANTONYMS

from . import edit_words as ew
from .sources import part_of
from .wordnet import WordNet

Edit = Callable[[str, random.Random], str | None]
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:[.,]\d+)?(?![\w/])")
_SPELLED = ("one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty "
            "hundred thousand").split()  # fmt: skip
_NOT = {
    "is": ("is not", "isn't"), "are": ("are not", "aren't"), "was": ("was not", "wasn't"), "can": ("cannot", "can't"),
    "were": ("were not",), "do": ("do not", "don't"), "does": ("does not", "doesn't"), "did": ("did not", "didn't"),
    "should": ("should not", "shouldn't"), "will": ("will not", "won't"), "would": ("would not",), "has": ("has not",),
    "could": ("could not", "couldn't"), "have": ("have not", "haven't"),
}  # fmt: skip
_BACK = {form: plain for plain, forms in _NOT.items() for form in forms}
_SMALL = frozenset(
    """i you we they he she it me my your our the a an this that to of in on at for from with and or is are
    was were be do does did can could would should will have has had what who when where why how which if not
    please just
    there some any need want know tell help get got like make take use more much many about when then than
    also""".split()
)


class Trapper:
    """Edits by kind. `part` says which words may be drawn."""

    def __init__(self, part: str, net: WordNet) -> None:
        self._net, self._part = net, part
        lists = (ew.CITIES, ew.COUNTRIES, ew.PEOPLE, ew.THINGS, ew.TEAMS, ew.LANGUAGES, ew.MONEY)
        self._kinds = [(ew.words(text, part), frozenset(text.lower().split())) for text in lists]
        self._more = [[n for n in net.names(k) if part_of(n) == part] for k in ("city", "country", "person")]
        self._more = [names for names in self._more if names]
        self._sibling: dict[str, list[str]] = {}
        dates = [*ew.groups(ew.TIMES), ew.DAYS.split(), ew.MONTHS.split()]
        self._swaps = {"scope": _listed(ew.groups(ew.SCOPES, part)), "unit": _listed(ew.groups(ew.UNITS)),
                       "date": _listed(dates), "verb": _listed(_VERBS)}  # fmt: skip
        self._added = [g[0] for g in ew.groups(ew.ADDED, part)]
        self._modifiers, self._narrowing = ew.words(ew.MODIFIERS, part), ew.words(ew.NARROWING, part)
        self.edits: dict[str, Edit] = {
            "number": number, "date": lambda t, r: self._swap("date", t, r), "year": year,
            "unit": lambda t, r: self._swap("unit", t, r), "entity": self.entity, "noun": self.noun,
            "negation": negation, "antonym": antonym, "scope": lambda t, r: self._swap("scope", t, r),
            "added": self.added, "modifier": self.modifier, "role": role, "question": question, "verb": self.verb,
            "identifier": identifier, "dropped": dropped,
        }  # fmt: skip

    def __call__(
        self, text: str, rng: random.Random, kinds: list[str] | None = None
    ) -> tuple[str, str] | None:
        """(trap, kind), or None if no edit of `kinds` fits."""
        order = list(kinds or self.edits)
        rng.shuffle(order)
        for kind in order:
            made = self.edits[kind](text, rng)
            if made is not None and made.lower() != text.lower():
                return made, kind
        return None

    def _swap(self, name: str, text: str, rng: random.Random) -> str | None:
        """One word of a list for another of the same list."""
        pattern, groups = self._swaps[name]
        found = list(pattern.finditer(text))
        if not found:
            return None
        m = rng.choice(found)
        word = m[0].lower()
        other = rng.choice([w for w in rng.choice(groups[word]) if w.lower() != word])
        return text[: m.start()] + other + text[m.end() :]

    def entity(self, text: str, rng: random.Random) -> str | None:
        """A name for another: of the same list, of WordNet, or made up."""
        names = [m for m in re.finditer(r"(?<=[\w,'] )[A-Z][a-zA-Z]+\b", text) if m[0].lower() not in _SMALL]
        names += [
            m for m in re.finditer(r"\b\w+\b", text) if any(m[0].lower() in low for _, low in self._kinds)
        ]
        if not names:
            return None
        m = rng.choice(names)
        pool = next((mine for mine, low in self._kinds if m[0].lower() in low), None)
        roll = rng.random()
        if pool is not None and roll < 0.7:
            other = rng.choice(pool)
        elif roll < 0.85:
            other = rng.choice(rng.choice(self._more))
        else:
            other = made_up(rng).capitalize()
        if other.lower() == m[0].lower():
            return None
        other = other.lower() if m[0].islower() else other
        return text[: m.start()] + other + text[m.end() :]

    def noun(self, text: str, rng: random.Random) -> str | None:
        """A noun for another of the same kind in WordNet."""
        tokens = [
            w for w in re.findall(r"\b[a-z]{3,}\b", text) if w not in _SMALL and ("n" in self._parts(w))
        ]
        rng.shuffle(tokens)
        for word in tokens[:4]:
            if word not in self._sibling:
                self._sibling[word] = [
                    w for w in self._net.siblings(word) if part_of(w) == self._part and w != word
                ]
            if self._sibling[word]:
                return _replace(text, word, rng.choice(self._sibling[word]))
        return None

    def verb(self, text: str, rng: random.Random) -> str | None:
        """The verb of the request for one that does something else."""
        return self._swap("verb", text, rng)

    def _parts(self, word: str) -> list[str]:
        return [p for p in "nvar" if self._net.bases(word, p)]

    def added(self, text: str, rng: random.Random) -> str | None:
        """A condition or a conjunct more, or the same taken away."""
        body = text.rstrip("?.! ")
        return f"{body} {rng.choice(self._added)}{text[len(body) :]}" if len(body.split()) < 25 else None

    def modifier(self, text: str, rng: random.Random) -> str | None:
        """An adjective or a noun that narrows what is asked."""
        spots = [m.end() for m in re.finditer(r"\b(?:my|the|a|an|our) (?=[a-z]{3,})", text)]
        pool = self._modifiers
        if not spots or rng.random() < 0.5:
            nouns = [m for m in re.finditer(r"(?<= )[a-z]{3,}\b", text) if m[0] not in _SMALL]
            spots = [
                m.start() for m in nouns if self._net.bases(m[0], "n") and not self._net.bases(m[0], "v")
            ]
            pool = self._narrowing
        if not spots:
            return None
        at = rng.choice(spots)
        return f"{text[:at]}{rng.choice(pool)} {text[at:]}"


_VERBS = [
    g.split("|")
    for g in """open|close|freeze|rename|find; book|cancel|change|confirm; buy|sell|rent|return; send|receive|forward;
    add|remove|count; start|stop|pause|restart; increase|decrease|check; activate|block|replace; order|return|track;
    read|write|delete|print; install|update|uninstall; deposit|withdraw|transfer; create|delete|copy|share; lock|unlock;
    win|lose; borrow|lend|repay; upload|download; renew|cancel|upgrade|downgrade; play|record|skip|stop;
    boil|fry|bake|grill|freeze;
    import|export; encrypt|decrypt; wash|dry|iron; plant|water|prune; sort|filter|group|merge|split;
    approve|reject|review;
    arrive|leave|land; apply|withdraw|qualify; report|dispute|accept; pay|charge|refund; enable|disable;
    teach|learn""".split(";")
]
_VERBS = [[v.strip() for v in g] for g in _VERBS]


def _listed(groups: list[list[str]]) -> tuple[re.Pattern[str], dict[str, list[list[str]]]]:
    """A pattern for any word of the groups, and the groups of each word."""
    of: dict[str, list[list[str]]] = {}
    for group in groups:
        for word in group:
            of.setdefault(word.lower(), []).append(group)
    longest = sorted(of, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE), of


def _replace(text: str, word: str, other: str) -> str:
    return re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", other, text, count=1, flags=re.IGNORECASE)


def made_up(rng: random.Random) -> str:
    return "".join(rng.choice(ew.MADE_UP) for _ in range(rng.choice((2, 3))))


def number(text: str, rng: random.Random) -> str | None:
    """Another number, in digits or in words."""
    found = list(_NUMBER.finditer(text))
    spelled = [w for w in _SPELLED if re.search(rf"\b{w}\b", text.lower()) and w != "one"]
    if spelled and (not found or rng.random() < 0.3):
        return _replace(text, rng.choice(spelled), rng.choice(_SPELLED[1:]))
    if not found:
        return None
    m = rng.choice(found)
    value = m[0].replace(",", "")
    if "." in value:
        other = f"{float(value) + rng.choice((0.5, 1, 2.25)):g}"
    else:
        n = int(value)
        other = str(rng.choice((n + 1, n + rng.randint(2, 9), n * 2 + 1, n * 10 or 7, max(n - 1, 0) or 3)))
    return text[: m.start()] + other + text[m.end() :]


def year(text: str, rng: random.Random) -> str | None:
    m = re.search(r"\b(?:19|20)\d\d\b", text)
    return _replace(text, m[0], str(int(m[0]) + rng.choice((-10, -3, -2, -1, 1, 2, 4, 10)))) if m else None


def identifier(text: str, rng: random.Random) -> str | None:
    """A letter or digit of an identifier: 'HTTP 404', 'A320', 'FIN 270'."""
    m = re.search(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{2,}\b|\b[A-Z]{3,}\b", text)
    if m is None:
        return None
    i = rng.randrange(len(m[0]))
    c = m[0][i]
    new = (
        str((int(c) + rng.randint(1, 8)) % 10)
        if c.isdigit()
        else rng.choice("ABCDEFGHKLMNPRSTXZ" if c.isupper() else "bcdfghklmnprst")
    )
    return text[: m.start()] + m[0][:i] + new + m[0][i + 1 :] + text[m.end() :]


def negation(text: str, rng: random.Random) -> str | None:
    """'is' / 'is not', 'with' / 'without', 'able' / 'unable'."""
    low = text.lower()
    back = [f for f in _BACK if re.search(rf"\b{re.escape(f)}\b", low)]
    if back:
        return _replace(text, back[0], _BACK[back[0]])
    found = [w for w in (*_NOT, "with", "ever", "able", "to") if re.search(rf"\b{w}\b", low)]
    if not found:
        return None
    word = rng.choice(found)
    other = {"with": "without", "ever": "never", "able": "unable", "to": "not to"}.get(word) or rng.choice(
        _NOT[word]
    )
    m = re.search(rf"\b{word}\b(?: (?P<s>i|you|we|they|he|she|it|there|(?:the|my|your|a) \w+)\b)?", low)
    if m is not None and m["s"] and word in _NOT and "'" not in other:
        end = m.end("s")
        return text[:end] + " not" + text[end:]
    return _replace(text, word, other)


def antonym(text: str, rng: random.Random) -> str | None:
    """A word for its opposite."""
    found = [
        w for w in dict.fromkeys(re.findall(r"[a-z]+", text.lower())) if w in ANTONYMS and w not in _SMALL
    ]
    if not found:
        return None
    word = rng.choice(found)
    return _replace(text, word, rng.choice(sorted(ANTONYMS[word])))


def role(text: str, rng: random.Random) -> str | None:
    """What stands around a direction word, swapped."""
    m = re.search(
        r"\b(?P<a>(?:my )?[\w$.]+) (?:to|into|than|over|before|after|instead of|against) (?P<b>(?:my )?[\w$.]+)", text
    )  # fmt: skip
    if m is None or m["a"].lower() in _SMALL or m["b"].lower() in _SMALL or m["a"].lower() == m["b"].lower():
        return None
    return text[: m.start("a")] + m["b"] + text[m.end("a") : m.start("b")] + m["a"] + text[m.end("b") :]


def question(text: str, rng: random.Random) -> str | None:
    """Another question word: 'when' / 'where', 'how' / 'why'."""
    groups = (("when", "where", "why", "who"), ("how many", "which"), ("how long", "how often"), ("how", "why"),
              ("how much", "when"), ("what", "who"))  # fmt: skip
    low = text.lower()
    for group in rng.sample(groups, len(groups)):
        for word in group:
            if low.startswith(word + " "):
                other = rng.choice([w for w in group if w != word])
                return other + text[len(word) :]
    return None


def dropped(text: str, rng: random.Random) -> str | None:
    """One of two things joined by 'and' goes, or 'and' becomes 'or'."""
    m = re.search(r"(?P<a>\w+) and (?P<b>(?:the |my |a )?\w+)", text)
    if m is None:
        return None
    return text[: m.start()] + rng.choice((m["a"], m["b"])) + text[m.end() :]
