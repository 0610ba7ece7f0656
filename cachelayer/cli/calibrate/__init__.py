"""`cachelayer calibrate`: settings for one's own traffic, with what to expect of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import arguments
from ..traces import options

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Recommends settings for your own traffic and says what to expect of them. The trace is split: settings are
chosen on the first part (of labelled pairs: on some of the questions, none of which occurs in the other part),
and everything reported was measured on the other part, which no choice has seen. Real cache layers with error
budgets from 0.2 % to 20 % live through the whole trace; the recommended one spares most among those that kept
wrong answers under the target. Prints the settings as Python and TOML; the report plots hits against realised
error, foretold against realised risk, and the scores of right and wrong neighbours."""

_EXAMPLES = """\
{formats}

examples:
  cachelayer calibrate traffic/                        what was recorded with Policy(record="traffic")
  cachelayer calibrate tickets.jsonl --target 0.005    at most 5 wrong in 1,000 similar answers
  cachelayer calibrate pairs.jsonl.gz --target 0.05 --json settings.json"""


def register(subparsers: Subparsers) -> None:
    """Add `calibrate`."""
    parser = subparsers.add_parser(
        "calibrate",
        help="settings for your own traffic or labelled pairs, with expected hits and errors, and a report",
        description=_DESCRIPTION,
        epilog=_EXAMPLES.format(formats=options.FORMATS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_common(parser, "cachelayer-calibrate.html")
    add = parser.add_argument
    add(
        "--target", type=arguments.share, default=0.01, metavar="P",
        help="wrong answers among similar ones served, at most (default 0.01)",
    )  # fmt: skip
    add(
        "--fit", type=arguments.share, default=0.5, metavar="SHARE",
        help="share of the trace that settings are chosen on (default 0.5)",
    )  # fmt: skip
    add(
        "--base", default="default", metavar="SETTINGS",
        help="settings of yours that stay as they are, written as for replay's --config: ttl=1h,shadow=0",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
