"""Pairs that others wrote to find what models of language get wrong, from their public repositories. None are shipped.

* CheckList's suite for Quora's questions (Ribeiro et al., ACL 2020; marcotcr/checklist): qqp_suite.tar.gz;
* contrast sets (Gardner et al., Findings of EMNLP 2020; allenai/contrast-sets): BoolQ/boolq_perturbed.json;
* CREAK's contrast set (Onoe et al., NeurIPS Datasets 2021; yasumasaonoe/creak): data/creak/contrast_set.json;
* medical question pairs (McCreery et al., KDD 2020; curai/medical-question-pair-dataset): mqp.csv, its "different" ones
  written by doctors to look alike;
* PAWS (Zhang et al., NAACL 2019): its pairs made of Quora's questions by exchanging words, as uds-lsv/llmft has them in
  data/paws_qqp/dev_and_test.tsv;
* SICK (Marelli et al., LREC 2014): captions of pictures that entail one another, or do not; SICK.txt in
  kkalouli/SICK-processing. Errors of one half were read;
* TREC CAsT (Dalton et al., 2019 to 2022; daltonj/treccastweb): questions of one conversation, as its organisers rewrote
  them to stand alone. Edits of one of them were fitted to, as one of the sources of train_pairs; pairs were not;
* requests told apart by what they mean: outside_requests.py;
* orders, sums and questions of forums: outside_orders.py;
* edits of questions, questions in other words, code, health and other languages: outside_asked.py.
"""

from __future__ import annotations

import ast
import csv
import difflib
import hashlib
import json
import pickle
import random
import tarfile
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .outside_asked import ASKED
from .outside_orders import ORDERS
from .outside_requests import READ, atis, joined, nlupp, overnight, spider
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
_TOLD_APART = frozenset(
    """paws atis overnight sick spider nlupp cast homeassistant nl2bash svamp gsmplus lcquad stackfaq mqr
    edited sql parasquad xquad rqe conala timetable rasa homes""".split()
)
"""Sources whose kinds say so."""
_LEFT_OUT = ("Irrelevant preamble", "Reflexivity", _COMPARING)
"""Whose pairs are equal, or told apart by a preamble that may matter."""


def half(pair: Pair) -> str:
    """'look': its errors were read when guards were written; 'blind': only the sum was."""
    if pair.source in _TOLD_APART:
        return "look" if pair.kind.endswith(READ) else "blind"
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
        kind = f"paws{READ}" if i < len(found) // 2 else "paws"
        yield Pair(_as_typed(a), _as_typed(b), label == "1", kind, "report", "paws")


def _as_typed(text: str) -> str:
    """Of a bytes literal with spaces between its tokens."""
    return joined(str(ast.literal_eval(text).decode()))


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
                f"sick{READ * read}",
                "report",
                "sick",
            )
            found[kind].append(pair)
    for kind in ("entails", "contradiction", "neutral"):
        yield from rng.sample(found[kind], min(600, len(found[kind])))


_CAST = (
    "2020/2020_manual_evaluation_topics_v1.0.json",
    "2021/2021_manual_evaluation_topics_v1.0.json",
    "2022/2022_evaluation_topics_flattened_duplicated_v1.0.json",
    "2019/data/evaluation/evaluation_topics_annotated_resolved_v1.0.tsv",
    "2019/data/training/train_topic_sample_annotated_resolved_v1.0.tsv",
)
_OF_ONE_TOPIC = 25


def cast(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions of one conversation: the same thing, and something else is asked of it."""
    topics = (asked for name in _CAST for _, asked in sorted(_topics(path / name).items()))
    for number, asked in enumerate(topics):
        both = [(a, b) for i, a in enumerate(asked) for b in asked[i + 1 :]]
        for a, b in rng.sample(both, min(_OF_ONE_TOPIC, len(both))):
            yield Pair(a, b, False, "cast" if number % 2 else f"cast{READ}", "report", "cast")


def _topics(path: Path) -> dict[str, list[str]]:
    """By the topic's number, each of its questions once."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    text = path.read_text("utf-8")
    if path.suffix == ".tsv":
        for line in text.splitlines():
            turn, question = line.split("\t")
            found[turn.split("_")[0]][" ".join(question.split())] = None
    else:
        for topic in json.loads(text):
            for turn in topic["turn"]:
                if question := turn.get("manual_rewritten_utterance"):
                    found[str(topic["number"])][" ".join(question.split())] = None
    return {number: list(asked) for number, asked in found.items()}


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
    "nlupp": nlupp,
    "cast": cast,
    **ORDERS,
    **ASKED,
}
