"""Other words for the same request: frames, synonyms, politeness, spelling. The answer stays the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from . import edit_words as ew
from .sources import part_of
from .wordnet import WordNet

_FRAMES: list[tuple[str, list[str]]] = [
    (r"(?:how (?:do|can|could|would|should) (?:i|we|you|one)|how to) (?P<x>(?!know\b)\w.+)", [
        "how do i {x}", "how can i {x}", "how to {x}", "how would i {x}", "what is the way to {x}", "{x} how",
        "what do i need to do to {x}", "what are the steps to {x}", "can you tell me how to {x}", "how does one {x}",
        "i would like to know how to {x}", "i need help to {x}", "please explain how to {x}", "steps to {x}",
        "is there a way to {x}", "what's the procedure to {x}", "any idea how i {x}", "i want to {x}", "help me {x}",
        "i'm trying to {x}, how", "show me how to {x}", "what is the process for {ing}", "how do i go about {ing}",
        "i need instructions for {ing}", "what does it take to {x}", "could you walk me through {ing}",
    ]),
    (r"(?:can|could|may) (?:i|we) (?P<x>.+)", [
        "can i {x}", "am i able to {x}", "is it possible to {x}", "may i {x}", "is it possible for me to {x}",
        "would i be able to {x}", "am i allowed to {x}", "do you let me {x}", "is {ing} possible", "could i {x}",
        "i'd like to know if i can {x}", "is there any way i can {x}", "does it work if i {x}",
    ]),
    (r"(?:i (?:want|need|wish|would like|am trying|am looking|have) to|i'd like to|i'm trying to|let me|"
     r"help me(?: to)?) (?P<x>.+)", [
        "i want to {x}", "i need to {x}", "i would like to {x}", "i'd like to {x}", "i'm trying to {x}", "help me {x}",
        "please help me {x}", "i am looking to {x}", "i wish to {x}", "can you help me {x}", "i have to {x}",
        "how do i {x}", "could you help me with {ing}", "i'm interested in {ing}",
    ]),
    (r"(?:what is|what's|whats|tell me|give me) (?P<x>(?:the|my|your|our|a|an)\b.+)", [
        "what is {x}", "what's {x}", "tell me {x}", "can you tell me {x}", "do you know {x}", "i'd like to know {x}",
        "could you tell me what {x} is", "please give me {x}", "i need to know {x}", "{x}", "{x} please",
        "find out {x}",
        "may i know {x}", "what would be {x}", "could i get {x}", "let me know {x}", "do you know what {x} is",
    ]),
    (r"(?P<w>when|where|why|who|how|what time) (?P<v>is|are|was|were|will|can|has|should) "
     r"(?P<s>(?:my|your|our) \w+|i|it|they|we|you) (?P<r>.+)", [
        "{w} {v} {s} {r}", "do you know {w} {s} {v} {r}", "can you tell me {w} {s} {v} {r}", "{w} exactly {v} {s} {r}",
        "i'd like to know {w} {s} {v} {r}", "any idea {w} {s} {v} {r}", "please tell me {w} {s} {v} {r}",
    ]),
    (r"why (?P<v>is|are|was|were|do|does|did|has|have) (?P<r>.+)", [
        "why {v} {r}", "how come {v} {r}", "for what reason {v} {r}", "what is the reason, why {v} {r}",
        "can you explain why {v} {r}", "why exactly {v} {r}",
    ]),
    (r"how many (?P<x>.+)", ["how many {x}", "what number of {x}", "what is the number of {x}",
    "tell me how many {x}"]),
    (r"how much (?:does|do|is|are) (?P<x>.+?)(?: cost)?", [
        "how much does {x} cost", "what is the price of {x}", "what does {x} cost", "how much is {x}", "{x} price",
        "what's the cost of {x}", "how much money is {x}", "how expensive is {x}", "what do i pay for {x}",
    ]),
    (r"how long (?:does|will) it take (?P<x>.+)", [
        "how long does it take {x}", "how much time does it take {x}", "what is the time needed {x}",
        "how long will it take {x}", "how many hours or days does it take {x}", "what's the duration {x}",
    ]),
    (r"(?:is there|are there|do you have) (?P<x>.+)", [
        "is there {x}", "are there {x}", "do you have {x}", "can i find {x}", "do you offer {x}", "is {x} available",
    ]),
    (r"(?:(?:can|could|would|will) you|please|i need you to|i want you to) (?!tell|know|have|be)(?P<x>\w.+)", [
        "can you {x}", "could you {x}", "please {x}", "{x}", "i need you to {x}", "i'd like you to {x}",
        "would you {x}",
        "go ahead and {x}", "would you mind {ing}", "{x} for me", "{x} now please", "will you {x}",
    ]),
    (r"(?P<x>(?:play|set|turn|add|book|call|send|show|find|remind|schedule|delete|cancel|order|rate|start|stop|make|"
     r"create|change|transfer|pay|check|get|put|list|read|open|close|move|freeze|update) .+)", [
        "{x}", "please {x}", "can you {x}", "could you {x}", "i want you to {x}", "i need you to {x}", "would you {x}",
        "go ahead and {x}", "{x} for me", "i'd like you to {x}", "{x} please", "would you mind {ing}",
    ]),
]  # fmt: skip
_COMPILED = [(re.compile(p + "$", re.IGNORECASE), out) for p, out in _FRAMES]
_SHORT = [("what is", "what's"), ("i am", "i'm"), ("do not", "don't"), ("does not", "doesn't"), ("cannot", "can't"),
          ("i would", "i'd"), ("i have", "i've"), ("is not", "isn't"), ("did not", "didn't"), ("it is", "it's"),
          ("will not", "won't"), ("are not", "aren't"), ("has not", "hasn't"), ("have not", "haven't"),
          ("you", "u"), ("please", "pls"), ("are", "r"), ("want to", "wanna"), ("going to", "gonna"),
          ("because", "cause"), ("account", "acct"), ("number", "no."), ("appointment", "appt")]  # fmt: skip
_SPELLED = "zero one two three four five six seven eight nine ten eleven twelve".split()
Rewording = Callable[[str, random.Random], str]


def gerund(phrase: str) -> str:
    """'get my card' -> 'getting my card'."""
    verb, _, rest = phrase.partition(" ")
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and len(verb) > 2:
        verb = verb[:-1]
    elif re.fullmatch(r"[a-z]*[^aeiou][aeiou][bdgmnprt]", verb) and (len(verb) < 5 or verb.endswith("set")):
        verb += verb[-1]
    return f"{verb}ing {rest}".strip()


class Reworder:
    """Makes other wordings; synonyms of one part only. Every draw comes from the `random.Random` handed in."""

    def __init__(self, part: str, net: WordNet) -> None:
        self._synonyms: dict[str, list[str]] = {}
        for group in ew.groups(ew.SAME, part):
            for word in group:
                self._synonyms.setdefault(word, []).extend(w for w in group if w != word)
        longest = sorted(self._synonyms, key=len, reverse=True)
        self._known = re.compile(
            rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE
        )
        self._net, self._part = net, part
        self._one_sense: dict[str, list[str]] = {}

    def __call__(self, text: str, rng: random.Random) -> str:
        """One to three changes. Returns `text` itself where nothing fits."""
        out = text
        steps: list[Rewording] = [self.frame, self.frame, self.synonym, self.synonym, self.thesaurus, front, polite,
                                  spelling, possessive, typo, digits, drop_words, plain,
                                  harmless]  # fmt: skip
        for step in rng.sample(steps, rng.choice((1, 2, 2, 3, 3))):
            out = step(out, rng)
        return out

    def repeat(self, text: str, rng: random.Random) -> str:
        """A near repeat: case, punctuation, politeness, a slip of the finger."""
        out = text
        for step in rng.sample([polite, spelling, typo, plain, plain, drop_words], rng.choice((1, 1, 2))):
            out = step(out, rng)
        return out

    def frame(self, text: str, rng: random.Random) -> str:
        body = text.strip().rstrip("?.! ").strip()
        for pattern, frames in _COMPILED:
            found = pattern.match(body)
            if found is None:
                continue
            parts = {k: v for k, v in found.groupdict().items() if v}
            if "x" in parts:
                parts["ing"] = gerund(parts["x"])
            out = rng.choice(frames).format(**parts)
            return out + ("?" if rng.random() < 0.5 else "")
        return text

    def synonym(self, text: str, rng: random.Random) -> str:
        found = list(self._known.finditer(text))
        if not found:
            return text
        m = rng.choice(found)
        return text[: m.start()] + rng.choice(self._synonyms[m[0].lower()]) + text[m.end() :]

    def thesaurus(self, text: str, rng: random.Random) -> str:
        """A synonym of a word that has but one or two senses in WordNet, and is no form of another: 'days' are 'years'
        there, of one's life."""
        tokens = re.findall(r"\b[a-z]{4,}\b", text)
        rng.shuffle(tokens)
        for word in tokens:
            others = self._unambiguous(word)
            if others:
                return re.sub(rf"\b{word}\b", rng.choice(others), text, count=1)
        return text

    def _unambiguous(self, word: str) -> list[str]:
        known = self._one_sense.get(word)
        if known is None:
            known = []
            senses = [k for p in "nvar" for k in self._net.index.get((word, p), [])]
            form = any(base != word for p in "nvar" for base in self._net.bases(word, p))
            if 0 < len(senses) <= 2 and not form and part_of(word) == self._part:
                known = [w.replace("_", " ") for w in self._net.synsets[senses[0]].words if w.lower() != word]
            self._one_sense[word] = known
        return known


def front(text: str, rng: random.Random) -> str:
    """'... on Monday' -> 'On Monday, ...'."""
    body = text.rstrip("?.! ")
    found = re.match(
        r"(.{12,}?) ((?:on|in|at|for|from|before|after|during|with|near) (?:\S+ ){0,3}\S+)$", body
    )
    return f"{found[2]}, {found[1]}{text[len(body) :]}" if found else text


def polite(text: str, rng: random.Random) -> str:
    if rng.random() < 0.5:
        return f"{rng.choice(ew.groups(ew.FILLERS))[0]}{rng.choice((' ', ', '))}{text}"
    body = text.rstrip("?.! ")
    return f"{body}{rng.choice((' ', ', '))}{rng.choice(ew.groups(ew.ENDINGS))[0]}{text[len(body) :]}"


def spelling(text: str, rng: random.Random) -> str:
    """Contractions and short forms, either way."""
    pairs = [
        (a, b)
        for s, t in _SHORT
        for a, b in ((s, t), (t, s))
        if re.search(rf"(?i)\b{re.escape(a)}(?!\w)", text)
    ]
    if not pairs:
        return text
    a, b = rng.choice(pairs)
    return re.sub(rf"(?i)\b{re.escape(a)}(?!\w)", b, text, count=1)


def possessive(text: str, rng: random.Random) -> str:
    """'the balance of my account' <-> 'my account's balance'; 'bag of Anna' <-> 'Anna's bag'."""
    out = re.sub(r"\b(?:the )?(\w+) of ((?:my |the |our )?\w+)(?=$|[?.!])", r"\2's \1", text, count=1)
    return out if out != text else re.sub(r"\b(\w+)'s (\w+)(?=$|[?.!])", r"the \2 of \1", text, count=1)


def typo(text: str, rng: random.Random) -> str:
    """Two letters swapped, one dropped or doubled, in a lower-case word of five letters and more."""
    found = list(re.finditer(r"\b[a-z]{5,}\b", text))
    if not found:
        return text
    m = rng.choice(found)
    word, i = m[0], rng.randrange(1, len(m[0]) - 2)
    slip = rng.choice(
        (
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[:i] + word[i + 1 :],
            word[:i] + word[i] + word[i:],
        )
    )
    return text[: m.start()] + slip + text[m.end() :]


def digits(text: str, rng: random.Random) -> str:
    """'two' <-> '2'."""

    def other(m: re.Match[str]) -> str:
        low = m[0].lower()
        if low in _SPELLED:
            return str(_SPELLED.index(low))
        return _SPELLED[int(low)] if int(low) < len(_SPELLED) else m[0]

    return re.sub(rf"(?i)\b(?:{'|'.join(_SPELLED[2:])}|\d{{1,2}})\b(?![.:/%-])", other, text)


def harmless(text: str, rng: random.Random) -> str:
    """A word more that changes nothing: 'how do i actually ...'."""
    m = re.search(r"(?i)\b(?:i|you|we|is|are|to) (?=\w)", text)
    return f"{text[: m.end()]}{rng.choice(ew.words(ew.HARMLESS))} {text[m.end() :]}" if m else text


def drop_words(text: str, rng: random.Random) -> str:
    """Telegram style: articles and 'please' go."""
    return re.sub(r"(?i)\b(?:the|a|an|please|just) (?=\w)", "", text) if rng.random() < 0.7 else text


def plain(text: str, rng: random.Random) -> str:
    """Case and punctuation."""
    kind = rng.randrange(4)
    if kind == 0:
        return text.lower()
    if kind == 1:
        return text.rstrip("?.! ")
    if kind == 2:
        return text[:1].upper() + text[1:] + ("" if text.endswith(("?", ".", "!")) else rng.choice("?."))
    return text.upper() if rng.random() < 0.15 else text.replace(",", "")
