"""Questions that others wrote, changed or asked again: the sets of late November 2026. None are shipped.

* Contrast sets (Gardner et al., Findings of EMNLP 2020; allenai/contrast-sets), the folders of DROP, Quoref, ROPES and
  Perspectrum: a question, or a claim, and its edit that has another answer, or takes the other side;
* Academic, IMDB, Restaurants and Yelp (Li and Jagadish 2014; Yaghmazadeh et al. 2017; Tang and Mooney 2000;
  jkkummerfeld/text2sql-data, the folder data): questions for one query, and for two of which one token differs;
* paraphrased SQuAD (Gan and Ng, ACL 2019; nusnlp/paraphrasing-squad, the folder datasets): questions in other words;
* XQuAD (Artetxe et al., ACL 2020; deepmind/xquad): questions about one paragraph, in English, German, Spanish and
  Chinese;
* recognizing question entailment (Ben Abacha and Demner-Fushman, AMIA 2016; abachaa/RQE_Data_AMIA2016): what people
  ask about their health, and a question of a list that answers it, or does not;
* CoNaLa (Yin et al., MSR 2018), as ypapanik/t5-for-code-generation has it in its folder data: what lines of Python do;
* questions to forums and a timetable (Braun et al., SIGDIAL 2017; sebischair/NLU-Evaluation-Corpora);
* what Rasa's own bot is asked (RasaHQ/rasa-demo, the folder data/nlu);
* Home Assistant's tests in German, French and Spanish (home-assistant/intents): the folder tests.

Errors of one half, drawn by a hash of what is meant, were read.
"""

from __future__ import annotations

import csv
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .outside_orders import _drawn, _pair, _same, _together, alike, home
from .outside_requests import joined
from .pairs_data import Pair

_NEAR = 0.35
"""Share of equal words from which questions of two meanings are a trap."""
_SHORT = 300
"""Characters of what is asked about one's health at most."""
_FOREIGN = 250
"""Orders to a house in each language."""
_SQL = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.]+|[^\s\w]")
_MARKED = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\{[^}]*\})")


def contrasts(path: Path, rng: random.Random) -> Iterator[Pair]:
    """A question and its edit, of another answer; a claim and one of the other side."""
    found = [*_drop(path), *_quoref(path), *_ropes(path)]
    with (path / "perspectrum/perspectrum_contrast_sets.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            a, b = row["original_claim"], row["contrast_claim"]
            if {row["original_stance_label"], row["contrast_stance_label"]} == {"pos", "neg"}:
                found.append(_pair(a, b, False, "edited", a, "perspectrum"))
    yield from _drawn(sorted(set(found), key=str), rng)


def _drop(path: Path) -> Iterator[Pair]:
    for passage in json.loads((path / "DROP/drop_contrast_sets_test.json").read_text("utf-8")).values():
        for case in passage["qa_pairs"]:
            a, b = case["original_question"], case["question"]
            if a.strip() != b.strip() and alike(a, b) >= 0.5:
                yield _pair(a, b, False, "edited", passage["passage"][:40], "drop")


def _asked(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """The id, where it came from, the question and its answer."""
    read = json.loads(path.read_text("utf-8"))
    for article in _within(read):
        for paragraph in article["paragraphs"]:
            for case in paragraph["qas"]:
                about = paragraph.get("situation", paragraph.get("context", ""))
                answers = "|".join(sorted(x["text"] for x in case["answers"]))
                yield case.get("original_id", case["id"]), about, case["question"], answers


def _within(read: Any) -> list[Any]:
    found: list[Any] = read["data"] if isinstance(read, dict) else read
    return found


def _quoref(path: Path) -> Iterator[Pair]:
    before = {i: rest for i, *rest in _asked(path / "quoref/quoref_original_subset_20191206_merged.json")}
    for i, about, question, answers in _asked(path / "quoref/quoref_test_perturbations_20191206_merged.json"):
        if i in before and before[i][2] != answers and before[i][1].strip() != question.strip():
            yield _pair(before[i][1], question, False, "edited", about[:40], "quoref")


def _ropes(path: Path) -> Iterator[Pair]:
    before = {i: rest for i, *rest in _asked(path / "ropes/data/ropes_contrast_set_original_032820.json")}
    for i, about, question, answers in _asked(path / "ropes/data/ropes_contrast_set_032820.json"):
        said, asked, meant = before[i]
        if meant != answers and asked.strip() != question.strip() and said == about:
            yield _pair(asked, question, False, "edited", about[:40], "ropes")


def queries(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions for one query, and for two of which one token or one value differs."""
    found = list[Pair]()
    for file in ("academic", "imdb", "restaurants", "yelp"):
        said: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for query in json.loads((path / f"{file}.json").read_text("utf-8")):
            for sentence in query["sentences"]:
                text, form = sentence["text"], query["sql"][0]
                for name, value in sentence["variables"].items():
                    text, form = text.replace(name, value), form.replace(name, value)
                said[tuple(_SQL.findall(form))].add(joined(text))
        named = {" ".join(form): said[form] for form in sorted(said)}
        found += _same(named, "sql", rng)
        for i, one in enumerate(sorted(said)):
            for two in sorted(said)[:i]:
                near = (
                    len(one) == len(two)
                    and 1 <= len({(x, y) for x, y in zip(one, two, strict=True) if x != y}) < 2
                )
                if near and _together(" ".join(one), " ".join(two), "sql"):
                    a, b = rng.choice(sorted(said[one])), rng.choice(sorted(said[two]))
                    found.append(_pair(a, b, False, "sql", " ".join(one)))
    yield from _drawn(found, rng)


def reworded(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions of SQuAD and the same in other words."""
    found = list[Pair]()
    for which in ("dev", "adv"):  # whose ids are those of neighbours
        both = zip(_asked(path / f"{which}_orig.json"), _asked(path / f"{which}_para.json"), strict=True)
        found += [
            _pair(one, other, True, "parasquad", about[:40]) for (_, about, one, _), (_, _, other, _) in both
        ]
    yield from _drawn(found, rng)


def xquad(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions about one paragraph in like words, of other answers."""
    found = list[Pair]()
    for language in ("en", "de", "es", "zh"):
        by: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for _, about, question, answer in _asked(path / f"xquad.{language}.json"):
            by[about].append((question, answer))
        for n, asked in enumerate(by.values()):
            for i, (a, x) in enumerate(asked):
                for b, y in asked[:i]:
                    if x != y and (language == "zh" or alike(a, b) >= 0.25):
                        found.append(_pair(a, b, False, "xquad", str(n), f"xquad {language}"))
    yield from _drawn(found, rng)


def health(path: Path, rng: random.Random) -> Iterator[Pair]:
    """What people ask about their health, and a question of a list."""
    found = list[Pair]()
    for case in ElementTree.parse(path / "RQE_Test_302_pairs_AMIA2016.xml").getroot():
        a, b = (" ".join((case.findtext(name) or "").split()) for name in ("chq", "faq"))
        if a and b and len(a) <= _SHORT:
            found.append(_pair(a, b, case.get("value") == "true", "rqe", a))
    yield from _drawn(found, rng)


def code(path: Path, rng: random.Random) -> Iterator[Pair]:
    """What a line of Python does, in two wordings, and two lines of which one token differs."""
    said: defaultdict[str, set[str]] = defaultdict(set)
    for name in ("train", "test"):
        for case in json.loads((path / f"conala-{name}.json").read_text("utf-8")):
            if text := case["rewritten_intent"]:
                said[" ".join(case["snippet"].split())].add(text.strip())
    found = list(_same(said, "conala", rng))
    tokens = {line: tuple(_SQL.findall(line)) for line in sorted(said)}
    shapes: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for line, parts in tokens.items():
        for i in range(len(parts)):
            shapes[(*parts[:i], "*", *parts[i + 1 :])].append(line)
    for lines in shapes.values():
        for i, one in enumerate(lines):
            for other in lines[:i]:
                a, b = rng.choice(sorted(said[one])), rng.choice(sorted(said[other]))
                if _together(one, other, "conala") and alike(a, b) >= _NEAR and not said[one] & said[other]:
                    found.append(_pair(a, b, False, "conala", one))
    yield from _drawn(found, rng)


def timetable(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Questions of one intent that name the same, and such of which one thing named is another."""
    found = list[Pair]()
    for name in ("ChatbotCorpus", "AskUbuntuCorpus", "WebApplicationsCorpus"):
        said: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for case in json.loads((path / f"{name}.json").read_text("utf-8"))["sentences"]:
            values = sorted(f"{x['entity']} {x['text'].lower()}" for x in case["entities"])
            if case["intent"] != "None":
                said[case["intent"], *values].add(case["text"].strip())
        if name == "ChatbotCorpus":
            found += _same({str(meant): said[meant] for meant in sorted(said)}, "timetable", rng)
        for i, one in enumerate(sorted(said)):
            for two in sorted(said)[:i]:
                if 0 < len({*one} ^ {*two}) <= 2 and _together(str(one), str(two), "timetable"):
                    a, b = _nearest(said[one], said[two])
                    if alike(a, b) >= _NEAR:
                        found.append(_pair(a, b, False, "timetable", str(one)))
    yield from _drawn(found, rng)


def _nearest(one: set[str], two: set[str]) -> tuple[str, str]:
    return max(((a, b) for a in sorted(one) for b in sorted(two)), key=lambda p: alike(*p))


def bot(path: Path, rng: random.Random) -> Iterator[Pair]:
    """What a bot is asked, of two intents, in like words."""
    said: dict[str, set[str]] = {}
    for file in sorted(path.glob("*.yml")):
        for part in yaml.safe_load(file.read_text("utf-8")).get("nlu", ()):
            if (name := part.get("intent")) and name != "out_of_scope/other":
                lines = [line.removeprefix("-").strip() for line in part["examples"].splitlines()]
                said.setdefault(name, set()).update(_MARKED.sub(r"\1", line) for line in lines if line)
    found = list[Pair]()
    for i, one in enumerate(sorted(said)):
        for two in sorted(said)[:i]:
            if not _together(one, two, "rasa"):
                continue
            near = ((a, b) for a in sorted(said[one]) for b in sorted(said[two]) if alike(a, b) >= 0.5)
            found += [_pair(a, b, False, "rasa", one) for a, b in near]
    yield from _drawn(found, rng)


def homes(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Orders to a house in German, French and Spanish."""
    for language in ("de", "fr", "es"):
        found = list(home(path / language, rng))
        for p in rng.sample(found, min(_FOREIGN, len(found))):
            yield Pair(p.a, p.b, p.same, f"{language} {p.kind}", p.part, "homes")


ASKED: dict[str, Any] = {
    "contrasts": contrasts,
    "queries": queries,
    "reworded": reworded,
    "xquad": xquad,
    "health": health,
    "code": code,
    "timetable": timetable,
    "bot": bot,
    "homes": homes,
}
