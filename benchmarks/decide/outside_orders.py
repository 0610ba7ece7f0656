"""Orders, sums and questions of forums that others wrote down with what they mean. None are shipped.

* Home Assistant's tests (home-assistant/intents): what is said to a house, with the intent and its slots; the folder
  tests/en;
* NL2Bash (Lin et al., LREC 2018; TellinaTool/nl2bash): what commands of a shell do, in words; the folder data/bash;
* SVAMP (Patel et al., NAACL 2021; arkilpatel/SVAMP): problems of arithmetic, SVAMP.json; and GSM-Plus (Li et al., ACL
  2024; qtli/GSM-Plus), changed in numbers, operations or words only: dataset/gsmplus_testmini.jsonl;
* LC-QuAD (Trivedi et al., ISWC 2017; AskNowQA/LC-QuAD): questions for DBpedia, and the filled template of each;
* StackFAQ (Karan and Snajder 2018), as ML-Recipes/BERT-FAQ has it: data/StackFAQ/stackExchange-FAQ.xml;
* MQR (Chu et al., AAAI 2020; ZeweiChu/MQR): questions of forums, made whole by others: data/dev.tsv.

Errors of one half, drawn by a hash of what is meant, were read for the guards of late November 2026.
"""

from __future__ import annotations

import hashlib
import html
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import yaml

from .outside_requests import READ
from .pairs_data import Pair

EACH = 300
"""Pairs of a kind at most."""
OF_ONE = 6
"""True pairs of one meaning at most."""
_WORD = re.compile(r"[a-z0-9']+")
_PART = re.compile(r"[\w./-]+|\S")
_TEXT = re.compile(r"<(?:rephr|question)>(.*?)</(?:rephr|question)>", re.DOTALL)
_THREAD = re.compile(r"<qapair>(.*?)</qapair>", re.DOTALL)
_SAME = ("problem understanding", "distraction insertion")
"""What GSM-Plus changes without changing the sum."""
Meant = Mapping[str, Set[str]]
"""Texts by what they mean."""


def read_of(source: str, meaning: str) -> bool:
    """Whether errors of pairs of this meaning may have been read."""
    return hashlib.sha256(f"o2{source}{meaning}".encode()).digest()[0] % 2 == 1


def _pair(a: str, b: str, same: bool, source: str, meaning: str, kind: str = "") -> Pair:
    read = READ * read_of(source, meaning)
    return Pair(a.strip(), b.strip(), same, f"{kind or source}{read}", "report", source)


def alike(a: str, b: str) -> float:
    """The share of their words that both have."""
    mine, theirs = set(_WORD.findall(a.lower())), set(_WORD.findall(b.lower()))
    return len(mine & theirs) / max(len(mine | theirs), 1)


def _same(said: Meant, source: str, rng: random.Random) -> Iterator[Pair]:
    for meaning in sorted(said):
        texts = sorted(said[meaning])
        both = [(a, b) for i, a in enumerate(texts) for b in texts[:i]]
        for a, b in rng.sample(both, min(OF_ONE, len(both))):
            yield _pair(a, b, True, source, meaning)


def _drawn(found: list[Pair], rng: random.Random) -> Iterator[Pair]:
    """`EACH` of each kind and label."""
    by_kind: defaultdict[tuple[str, bool], list[Pair]] = defaultdict(list)
    for pair in found:
        by_kind[pair.kind, pair.same].append(pair)
    for pairs in by_kind.values():
        yield from rng.sample(pairs, min(EACH, len(pairs)))


def home(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Orders to a house of one intent and slots, and such of which one slot is another or one more."""
    said: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
    for file in sorted(path.rglob("*.yaml")):
        for test in (yaml.safe_load(file.read_text("utf-8")) or {}).get("tests", ()):
            if intent := test.get("intent"):
                slots: dict[str, Any] = intent.get("slots") or {}
                values = ((k, str(v["value"] if isinstance(v, dict) else v)) for k, v in slots.items())
                said[intent["name"], *sorted(values)] |= set(test["sentences"])
    named = {str(meant): said[meant] for meant in sorted(said)}
    found = list(_same(named, "homeassistant", rng))
    for i, one in enumerate(sorted(said)):
        for other in sorted(said)[:i]:
            if len({*one} ^ {*other}) <= 2 and _together(str(one), str(other), "homeassistant"):
                a, b = rng.choice(sorted(said[one])), rng.choice(sorted(said[other]))
                found.append(_pair(a, b, False, "homeassistant", str(one)))
    yield from _drawn(found, rng)


def _together(one: str, other: str, source: str) -> bool:
    """Whether both are of one half."""
    return read_of(source, one) == read_of(source, other)


def bash(path: Path, rng: random.Random) -> Iterator[Pair]:
    """What one command does, in two wordings, and two commands of which one word differs."""
    said: defaultdict[str, set[str]] = defaultdict(set)
    names = (path / name for name in ("all.nl", "all.cm"))
    for text, command in zip(*(name.read_text("utf-8").splitlines() for name in names), strict=True):
        said[command.strip()].add(text.strip())
    found = list(_same(said, "nl2bash", rng))
    shapes: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for command in sorted(said):
        parts = tuple(_PART.findall(command))
        for i in range(len(parts)):
            shapes[(*parts[:i], "*", *parts[i + 1 :])].append(command)
    for commands in shapes.values():
        for i, one in enumerate(commands):
            for other in commands[:i]:
                a, b = rng.choice(sorted(said[one])), rng.choice(sorted(said[other]))
                if _together(one, other, "nl2bash") and alike(a, b) >= 0.3:
                    found.append(_pair(a, b, False, "nl2bash", one))
    yield from _drawn(found, rng)


def svamp(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Problems of arithmetic in nearly the same words, with other results."""
    found, asked = list[Pair](), list[tuple[str, float]]()
    for case in json.loads(path.read_text("utf-8")):
        text = f"{case['Body'].rstrip('. ')}. {case['Question']}"
        for other, result in asked:
            near = result != case["Answer"] and alike(text, other) >= 0.6
            if near and _together(text[:15], other[:15], "svamp"):
                found.append(_pair(text, other, False, "svamp", text[:15]))
        asked.append((text, case["Answer"]))
    yield from _drawn(found, rng)


def gsm(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Problems of arithmetic and what became of them: other sums, or the same in other words."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        kind, seed = case["perturbation_type"], case["seed_question"]
        if kind in _SAME or case["answer"] != case["seed_answer"]:
            found.append(_pair(seed, case["question"], kind in _SAME, "gsmplus", seed, f"gsm: {kind}"))
    yield from _drawn(found, rng)


def lcquad(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions and the filled templates of them, and questions whose queries differ in one name."""
    found = []
    queries: defaultdict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for case in (c for file in sorted(path.glob("*-data.json")) for c in json.loads(file.read_text("utf-8"))):
        query, asked = case["sparql_query"], case["corrected_question"].strip()
        template = re.sub(r"[<>]", "", case["intermediary_question"])
        found.append(_pair(template, asked, True, "lcquad", query))
        names = re.findall(r"<([^>]*)>", query)
        for i in range(len(names)):
            shape = (re.sub(r"<[^>]*>", "#", query), *names[:i], "*", *names[i + 1 :])
            for other, question in queries[shape]:
                if other != query and _together(query, other, "lcquad") and alike(asked, question) >= 0.3:
                    found.append(_pair(asked, question, False, "lcquad", query))
            queries[shape].append((query, asked))
    yield from _drawn(found, rng)


def forum(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Wordings of what one thread asks, and of two threads in like words."""
    said: dict[str, set[str]] = {}
    for i, thread in enumerate(_THREAD.findall(path.read_text("utf-8", errors="replace"))):
        texts = {html.unescape(text).strip() for text in _TEXT.findall(thread)}
        said[f"q{i}"] = {text for text in texts if len(text) > 5}
    found = list(_same(said, "stackfaq", rng))
    for i, one in enumerate(said):
        for other in list(said)[:i]:
            a, b = max(
                ((x, y) for x in sorted(said[one]) for y in sorted(said[other])), key=lambda p: alike(*p)
            )
            if _together(one, other, "stackfaq") and alike(a, b) >= 0.35:
                found.append(_pair(a, b, False, "stackfaq", one))
    yield from _drawn(found, rng)


def whole(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions as they were typed, and as others made them whole."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
    found = [_pair(row[4], row[5], True, "mqr", row[3]) for row in rows if len(row) >= 6]
    yield from _drawn(found, rng)


ORDERS = {
    "home": home,
    "bash": bash,
    "svamp": svamp,
    "gsm": gsm,
    "lcquad": lcquad,
    "forum": forum,
    "whole": whole,
}
