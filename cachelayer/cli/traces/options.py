"""What `replay` and `calibrate` take alike on the command line, and what they do first."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ...semantic.embed.onnx import OnnxEmbedder
from .. import arguments
from .progress import Meter
from .read import Trace, read
from .rows import Skipped
from .run import Remembered

FORMATS = """\
A trace is one of:
  a directory or file of recorded traffic (Policy(record="traffic"))
  a log of your own (.gz too): JSON objects, one per line or in one list,
    or a table with a header (its name ends in .csv or .tsv), with
    what was asked: question, text, query, prompt, input or q;
      or messages, ending with the user's last or with the answer to it
      (all of these also inside request, body or inputs)
    what the backend said: answer, response, output, outputs or completion
      (text, an OpenAI-style response or message, or {"answer": text});
      and/or which answer is right: label, cls, class or intent
    where known: scope (what must be equal), turns (earlier [role, text] pairs),
      at, time, timestamp or arrived (Unix seconds or ISO 8601),
      latency (seconds), tokens
  labelled pairs: two texts, as q1 and q2 (or question1 and
    question2, text1 and text2, a and b), and same (or is_duplicate)
Fields with other names are named by --field, those inside others by a path:
  --field question=user_text --field answer=outputs.generations.0.0.text
Two answers are equal if their labels or normalized texts are equal. Prose that says the same in other words counts
as another answer, so give labels if answers are free text."""


def add_common(parser: argparse.ArgumentParser, report: str) -> None:
    """Arguments of both commands."""
    add = parser.add_argument
    add("trace", nargs="+", type=Path, metavar="TRACE", help="files or directories, read in this order")
    arguments.add_field(parser)
    add("--limit", type=arguments.count, metavar="N", help="only the first N requests")
    add("--model", metavar="NAME", help="embedding model (default: the one that CacheLayer uses)")
    add(
        "--call-cost", type=arguments.zero_or_more, metavar="USD",
        help="what one backend call costs, to show the savings",
    )  # fmt: skip
    add(
        "--report",
        type=arguments.destination,
        default=Path(report),
        metavar="PATH",
        help=f"the HTML report (default ./{report})",
    )
    add("--no-report", action="store_true", help="do not write a report")
    add(
        "--json",
        type=arguments.destination,
        metavar="PATH",
        help="also write all figures as JSON; - for standard output",
    )
    add("--quiet", action="store_true", help="show no progress on standard error")


def trace_of(args: argparse.Namespace) -> Trace:
    """The trace that the command line names. Raises TraceError."""
    return read(
        args.trace, limit=args.limit, named=dict(args.field), skipped=Skipped() if args.skip else None
    )


def progress(args: argparse.Namespace, name: str, total: int) -> Meter:
    """A meter on standard error."""
    return Meter(name, total, io.StringIO() if args.quiet else sys.stderr)


@asynccontextmanager
async def embedded(trace: Trace, args: argparse.Namespace) -> AsyncIterator[Remembered]:
    """An embedder that knows all texts of the trace, and reads closely what is doubted."""
    embedder = OnnxEmbedder(args.model)
    known = Remembered(embedder)
    texts = [one.text for one in trace.asked]
    await embedder.start()
    try:
        with progress(args, "embedding", len(set(texts))) as update:
            await known.learn(texts, update)
        yield known
    finally:
        await embedder.aclose()
