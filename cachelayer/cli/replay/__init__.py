"""`cachelayer replay`: what any configuration would have made of recorded traffic.

run             the whole of it
shuffles        the same requests in many orders
result          what came of it
words, page     results as text, as HTML
"""

from __future__ import annotations

import argparse

from .. import arguments
from ..traces import options

_DESCRIPTION = """\
Replays a trace, request by request and from an empty cache, through real cache layers in any number of
configurations, through static similarity thresholds as other caches use them, and through an oracle that knows
every answer. Shows for each: the share of requests answered without the backend (net: shadow checks are
subtracted), the share of wrong answers among similar hits, wrong answers per request (both with 95 % intervals),
backend calls, and the savings. Arrival times in the trace drive the cache's clock, so TTLs take effect. No backend
is called and nothing leaves the machine."""

_EXAMPLES = """\
A configuration is 'exact' (nothing by meaning), 'default', or fields of Policy, separated by commas:
  --config max_error_rate=0.02,shadow=0 --config ttl=1h,normalize.case=true

{formats}

examples:
  # recorded traffic: default settings, and exact answers only
  cachelayer replay traffic/
  cachelayer replay faq.jsonl --config exact --config max_error_rate=0.01
  cachelayer replay chats.jsonl.gz --threshold 0.9 --limit 5000 \\
    --call-cost 0.004 --json figures.json"""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `replay`."""
    parser = subparsers.add_parser(
        "replay",
        help="replay recorded or labelled traffic through configurations, thresholds and an oracle",
        description=_DESCRIPTION,
        epilog=_EXAMPLES.format(formats=options.FORMATS),
        formatter_class=arguments.Help,
    )
    options.add_common(parser, "cachelayer-replay.html")
    add = parser.add_argument
    add(
        "--config", action="append", default=[], metavar="SETTINGS",
        help="a configuration to run; may be repeated (default: exact and default)",
    )  # fmt: skip
    add(
        "--threshold", action="append", type=arguments.share, default=[], metavar="COSINE",
        help="a static threshold to compare with; may be repeated (default: 0.8, 0.9 and 0.95)",
    )  # fmt: skip
    add(
        "--bound", type=arguments.share, default=0.01, metavar="P",
        help="error bound for the row 'threshold in hindsight' (default 0.01)",
    )  # fmt: skip
    add(
        "--shuffles", type=arguments.count, default=0, metavar="N",
        help="also run every configuration over N shuffled orders, and count in how many its bound held",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
