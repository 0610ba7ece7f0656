"""Texts that may train what ships: Banking77, CLINC150 and the open sets, each with a class and a part.

Parts are drawn by class (or conversation, or group), never by row: 'fit', 'tune' (thresholds, early stopping) and
'report' (looked at once, in the results).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus import rows_of

PARTS = ("fit", "tune", "report")


@dataclass(frozen=True, slots=True)
class Text:
    """One request. `cls`: its intent; `key`: what identifies its answer, '' if unknown."""

    text: str
    source: str
    cls: str
    key: str = ""
    slots: tuple[tuple[str, str], ...] = ()

    @property
    def part(self) -> str:
        broad = self.source == "snips"  # seven intents only
        return part_of(f"{self.source}:{self.key if broad else self.cls}")


def part_of(group: str) -> str:
    """70 % of groups to 'fit', 15 % each to 'tune' and 'report'."""
    at = hashlib.sha1(f"pairs:{group}".encode()).digest()[0] / 256
    return PARTS[0] if at < 0.70 else PARTS[1] if at < 0.85 else PARTS[2]


def leaders(texts: Iterable[str], joined: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each text with one of those that it is joined to, directly or through others."""
    leader = {text: text for text in texts}

    def find(text: str) -> str:
        while leader[text] != text:
            leader[text] = text = leader[leader[text]]
        return text

    for one, other in joined:
        leader[find(one)] = find(other)
    return {text: find(text) for text in leader}


def texts(data: Path) -> list[Text]:
    """Every English text of the sources, no text twice."""
    out: dict[str, Text] = {}
    for text in _all(data):
        out.setdefault(text.text.lower(), text)
    return list(out.values())


def _all(data: Path) -> Iterator[Text]:
    for name in ("banking77", "clinc150"):
        for r in rows_of(data / f"dev/stream_{name}.jsonl.gz"):
            yield Text(r["q"], name, str(r["cls"]))
    opened = data / "train/open"
    for name in ("hwu64", "dstc11", "nlupp", "snips"):
        for r in rows_of(opened / name / "texts.jsonl.gz"):
            slots = tuple((str(k), str(v)) for k, v in r.get("slots", ()))
            yield Text(r.get("raw") or r["text"], name, r["cls"], r.get("key", ""), slots)
    for r in rows_of(opened / "qald9plus/texts.jsonl.gz"):
        if r["lang"] == "en":
            yield Text(r["text"], "qald", r["cls"], r["cls"])
    for name in ("cast", "mtrag"):
        for r in rows_of(opened / name / "conversations.jsonl.gz"):
            whole = r["rewrite"] or (r["last"] if not r["history"] else "")
            if 3 <= len(whole.split()) <= 30:
                yield Text(whole, name, r["conv"], r["id"])
