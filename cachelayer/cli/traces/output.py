"""What `replay` and `calibrate` write at the end: lines for people, JSON for programs, a page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from .. import report
from ..terminal import say


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
