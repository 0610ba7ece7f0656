"""`cachelayer demo`: a help desk with real retrieval behind the cache, asked by simulated customers.

`register` adds the command to a parser and imports nothing heavy.

run             the whole of it
corpus          articles and questions
desk            the function behind the cache
  retrieval       finds the article
  httpx_chat      asks a real model instead
stream          the simulated traffic
drive           asks it, and judges every answer
tally           counts
screen, rich_table   progress
words, page     results as text, as HTML
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .. import arguments

if TYPE_CHECKING:
    from .run import Options

_DESCRIPTION = """\
Puts two thousand questions to a help desk through the cache, many at a time, and checks every answer.

The desk belongs to Wickley, a made-up maker of smart-home devices. 97 articles and over 600 questions ship
with cachelayer, including typos, slang, a few other languages, and traps that look almost like a question
about another article ("turn on" / "turn off", "Hub 2" / "Hub 3", "from Plus to Family" / "from Family to
Plus"). Every miss embeds the question, searches the articles and composes an answer; only the time that a
language model would take is simulated, unless --backend names a real one.

The table shows who answered, how fast, how many calls were saved, and which answers were wrong because of
the cache or because of the backend's own search. At the end a report with plots is written."""

_EXAMPLES = """\
examples:
  cachelayer demo                        # half a minute, nothing to set up
  cachelayer demo --max-error-rate 0.05  # more similar answers, more wrong ones
  cachelayer demo --no-semantic          # what exact caching alone achieves
  # run this twice: the second run starts warm
  cachelayer demo --redis redis://127.0.0.1:6379/0
  cachelayer demo --backend http://127.0.0.1:8000/v1 --model m --requests 200"""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `demo`. Its function is `args.run`, which takes `args` and returns the exit status."""
    parser = subparsers.add_parser(
        "demo",
        help="a simulated help desk behind the cache: live table, wrong answers counted, HTML report",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=arguments.Help,
    )
    add = parser.add_argument
    add(
        "--requests",
        type=arguments.count,
        default=2000,
        metavar="N",
        help="how many questions to ask (default 2000)",
    )
    add(
        "--concurrency", type=arguments.count, default=16, metavar="N", help="how many at a time (default 16)"
    )
    add(
        "--seed",
        type=arguments.whole,
        default=1,
        metavar="N",
        help="the same seed gives the same traffic (default 1)",
    )
    add("--redis", metavar="URL", help="share answers through this Redis, and find those of earlier runs")
    add("--backend", metavar="URL", help="an OpenAI-style API that writes the answers; needs --model")
    add("--model", metavar="NAME", help="the model to ask there; OPENAI_API_KEY is sent if it is set")
    add(
        "--think-ms", type=arguments.milliseconds, default=300.0, metavar="MS",
        help="median time of a simulated answer (default 300); no effect with --backend",
    )  # fmt: skip
    add(
        "--max-error-rate", type=arguments.share, default=0.01, metavar="P",
        help="largest share of wrong answers among similar hits (default 0.01)",
    )  # fmt: skip
    add("--no-semantic", action="store_true", help="exact answers only")
    add(
        "--report", type=arguments.destination, default=Path("cachelayer-demo.html"), metavar="PATH",
        help="where the HTML report goes (default ./cachelayer-demo.html)",
    )  # fmt: skip
    add("--no-report", action="store_true", help="do not write a report")
    parser.set_defaults(run=_run, parser=parser)


def options(args: argparse.Namespace) -> Options:
    """What the parsed command line asks for."""
    from .run import Options

    return Options(
        requests=args.requests,
        concurrency=args.concurrency,
        seed=args.seed,
        think=args.think_ms / 1000,
        max_error_rate=args.max_error_rate,
        semantic=not args.no_semantic,
        redis=args.redis,
        backend=args.backend,
        model=args.model,
        report=None if args.no_report else args.report,
    )


def _run(args: argparse.Namespace) -> int:
    if bool(args.backend) != bool(args.model):
        args.parser.error("--backend and --model go together")
    from .run import run

    return run(options(args))
