"""Pairs that others wrote to find what models of language get wrong, from their public repositories. None are shipped.

* CheckList's suite for Quora's questions (Ribeiro et al., ACL 2020; marcotcr/checklist): qqp_suite.tar.gz;
* contrast sets (Gardner et al., Findings of EMNLP 2020; allenai/contrast-sets): BoolQ/boolq_perturbed.json;
* CREAK's contrast set (Onoe et al., NeurIPS Datasets 2021; yasumasaonoe/creak): data/creak/contrast_set.json;
* medical question pairs (McCreery et al., KDD 2020; curai/medical-question-pair-dataset): mqp.csv, its "different" ones
  written by doctors to look alike;
* PAWS (Zhang et al., NAACL 2019): its pairs made of Quora's questions by exchanging words, as uds-lsv/llmft has them in
  data/paws_qqp/dev_and_test.tsv;
* ATIS (Hemphill et al. 1990), requests for flights with what they name, as MiuLab/SlotGated-SLU has them: the folder
  data/atis/test. Errors were read of data/atis/train only;
* Overnight (Wang et al., ACL 2015): requests for blocks, meetings, flats, recipes and four other things, written by
  people for one logical form each, as rhythmcao/unsup-two-stage-semantic-parsing has them: the folder data/overnight.
  Errors were read of its *_train.tsv only;
* SICK (Marelli et al., LREC 2014): captions of pictures that entail one another, or do not; SICK.txt in
  kkalouli/SICK-processing. Errors of one half were read;
* Spider's questions to 166 data bases (Yu et al., EMNLP 2018), as ygan/Spider-Syn has them: its folder Spider-Syn.
  Errors were read of half of the data bases.
"""

from __future__ import annotations

import ast
import csv
import difflib
import hashlib
import json
import pickle
import random
import re
import tarfile
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .pairs_data import Pair

EACH = 80
"""Pairs of each test of CheckList's."""
ALIKE = 0.7
"""Share of equal characters from which two of BoolQ's questions are taken for edits of one another."""
_RELATED = 3.5
"""How alike people found captions, of 5, from which such are traps that neither entail nor contradict one another."""
_MISLABELLED = "Order does matter"
"""Its pairs ('is Ann punching Bob' / 'is Bob punching Ann') are traps, and marked as the same."""
_COMPARING = "Order does not matter for comparison"
"""Of whose pairs some take the opposite answer ('are A louder than B' / 'are B louder than A'); these are left out."""
_READ = ", read"
"""What the kind of a pair ends in whose errors were looked at."""
_TOLD_APART = ("paws", "atis", "overnight", "sick", "spider")
"""Sources whose kinds say so."""
_TOKENS = (
    (re.compile(r" (n't|'\w+)\b"), r"\1"),
    (re.compile(r" ([?.,!;:%)])"), r"\1"),
    (re.compile(r"([($]) "), r"\1"),
)
"""What undoes the spaces between a text's tokens."""
_SQL = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.]+|[^\s\w]")
"""Tokens of a query."""
_LEFT_OUT = ("Irrelevant preamble", "Reflexivity", _COMPARING)
"""Whose pairs are equal, or told apart by a preamble that may matter."""


def half(pair: Pair) -> str:
    """'look': its errors were read when guards were written; 'blind': only the sum was."""
    if pair.source in _TOLD_APART:
        return "look" if pair.kind.endswith(_READ) else "blind"
    at = hashlib.sha256((pair.kind + pair.a).encode()).digest()
    return "look" if at[-1] % 2 else "blind"


class _Inert:
    """Stands for any object of a suite: keeps its fields, does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> _Inert:
        return _Inert()

    def __setitem__(self, *_: Any) -> None: ...

    def append(self, *_: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        self.fields = state


class _Containers(pickle.Unpickler):
    """Reads containers and texts only; every other class becomes inert, so that no code of the file runs."""

    def find_class(self, module: str, name: str) -> Any:
        return OrderedDict if name == "OrderedDict" else type(name, (_Inert,), {})


def checklist(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Of each test with one label, of those that change a name or number in one question, and of slips of the pen."""
    with tarfile.open(path) as archive:
        file = archive.extractfile(archive.getmembers()[0])
        assert file is not None
        tests = _Containers(file).load().fields["tests"]
    for name, test in tests.items():
        found = list(_of_test(name, test.fields["data"], test.fields.get("labels")))
        kind = "cl:comparison order" if name.startswith(_COMPARING) else f"cl:{name[:48]}"
        for a, b, same in rng.sample(found, min(EACH, len(found))):
            yield Pair(a, b, same, kind, "report", "checklist")


def _of_test(name: str, data: list[Any], labels: Any) -> Iterator[tuple[str, str, bool]]:
    if isinstance(labels, int) and not name.startswith(_LEFT_OUT):
        same = labels == 1 and not name.startswith(_MISLABELLED)
        cases = data if isinstance(data[0][0], str) else [pair for case in data for pair in case]
        yield from ((a, b, same) for a, b in cases if a != b)
    elif name.startswith(_COMPARING):
        yield from ((case[0][1], case[2][1], True) for case in data)
    elif name == "(q, paraphrase(q))":
        yield from ((a, b, True) for case in data for a, b in case if a != b)
    elif name.startswith(("Change", "add one typo", "contrations")) and " in both " not in name:
        same = not name.startswith("Change")
        for (a, b), *others in data:
            yield from ((a, c, same) for c, _ in others if c != a)
            yield from ((b, d, same) for _, d in others if d != b)


def boolq(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Edits of one question of which one is answered yes and the other no."""
    found = []
    for case in json.loads(path.read_text("utf-8"))["data"][1:]:
        asked = [(case["question"], str(case["answer"]).upper())]
        asked += [(p["perturbed_q"], str(p["answer"]).upper()) for p in case["perturbed_questions"]]
        asked = [(q, answer) for q, answer in asked if q]
        found += [(a, b) for i, (a, x) in enumerate(asked) for b, y in asked[:i] if x != y and _alike(a, b)]
    for a, b in rng.sample(found, min(300, len(found))):
        yield Pair(a, b, False, "boolq", "report", "contrast")


def _alike(a: str, b: str) -> bool:
    return difflib.SequenceMatcher(None, a.lower(), b.lower()).ratio() > ALIKE


def creak(path: Path, _: random.Random) -> Iterator[Pair]:
    """Claims of which one is true and the other not."""
    by_pair: defaultdict[str, list[Any]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        claim = json.loads(line)
        by_pair[claim["pair_id"]].append(claim)
    for one, other in (two for two in by_pair.values() if len(two) == 2):
        if one["label"] != other["label"]:
            yield Pair(one["sentence"], other["sentence"], False, "creak", "report", "creak")


def medical(path: Path, rng: random.Random) -> Iterator[Pair]:
    """A question with another of the same answer, and with another that looks alike."""
    with path.open(encoding="utf-8", newline="") as lines:
        found = list(csv.reader(lines))
    for _, a, b, label in rng.sample(found, min(800, len(found))):
        yield Pair(a, b, label == "1", "mqp", "report", "medical")


def paws(path: Path, _: random.Random) -> Iterator[Pair]:
    """Quora's questions with words exchanged, labelled by people. The errors of one half were read."""
    with path.open(encoding="utf-8", newline="") as lines:
        found = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    random.Random(1).shuffle(found)
    for i, (_id, a, b, label) in enumerate(found):
        kind = f"paws{_READ}" if i < len(found) // 2 else "paws"
        yield Pair(_as_typed(a), _as_typed(b), label == "1", kind, "report", "paws")


def _as_typed(text: str) -> str:
    """Of a bytes literal with spaces between its tokens."""
    return _joined(str(ast.literal_eval(text).decode()))


def _joined(text: str) -> str:
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


def sick(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Captions that entail or contradict one another or, though alike, do neither; not where one says more."""
    found: defaultdict[str, list[Pair]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            says = {row["entailment_AB"].split("_")[1], row["entailment_BA"].split("_")[1]}
            kind = "contradiction" if "contradicts" in says else "-".join(sorted(says))
            if kind == "neutral" and float(row["relatedness_score"]) < _RELATED:
                continue
            read = hashlib.sha256(row["sentence_A_original"].encode()).digest()[0] % 2 == 0
            pair = Pair(
                row["sentence_A"],
                row["sentence_B"],
                kind == "entails",
                f"sick{_READ * read}",
                "report",
                "sick",
            )
            found[kind].append(pair)
    for kind in ("entails", "contradiction", "neutral"):
        yield from rng.sample(found[kind], min(600, len(found[kind])))


def spider(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions asked for one query of a data base, and for two of which one token differs: 'max' / 'min', a column."""
    asked: defaultdict[str, defaultdict[tuple[str, ...], set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in ("train_spider.json", "dev.json"):
        for case in json.loads((path / name).read_text("utf-8")):
            query = tuple(_SQL.findall(case["query"].lower()))
            asked[case["db_id"]][query].add(_joined(case["SpiderQuestion"]))
    found: defaultdict[str, list[Pair]] = defaultdict(list)
    for base, queries in asked.items():
        read = hashlib.sha256(base.encode()).digest()[0] % 2 == 1
        kind = f"spider{_READ * read}"
        for i, (one, texts) in enumerate(queries.items()):
            a, *others = sorted(texts)
            found["same"] += [Pair(a, b, True, kind, "report", "spider") for b in others]
            for two in list(queries)[:i]:
                if len(one) == len(two) and sum(x != y for x, y in zip(one, two, strict=True)) == 1:
                    b = rng.choice(sorted(queries[two]))
                    found["other"].append(Pair(rng.choice(sorted(texts)), b, False, kind, "report", "spider"))
    for pairs in found.values():
        yield from rng.sample(pairs, min(800, len(pairs)))


READERS = {
    "checklist": checklist,
    "boolq": boolq,
    "creak": creak,
    "medical": medical,
    "paws": paws,
    "atis": atis,
    "overnight": overnight,
    "sick": sick,
    "spider": spider,
}
