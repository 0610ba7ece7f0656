"""How a command on traces ends: lines for people, JSON for programs, a page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from .. import report
from ..terminal import say


def aside(args: argparse.Namespace) -> TextIO:
    """Where words go: standard error where standard output is the JSON's."""
    return sys.stderr if str(args.json) == "-" else sys.stdout


def tell(
    args: argparse.Namespace, lines: Iterable[str], plain: dict[str, Any], page: Callable[[], str]
) -> None:
    """Print the lines; write JSON and page where the options ask for them."""
    told = aside(args)
    for line in lines:
        say(line, told)
    if args.json is not None:
        write_json(args.json, plain)
    if not args.no_report:
        report.write(args.report, page())
        print(f"\nReport: {args.report}", file=told)


def write_json(path: Path, plain: dict[str, Any]) -> None:
    """To a file, or to standard output for '-'."""
    text = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        report.write(path, text)
