"""Types of command-line arguments, which say in words what is wrong with a value, and the form of --help."""

from __future__ import annotations

import argparse
import math
import os
import textwrap
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds itself to."""


class Help(argparse.HelpFormatter):
    """Descriptions whose paragraphs are wrapped to the terminal; indented and blank lines stay as written."""

    def add_argument(self, action: argparse.Action) -> None:
        """As argparse does, which forgets that names of commands are indented and breaks the longest one's line."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(len(one.metavar or one.dest) for one in action._get_subactions())
            indented = longest + self._current_indent + self._indent_increment
            self._action_max_length = max(self._action_max_length, indented)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = groupby(text.strip().splitlines(), lambda line: not line or line[0] == " ")
        filled = [
            "\n".join(lines) if verbatim else textwrap.fill(" ".join(lines), width)
            for verbatim, lines in blocks
        ]
        return textwrap.indent("\n".join(filled), indent)


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text}: give a number")
    return value


def above_zero(text: str) -> float:
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text}: give a number above 0")
    return value


def zero_or_more(text: str) -> float:
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}: give 0 or more")
    return value


def duration(text: str) -> float | str:
    """What `durations.seconds` is given: a bare number is one of seconds, as in a file of settings."""
    try:
        return float(text)
    except ValueError:
        return text


def milliseconds(text: str) -> float:
    value = number(text)
    if not 0 <= value < 3_600_000:
        raise argparse.ArgumentTypeError(f"{text}: give milliseconds from 0 up to an hour")
    return value


def share(text: str) -> float:
    value = number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: give a share from 0 to 1")
    return value


def count(text: str) -> int:
    try:
        value = number(text)
    except argparse.ArgumentTypeError:
        value = 0
    if value < 1 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at least 1")
    return int(value)


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number") from None


FIELDS = "question answer label messages turns scope at latency tokens q1 q2 same".split()


def field(text: str) -> tuple[str, str]:
    """'answer=outputs.text': what a field of a trace is called in somebody's own log."""
    name, _, path = (part.strip() for part in text.partition("="))
    if name not in FIELDS or not path:
        raise argparse.ArgumentTypeError(f"{text}: give NAME=PATH, NAME one of {', '.join(FIELDS)}")
    return name, path


def add_field(parser: argparse.ArgumentParser) -> None:
    """The options that say how a log is read."""
    parser.add_argument(
        "--field", type=field, action="append", default=[], metavar="NAME=PATH",
        help="where your log holds a field: question=user_text, answer=outputs.0.text; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--skip", action="store_true",
        help="leave out lines that cannot be used, and say how many (default: stop at the first)",
    )  # fmt: skip


def destination(text: str) -> Path:
    """A file to be written, whose directory may have to be made: found out before a long job, not at its end."""
    path = Path(text)
    above = next((one for one in path.absolute().parents if one.exists()), path)
    if path.is_dir() or not above.is_dir() or not os.access(path if path.exists() else above, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: name a file that can be written")
    return path
