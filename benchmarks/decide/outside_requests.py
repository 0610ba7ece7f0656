"""Requests that others wrote down with what they mean: a logical form, a query, what is named. None are shipped.

* ATIS (Hemphill et al. 1990), requests for flights with what they name, as MiuLab/SlotGated-SLU has them: the folder
  data/atis/test. Errors were read of data/atis/train only;
* Overnight (Wang et al., ACL 2015): requests for blocks, meetings, flats, recipes and four other things, written by
  people for one logical form each, as rhythmcao/unsup-two-stage-semantic-parsing has them: the folder data/overnight.
  Errors were read of its *_train.tsv only;
* Spider's questions to 166 data bases (Yu et al., EMNLP 2018), as ygan/Spider-Syn has them: its folder Spider-Syn.
  Errors were read of half of the data bases;
* NLU++ (Casanueva et al., Findings of NAACL 2022): what customers say to a bank and a hotel, with the parts of their
  intent; PolyAI-LDN/task-specific-datasets, the folder nlupp/data. Errors of one half were read.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .pairs_data import Pair

EACH = 80
"""Pairs of each of Overnight's domains."""
READ = ", read"
"""What the kind of a pair ends in whose errors were looked at."""
_TOKENS = (
    (re.compile(r" (n't|'\w+)\b"), r"\1"),
    (re.compile(r" ([?.,!;:%)])"), r"\1"),
    (re.compile(r"([($]) "), r"\1"),
)
"""What undoes the spaces between a text's tokens."""
_SQL = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.]+|[^\s\w]")
"""Tokens of a query."""
_SOCIAL = frozenset("acknowledge greet thank affirm deny end_call dont_know".split())
"""Intents of NLU++ that ask for nothing."""
_ALIKE = 0.4
"""Share of equal words from which two of its texts with other meanings are a trap."""
_WORD = re.compile(r"[a-z0-9']+")


def joined(text: str) -> str:
    """Without the spaces between a text's tokens."""
    typed = text.strip()
    for pattern, joined in _TOKENS:
        typed = pattern.sub(joined, typed)
    return typed


def atis(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Requests for flights that name the same, and such of which one names something else or one thing more."""
    requests = list(named(path).items())
    same, other = list[tuple[str, str]](), list[tuple[str, str]]()
    for i, (a, (intent, slots)) in enumerate(requests):
        for b, (also, others) in requests[:i]:
            if intent == also and slots == others:
                same.append((a, b))
            elif intent == also and len(slots & others) >= 2 and _one_apart(slots ^ others):
                other.append((a, b))
    for found, label in ((same, True), (other, False)):
        for a, b in rng.sample(found, min(300, len(found))):
            yield Pair(a, b, label, "atis", "report", "atis")


def named(folder: Path) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
    """Each request of a folder of ATIS with its intent and what it names."""
    intents, lines, tags = (
        folder.joinpath(name).read_text("utf-8").splitlines() for name in ("label", "seq.in", "seq.out")
    )
    return {
        line.strip(): (intent.strip(), _slots(line.split(), tag.split()))
        for intent, line, tag in zip(intents, lines, tags, strict=True)
    }


def _slots(words: list[str], tags: list[str]) -> frozenset[tuple[str, str]]:
    """What a request names: 'toloc.city_name' and 'boston'."""
    found: list[list[str]] = []
    for word, tag in zip(words, tags, strict=True):
        if tag.startswith("B-"):
            found.append([tag[2:], word])
        elif tag.startswith("I-") and found:
            found[-1].append(word)
    return frozenset((name, " ".join(value)) for name, *value in found)


def _one_apart(differ: frozenset[tuple[str, str]]) -> bool:
    """Whether one thing more is named, or one other of its kind."""
    return len(differ) == 1 or (len(differ) == 2 and len({name for name, _ in differ}) == 1)


def overnight(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Requests written for one logical form, and for two of which one word differs."""
    for file in sorted(path.glob("*_test.tsv")):
        asked: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for line in file.read_text("utf-8").splitlines():
            text, _, form = line.split("\t")
            asked[tuple(form.split())].append(text)
        same = [(a, b) for texts in asked.values() for i, a in enumerate(texts) for b in texts[:i]]
        other = [
            (rng.choice(asked[one]), rng.choice(asked[two]))
            for i, one in enumerate(asked)
            for two in list(asked)[:i]
            if len(one) == len(two) and sum(x != y for x, y in zip(one, two, strict=True)) == 1
        ]
        for found, label in ((same, True), (other, False)):
            for a, b in rng.sample(found, min(EACH, len(found))):
                yield Pair(a, b, label, file.stem.removesuffix("_test"), "report", "overnight")


def spider(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions asked for one query of a data base, and for two of which one token differs: 'max' / 'min', a column."""
    asked: defaultdict[str, defaultdict[tuple[str, ...], set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in ("train_spider.json", "dev.json"):
        for case in json.loads((path / name).read_text("utf-8")):
            query = tuple(_SQL.findall(case["query"].lower()))
            asked[case["db_id"]][query].add(joined(case["SpiderQuestion"]))
    found: defaultdict[str, list[Pair]] = defaultdict(list)
    for base, queries in asked.items():
        read = hashlib.sha256(base.encode()).digest()[0] % 2 == 1
        kind = f"spider{READ * read}"
        for i, (one, texts) in enumerate(queries.items()):
            a, *others = sorted(texts)
            found["same"] += [Pair(a, b, True, kind, "report", "spider") for b in others]
            for two in list(queries)[:i]:
                if len(one) == len(two) and sum(x != y for x, y in zip(one, two, strict=True)) == 1:
                    b = rng.choice(sorted(queries[two]))
                    found["other"].append(Pair(rng.choice(sorted(texts)), b, False, kind, "report", "spider"))
    for pairs in found.values():
        yield from rng.sample(pairs, min(800, len(pairs)))


def nlupp(path: Path, rng: random.Random) -> Iterator[Pair]:
    """What customers say, whose intents and values are the same, or of which one or two differ in like words."""
    for folder in ("banking", "hotels"):
        said: dict[str, frozenset[str]] = {}
        for file in sorted((path / folder).glob("fold*.json")):
            for case in json.loads(file.read_text("utf-8")):
                named = {f"{name} {value['text'].lower()}" for name, value in case.get("slots", {}).items()}
                meant = frozenset(case.get("intents", ())) - _SOCIAL | named
                if len(meant) >= 2:
                    said[case["text"].strip()] = meant
        yield from _told_apart(said, folder, rng)


def _told_apart(said: dict[str, frozenset[str]], name: str, rng: random.Random) -> Iterator[Pair]:
    words = {text: frozenset(_WORD.findall(text.lower())) for text in said}
    found: defaultdict[bool, list[Pair]] = defaultdict(list)
    for i, (a, mine) in enumerate(said.items()):
        read = hashlib.sha256(a.encode()).digest()[0] % 2 == 1
        for b, theirs in list(said.items())[:i]:
            alike = len(words[a] & words[b]) / len(words[a] | words[b])
            if alike < 1.0 and (mine == theirs or (len(mine ^ theirs) <= 2 and alike >= _ALIKE)):
                pair = Pair(a, b, mine == theirs, f"{name}{READ * read}", "report", "nlupp")
                found[mine == theirs].append(pair)
    for pairs in found.values():
        yield from rng.sample(pairs, min(300, len(pairs)))
