"""`cachelayer bench`: one's own traffic, with and without the cache.

`register` adds the command to a parser and imports nothing heavy.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .. import arguments

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Asks a function of a layer, or an OpenAI-style endpoint, what a file holds: at the times that the file says (open
loop), at a rate, or so many at a time (closed loop), without the cache and with it. Shows time to the first token,
between tokens, per token and end to end at p50 to p99.9 with 95 % intervals, goodput under an SLO, errors, sheds,
the hit rate, and hits and misses apart. In the open loop a latency counts from when its request was due, so that a
target that stalls cannot hide it (no coordinated omission). The first requests only warm up and are left out."""

_EXAMPLES = """\
TARGET is a URL (http://host:port/v1) or module:function, an async function that a layer wraps.
Without the cache means: the function's `bypass`; for a URL the one that --without names.

TRAFFIC is a file (.gz too) of
  JSON objects, one a line: messages (also inside request or body), or question, text, query, prompt, input or q;
    at, time, timestamp or arrived (Unix seconds or ISO 8601) where arrival times are known;
    so traffic recorded by Policy(record="traffic") will do, and what `cachelayer replay` reads
  Azure's LLM inference trace (.csv: TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake's (timestamp, hash_ids,
    input_length, output_length); their prompts are made up, Mooncake's repeat as its blocks do

examples:
  cachelayer bench app.main:ask traffic.jsonl --concurrency 16
  cachelayer bench http://127.0.0.1:8100/v1 traffic.jsonl --without http://127.0.0.1:8000/v1 --model m --rate 20
  cachelayer bench http://127.0.0.1:8100/v1 conversation.jsonl.gz --speed 4 --limit 2000 --slo ttft=500ms,tpot=50ms
  cachelayer bench app.main:ask traffic.jsonl --json now.json --baseline last.json     exits with 1 on a regression

For load on any HTTP service there are general tools (AIPerf for LLM servers); this one knows hits from misses."""


def register(subparsers: Subparsers) -> None:
    """Add `bench`. Its function is `args.run`, which takes `args` and returns the exit status."""
    parser = subparsers.add_parser(
        "bench",
        help="your own traffic with and without the cache: latencies, goodput, hit rate, report",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("target", metavar="TARGET", help="URL of an API, or module:function")
    add("traffic", type=Path, metavar="TRAFFIC", help="file with the requests")
    add("--without", metavar="TARGET", help="what to ask without the cache (default: the function's bypass)")
    add("--only", choices=("with", "without"), help="measure one of the two only")
    add("--limit", type=arguments.count, metavar="N", help="only the first N requests")
    add("--model", default="", metavar="NAME", help="model to name in requests that name none")
    add(
        "--header",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="send this header; may be given often",
    )
    add("--whole", action="store_true", help="ask for whole answers instead of streams")
    add(
        "--timeout",
        type=arguments.above_zero,
        default=120.0,
        metavar="S",
        help="seconds for one request (default 120)",
    )
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--concurrency", type=arguments.count, metavar="N", help="closed loop: N at a time")
    pace.add_argument(
        "--rate", type=arguments.above_zero, metavar="R", help="open loop: R a second, by chance (Poisson)"
    )
    pace.add_argument(
        "--speed",
        type=arguments.above_zero,
        default=1.0,
        metavar="X",
        help="open loop: the file's times, X as fast",
    )
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
        help="equal seeds give equal arrivals (default 1)",
    )
    add(
        "--shrink",
        type=arguments.above_zero,
        default=1.0,
        metavar="X",
        help="multiply lengths of Azure's and Mooncake's requests",
    )
    add("--warmup", default="5%", metavar="N|P%", help="leave the first N, or this share, out (default 5%%)")
    add(
        "--slo",
        default="",
        metavar="LIMITS",
        help="what counts as good: ttft=500ms,itl=50ms,tpot=50ms,e2e=5s",
    )
    add(
        "--report",
        type=arguments.destination,
        default=Path("cachelayer-bench.html"),
        metavar="FILE",
        help="the page with plots",
    )
    add("--no-report", action="store_true", help="write no page")
    add("--json", type=arguments.destination, metavar="FILE", help="write every figure")
    add(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="exit with 1 where a figure of an earlier --json got worse",
    )
    add(
        "--tolerance",
        type=arguments.above_zero,
        default=10.0,
        metavar="PERCENT",
        help="what is not worse yet (default 10)",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from .run import run

    return run(args)
