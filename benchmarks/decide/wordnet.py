"""A reader of WordNet's database files (wndb(5WN)): senses, what they are kinds of, opposites, kin."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
DEEPEST = {"n": 3, "v": 4, "a": 3, "r": 2}
"""Senses of a word that count, the most frequent first."""
_ENDINGS = {
    "n": (("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("ies", "y"), ("s", "")),
    "v": (
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
        ("s", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}


@dataclass
class Synset:
    """One meaning: its words, its parents, and links from a word of it to a word of another."""

    words: list[str]
    parents: list[str] = field(default_factory=list)
    opposites: list[tuple[int, str, int]] = field(default_factory=list)
    kin: list[tuple[int, str, int]] = field(default_factory=list)
    instance: bool = False
    """A name: a city, a person, a river."""


class WordNet:
    """Senses by key (part of speech + offset) and by word. `folder` holds data.noun, index.noun, noun.exc, ..."""

    def __init__(self, folder: Path) -> None:
        self.synsets: dict[str, Synset] = {}
        self.index: dict[tuple[str, str], list[str]] = {}
        self.exceptions: dict[tuple[str, str], str] = {}
        for part, name in PARTS.items():
            self._data(part, folder / f"data.{name}")
            for line in _lines(folder / f"index.{name}"):
                fields = line.split()
                count = int(fields[2])
                self.index[fields[0], part] = [part + offset for offset in fields[-count:]]
            for line in (folder / f"{name}.exc").read_text("utf-8").splitlines():
                form, base = line.split()[:2]
                self.exceptions[form, part] = base
        self.children: dict[str, list[str]] = defaultdict(list)
        for key, synset in self.synsets.items():
            for parent in synset.parents:
                self.children[parent].append(key)

    def _data(self, part: str, path: Path) -> None:
        for line in _lines(path):
            fields = line.partition("|")[0].split()
            count = int(fields[3], 16)
            found = Synset([w.partition("(")[0] for w in fields[4 : 4 + 2 * count : 2]])
            at = 4 + 2 * count
            for i in range(int(fields[at])):
                symbol, offset, other, places = fields[at + 1 + 4 * i : at + 5 + 4 * i]
                target = ("a" if other == "s" else other) + offset
                own, theirs = int(places[:2], 16), int(places[2:], 16)
                if symbol in ("@", "@i", "&"):
                    found.parents.append(target)
                    found.instance |= symbol == "@i"
                elif symbol == "!":
                    found.opposites.append((own, target, theirs))
                elif symbol in ("+", "\\", "<"):
                    found.kin.append((own, target, theirs))
            self.synsets[part + fields[0]] = found

    def bases(self, word: str, part: str) -> list[str]:
        """`word` and what it may be an inflection of, in the dictionary."""
        forms = [word, self.exceptions.get((word, part), "")]
        for ending, base in _ENDINGS[part]:
            if word.endswith(ending) and len(word) > len(ending) + 1:
                stem = word[: -len(ending)] + base
                forms.append(stem)
                if len(stem) > 3 and stem[-1] == stem[-2]:
                    forms.append(stem[:-1])
        return [f for f in dict.fromkeys(forms) if (f, part) in self.index]

    def senses(self, word: str) -> list[str]:
        """Keys of the frequent senses of a word in any of its forms."""
        found: list[str] = []
        for part in PARTS:
            for base in self.bases(word, part)[:2]:
                found += self.index[base, part][: DEEPEST[part]]
        return list(dict.fromkeys(found))

    def siblings(self, word: str) -> list[str]:
        """Other single words of the same kind as the first noun sense of `word`: 'turkey' for 'chicken'."""
        out: set[str] = set()
        for base in self.bases(word, "n")[:1]:
            key = self.index[base, "n"][0]
            for parent in self.synsets[key].parents:
                for child in self.children[parent]:
                    if child != key:
                        out.add(self.synsets[child].words[0])
        return sorted(w for w in out if w.isalpha() and len(w) > 2)

    def names(self, kind: str) -> list[str]:
        """Names that are instances of the first sense of `kind` or of what lies below it: 'city', 'country'."""
        todo, out = [self.index[kind, "n"][0]], []
        seen = set(todo)
        while todo:
            for child in self.children[todo.pop()]:
                if child in seen:
                    continue
                seen.add(child)
                if self.synsets[child].instance:
                    out.append(self.synsets[child].words[0].replace("_", " "))
                todo.append(child)
        return sorted(set(out))


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if not line.startswith("  ")]
