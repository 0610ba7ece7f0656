"""`cachelayer replay`: what any configuration would have made of recorded traffic."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import arguments
from ..traces import options

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Asks a trace again, request by request from an empty cache, through real cache layers of any number of
configurations, through one similarity threshold as other caches use it, and through an oracle that knows
every answer. Shows for each the share of requests answered without the backend (net: shadow checks are
taken off), the share of wrong answers among the similar ones served, wrong answers per request, both with
95 % intervals, backend calls, and what was spared. Arrival times in the trace move the cache's clock, so
that TTLs count. No backend is called and nothing leaves the machine."""

_EXAMPLES = """\
configurations are 'exact' (nothing by meaning), 'default', or fields of Policy, with commas between:
  --config max_error_rate=0.02,shadow=0 --config ttl=1h,normalize.case=true

{formats}

examples:
  cachelayer replay traffic/                              recorded traffic, default settings and exact only
  cachelayer replay faq.jsonl --config exact --config max_error_rate=0.01 --config max_error_rate=0.05
  cachelayer replay chats.jsonl.gz --threshold 0.9 --limit 5000 --call-cost 0.004 --json figures.json"""


def register(subparsers: Subparsers) -> None:
    """Add `replay`."""
    parser = subparsers.add_parser(
        "replay",
        help="run recorded traffic, or any labelled stream, through configurations, thresholds and an oracle",
        description=_DESCRIPTION,
        epilog=_EXAMPLES.format(formats=options.FORMATS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_common(parser, "cachelayer-replay.html")
    add = parser.add_argument
    add(
        "--config", action="append", default=[], metavar="SETTINGS",
        help="a configuration to run; may be given often (default: exact and default)",
    )  # fmt: skip
    add(
        "--threshold", action="append", type=arguments.share, default=[], metavar="COSINE",
        help="a static threshold to show; may be given often (default: 0.8, 0.9 and 0.95)",
    )  # fmt: skip
    add(
        "--bound", type=arguments.share, default=0.01, metavar="P",
        help="share of wrong answers for 'threshold in hindsight' (default 0.01)",
    )  # fmt: skip
    add(
        "--shuffles", type=arguments.count, default=0, metavar="N",
        help="also run every configuration over N shuffled orders, and count those that kept its bound",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
