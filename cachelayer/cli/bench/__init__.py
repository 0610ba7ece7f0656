"""`cachelayer bench`: one's own traffic, with and without the cache.

`register` adds the command to a parser and imports nothing heavy.

run             the whole of it
traffic         what is asked, and when
targets         whom it is asked
drive           sends the requests
measured        latencies, intervals, goodput
ceiling         how fast the tool itself is
baseline        comparison with an earlier run
words, page     results as text, as HTML
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import arguments

_DESCRIPTION = """\
Sends the requests in a file to a cached function or an OpenAI-style endpoint, without the cache and with it: at the
times recorded in the file (open loop), at a fixed rate (open loop), or N at a time (closed loop). Reports time to
first token, time between tokens, time per token and end-to-end latency from p50 to p99.9 with 95 % intervals,
goodput under an SLO, errors, shed requests and the hit rate; hits and misses are shown apart. In the open loop a
latency counts from the moment the request was due, so a target that stalls cannot hide it (no coordinated
omission). The first requests are warm-up and are left out."""

_EXAMPLES = """\
TARGET is a URL (http://host:port/v1), or module:function for an async function wrapped by a layer.
"Without the cache" means the function's `bypass`, or, for a URL, the target named by --without.

TRAFFIC is a file (.gz too) in one of these formats:
  traffic recorded by Policy(record="traffic"), or a log of your own, as replay
    reads it: JSON objects or a table (.csv, .tsv), with
    messages or one of question, text, query, prompt, input, q
      (also inside request, body or inputs);
    at, time, timestamp or arrived: Unix seconds or ISO 8601, if known
  Azure's LLM inference trace (.csv: TIMESTAMP, ContextTokens, GeneratedTokens)
  Mooncake's trace (timestamp, hash_ids, input_length, output_length)
The prompts of the two traces are made up; Mooncake's repeat as its blocks do.

examples:
  cachelayer bench app.main:ask traffic.jsonl --concurrency 16
  cachelayer bench http://127.0.0.1:8100/v1 traffic.jsonl \\
    --without http://127.0.0.1:8000/v1 --model m --rate 20
  cachelayer bench http://127.0.0.1:8100/v1 conversation.jsonl.gz --speed 4 \\
    --limit 2000 --slo ttft=500ms,tpot=50ms
  # exits with 1 on a regression
  cachelayer bench app.main:ask traffic.jsonl --json now.json \\
    --baseline last.json

For load tests of any HTTP service there are general tools (AIPerf for LLM servers); this one tells hits from
misses."""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `bench`. Its function is `args.run`, which takes `args` and returns the exit status."""
    parser = subparsers.add_parser(
        "bench",
        help="your own traffic with and without the cache: latencies, goodput, hit rate, report",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=arguments.Help,
    )
    parser.add_argument("target", metavar="TARGET", help="URL of an API, or module:function")
    parser.add_argument(
        "traffic", type=Path, metavar="TRAFFIC", help="file with the requests, or directory of recorded ones"
    )
    _add_asking(parser)
    _add_pace(parser)
    _add_measuring(parser)
    _add_output(parser)
    parser.set_defaults(run=_run)


def _add_asking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--without", metavar="TARGET", help="what to ask without the cache (default: the function's bypass)")
    add("--only", choices=("with", "without"), help="measure only one of the two")
    arguments.add_field(parser)
    add("--limit", type=arguments.count, metavar="N", help="only the first N requests")
    add("--model", default="", metavar="NAME", help="model for requests that name none")
    add(
        "--header",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="send this header; may be repeated",
    )
    add("--whole", action="store_true", help="ask for whole answers instead of streams")
    add(
        "--timeout",
        type=arguments.above_zero,
        default=120.0,
        metavar="S",
        help="seconds for one request (default 120)",
    )


def _add_pace(parser: argparse.ArgumentParser) -> None:
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--concurrency", type=arguments.count, metavar="N", help="closed loop: N at a time")
    pace.add_argument(
        "--rate", type=arguments.above_zero, metavar="R", help="open loop: R per second on average (Poisson)"
    )
    pace.add_argument(
        "--speed",
        type=arguments.above_zero,
        default=1.0,
        metavar="X",
        help="open loop: the times in the file, X times as fast",
    )
    add = parser.add_argument
    add(
        "--in-flight",
        type=arguments.count,
        default=2000,
        metavar="N",
        help="open loop: at most N at a time (default 2000)",
    )
    add(
        "--seed",
        type=arguments.whole,
        default=1,
        metavar="N",
        help="the same seed gives the same arrivals (default 1)",
    )
    add(
        "--shrink",
        type=arguments.above_zero,
        default=1.0,
        metavar="X",
        help="multiply the lengths of Azure's and Mooncake's requests by X",
    )


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--warmup", default="5%", metavar="N|P%", help="leave out the first N, or this share (default 5%%)")
    add(
        "--slo",
        default="",
        metavar="LIMITS",
        help="goodput counts requests within these: ttft=500ms,itl=50ms,tpot=50ms,e2e=5s",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--report",
        type=arguments.destination,
        default=Path("cachelayer-bench.html"),
        metavar="FILE",
        help="the HTML report (default ./cachelayer-bench.html)",
    )
    add("--no-report", action="store_true", help="do not write a report")
    add("--json", type=arguments.destination, metavar="FILE", help="also write all figures as JSON")
    add(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="exit with 1 if a figure is worse than in this earlier --json",
    )
    add(
        "--tolerance",
        type=arguments.above_zero,
        default=10.0,
        metavar="PERCENT",
        help="how much worse is still accepted (default 10)",
    )


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
