"""Pairs of the field's public tests through a real cache: one is asked and stored, the other asked, in an empty cache.

    python -m benchmarks.decide outside --checklist qqp_suite.tar.gz --boolq boolq_perturbed.json \\
        --creak contrast_set.json --medical mqp.csv --paws dev_and_test.tsv --atis atis/test \\
        --overnight overnight --sick SICK.txt --spider Spider-Syn --nlupp nlupp/data --cast treccastweb \\
        --home tests/en --bash data/bash --svamp SVAMP.json --gsm gsmplus_testmini.jsonl --lcquad LC-QuAD \\
        --forum stackExchange-FAQ.xml --whole data/dev.tsv --contrasts contrast-sets --queries data \\
        --reworded datasets --xquad xquad --health RQE_Data_AMIA2016 --code data --timetable NLU-Evaluation-Corpora \\
        --bot data/nlu --homes tests --out benchmarks/results

Where they come from: outside_data.py, outside_requests.py, outside_orders.py, outside_asked.py; nothing is fitted
to them. Errors of one half, drawn by a hash, were read when guards were written; of the other, which is reported, only
sums were looked at.
Writes decide_outside.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from pathlib import Path
from typing import Any

from record import command_of, machine

from .outside_data import READERS, half
from .pairs import run_pairs
from .pairs_data import Pair
from .pairs_report import Trial, line, rows_of

BOUNDS = (0.05, 0.01)


def pairs(args: argparse.Namespace) -> list[Pair]:
    """What the files of `args` hold, no pair twice."""
    found: dict[tuple[str, str], Pair] = {}
    for name, reader in READERS.items():
        if (path := getattr(args, name)) is not None:
            for pair in reader(path, random.Random(args.seed)):
                if pair.a.strip().lower() != pair.b.strip().lower():
                    found.setdefault((pair.a, pair.b), pair)
    return list(found.values())


def run(args: argparse.Namespace) -> int:
    found = [p for p in pairs(args) if args.half in ("all", half(p))]
    if not found:
        args.error(f"name at least one file: {', '.join(f'--{name}' for name in READERS)}")
    started, load, trials = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0], list[Trial]()
    for bound in BOUNDS:
        for source in dict.fromkeys(p.source for p in found):
            mine = [p for p in found if p.source == source]
            trials += asyncio.run(run_pairs(mine, f"{source} at {bound}", bound))
    lines = [
        "# Public tests that others wrote",
        "",
        "**Asked here**: what does the cache make of tests that other people wrote, to show that models take different",
        "questions for the same? `traps` need different answers (*served wrongly* should be few), `true ones` take the",
        "same (*served* should be many).",
        "",
        "Command: `python -m benchmarks.decide outside --checklist qqp_suite.tar.gz --boolq boolq_perturbed.json",
        "--creak contrast_set.json --medical mqp.csv --paws dev_and_test.tsv --atis atis/test --overnight overnight",
        "--sick SICK.txt --spider Spider-Syn --nlupp nlupp/data --cast treccastweb --home tests/en",
        "--bash data/bash --svamp SVAMP.json --gsm gsmplus_testmini.jsonl --lcquad LC-QuAD",
        "--forum stackExchange-FAQ.xml --whole data/dev.tsv --contrasts contrast-sets --queries data",
        "--reworded datasets --xquad xquad --health RQE_Data_AMIA2016 --code data --timetable NLU-Evaluation-Corpora",
        f"--bot data/nlu --homes tests --half {args.half} --out benchmarks/results`",
        f"Date: {started}. Machine: {machine()}, load {load:.1f} at the start.",
        "Every pair: an empty cache, one stored, the other asked, nothing known of the function. Brackets: 95 %",
        "intervals (Wilson). By cosine: true ones above the threshold, chosen on these very pairs, that lets at most",
        "3 % of the traps pass. Sources, and which half this is: `outside_data.py`, `outside_requests.py`,",
        "`outside_orders.py`, `outside_asked.py`.",
        "",
        "| | traps | served wrongly | true ones | served | by cosine |",
        "|---|---|---|---|---|---|",
        *map(line, rows_of(trials)),
    ]
    print("\n".join(lines))
    if args.out:
        (args.out / "decide_outside.md").write_text("\n".join(lines) + "\n", "utf-8")
    return 0


def add(commands: Any) -> None:
    parser = command_of(commands, "outside", "pairs of public tests that others wrote", __doc__)
    for name, reader in READERS.items():
        parser.add_argument(f"--{name}", type=Path, help=(reader.__doc__ or "").strip())
    parser.add_argument("--half", choices=("blind", "look", "all"), default="blind", help="default: blind")
    parser.add_argument("--seed", type=int, default=5, help="of what is drawn (default 5)")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.set_defaults(run=run, error=parser.error)
