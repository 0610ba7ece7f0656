"""What `replay` and `calibrate` write: what the trace holds; at the end lines for people, JSON for programs, a page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import plots, report
from ..terminal import say
from .read import Trace
from .rivals import Nearest


def opening(trace: Trace) -> str:
    """What the trace holds."""
    asked = [one for one in trace.asked if one.counted]
    texts = len({one.key for one in asked})
    truths = len({(one.scope, one.truth) for one in asked})
    kind = "pairs" if trace.pairs else "requests"
    text = f"{trace.name}: {len(asked):,} {kind}, {texts:,} different, {truths:,} different answers"
    if trace.skipped.count:
        text += f"\n{trace.skipped}"
    if trace.unlabelled:
        text += (
            f"\n{trace.unlabelled:,} left out: served by similarity and never checked, or recorded without an answer; "
            "record with shadow checks and answers='digest' or 'text'"
        )
    if trace.prose > 0.1:
        text += (
            f"\n{trace.prose:.0%} of the answers are prose without a label: one that says the same in other words "
            "counts as wrong here, so errors are overstated; give labels"
        )
    return text


def nearest_section(nearest: Nearest) -> str:
    """The cosines of new requests to what was asked before: of those that take the same answer, and of the others."""
    known = ~np.isnan(nearest.cosine)
    groups = [
        ("same answer", nearest.cosine[known & nearest.same].tolist(), "teal"),
        ("another answer", nearest.cosine[known & ~nearest.same].tolist(), "red"),
    ]
    drawn = report.figure(plots.histograms(groups, "cosine to the nearest earlier request"))
    lead = "Where the two overlap, no threshold can tell right from wrong."
    return report.section("Similarity of the nearest earlier request", lead, drawn)


def text_stream(args: argparse.Namespace) -> TextIO:
    """Standard output; standard error if the JSON goes to standard output."""
    return sys.stderr if str(args.json) == "-" else sys.stdout


def write_output(
    args: argparse.Namespace, lines: Iterable[str], plain: dict[str, Any], page: Callable[[], str]
) -> None:
    """Print the lines; write the JSON and the page if the options ask for them."""
    stream = text_stream(args)
    for line in lines:
        say(line, stream)
    if args.json is not None:
        write_json(args.json, plain)
    if not args.no_report:
        report.write(args.report, page())
        print(f"\nReport: {args.report}", file=stream)


def write_json(path: Path, plain: dict[str, Any]) -> None:
    """To a file, or to standard output for '-'."""
    text = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        report.write(path, text)
