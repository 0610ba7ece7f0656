"""Questions that customers asked, from public repositories, each with the label of its answer. None are shipped.

* HINT3 (Arora et al., Insights at EMNLP 2020; hellohaptik/HINT3, ODbL): what users of three live chatbots wrote: of a
  shop for food supplements, of fantasy sports, of a maker of mattresses. Labels are those of the bots' owners, who
  disagree with themselves at times: "When I'll be receiving the product?" is RESUME_DELIVERY, "when i will get the
  product?" ORDER_STATUS. What the bots had no answer to is left out;
* COVID-Q (Wei et al., NLP-COVID at EMNLP 2020; JerryWei03/COVID-Q): questions from search engines and forums, labelled
  by what is asked; three quarters of the labels have one question or two, and some are much alike ("Difference from
  Flu", "COVID versus Flu Diagnosis");
* Bitext's sample (bitext/customer-support-intent-detection-training-dataset, CDLA-Sharing): wordings made by templates,
  with typing errors and swear words. The order, sum, account or person that a wording names is part of the answer's
  label: the status of one order answers nobody else's question;
* ATIS (Hemphill et al. 1990; MiuLab/SlotGated-SLU, data/atis): requests for flights. The label is what they ask and
  all that they name, in its words ("st. louis" and "saint louis" are two): few labels come again, and some differ for
  nothing;
* GeoQuery and Scholar (Zelle & Mooney 1996; Iyer et al. 2017; jkkummerfeld/text2sql-data, data): questions to data
  bases; the label is the query.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cachelayer.cli.traces.read import Asked

from .outside_requests import named

Streams = dict[str, list[Asked]]
UNANSWERED = "NO_NODES_DETECTED"


def hint3(path: Path) -> Streams:
    """HINT3's folder dataset/v2"""
    found = Streams()
    for bot in ("curekart", "powerplay11", "sofmattress"):
        rows = [row for part in ("train", "test") for row in _rows(path / part / f"{bot}_{part}.csv")]
        found[f"HINT3, {bot}"] = stream(
            (row["sentence"], row["label"]) for row in rows if row["label"] != UNANSWERED
        )
    return found


def covid_q(path: Path) -> Streams:
    """COVID-Q's final_master_dataset.csv"""
    return {
        "COVID-Q": stream((row["Question"], f"{row['Category']} {row['Question ID']}") for row in _rows(path))
    }


def bitext(path: Path) -> Streams:
    """the folder data of Bitext's repository"""
    rows = [row for name in sorted(path.glob("*/*.csv")) for row in _rows(name)]
    named = ((row["utterance"], f"{row['intent']} {row['entity_value'].strip().lower()}") for row in rows)
    return {"Bitext, customer support": stream(named)}


def atis(path: Path) -> Streams:
    """the folder data/atis of SlotGated-SLU"""
    rows = [pair for part in ("train", "valid", "test") for pair in named(path / part).items()]
    return {"ATIS, flights": stream((text, f"{intent} {sorted(slots)}") for text, (intent, slots) in rows)}


def sql(path: Path) -> Streams:
    """the folder data of text2sql-data"""
    return {
        name: stream(_filled(json.loads((path / file).read_text("utf-8"))))
        for name, file in (("GeoQuery", "geography.json"), ("Scholar", "scholar.json"))
    }


def _filled(queries: list[Any]) -> Iterable[tuple[str, str]]:
    """Each question with its values in place, and which query it is."""
    for number, query in enumerate(queries):
        for sentence in query["sentences"]:
            text, values = sentence["text"], sentence["variables"]
            for name, value in values.items():
                text = re.sub(rf"\b{re.escape(name)}\b", value.replace("\\", r"\\"), text)
            yield text, f"{number} {sorted(values.items())}"


def stream(rows: Iterable[tuple[str, str]]) -> list[Asked]:
    """What was asked, no text twice."""
    found: dict[str, str] = {}
    for text, label in rows:
        found.setdefault(" ".join(text.split()), label)
    return [Asked(text, label, label) for text, label in found.items() if text]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file))


READERS: dict[str, Callable[[Path], Streams]] = {
    "hint3": hint3,
    "covid_q": covid_q,
    "bitext": bitext,
    "atis": atis,
    "sql": sql,
}
