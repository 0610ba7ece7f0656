"""`cachelayer calibrate`: settings for one's own traffic, with what to expect of them.

run             the whole of it
choose          which settings to recommend
result          what came of it
words, page     results as text, as HTML
"""

from __future__ import annotations

import argparse

from .. import arguments
from ..traces import options

_DESCRIPTION = """\
Recommends settings for your own traffic and says what to expect from them. The trace is split: settings are chosen
on the first part, and everything reported was measured on the other part, which took no part in the choice
(labelled pairs are split so that no question occurs in both). Real cache layers with error budgets from 0.2 % to
20 % run through the whole trace; of those that kept the share of wrong answers under the target, the smallest is
recommended that saves as much as any, within chance. Prints the settings as Python and as TOML for the gateway; the
report plots hits against measured error, predicted against measured risk, and the scores of right and wrong
neighbours."""

_EXAMPLES = """\
{formats}

examples:
  # recorded with Policy(record="traffic")
  cachelayer calibrate traffic/
  # at most 5 wrong in 1,000 similar answers
  cachelayer calibrate tickets.jsonl --target 0.005
  cachelayer calibrate pairs.jsonl.gz --target 0.05 --json settings.json"""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `calibrate`."""
    parser = subparsers.add_parser(
        "calibrate",
        help="recommend settings for your traffic, with the hits and errors to expect",
        description=_DESCRIPTION,
        epilog=_EXAMPLES.format(formats=options.FORMATS),
        formatter_class=arguments.Help,
    )
    options.add_common(parser, "cachelayer-calibrate.html")
    add = parser.add_argument
    add(
        "--target", type=arguments.share, default=0.01, metavar="P",
        help="largest share of wrong answers among similar hits (default 0.01)",
    )  # fmt: skip
    add(
        "--fit", type=arguments.share, default=0.5, metavar="SHARE",
        help="share of the trace that settings are chosen on (default 0.5)",
    )  # fmt: skip
    add(
        "--base", default="default", metavar="SETTINGS",
        help="settings to keep fixed, written as for --config of replay: ttl=1h,shadow=0",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
