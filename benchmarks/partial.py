"""Partial caching measured: LangChain's path, a RAG pipeline with edits, retrievals, invalidation, an agent's trace.

python3 benchmarks/partial.py --out benchmarks/results [--part langchain rag retrieval invalidate shared agent]

`shared` is the invalidation through Redis. With --pause it waits for a line on standard input once Redis is filled, so
that the filling can be done while other work runs and the measurement while none does.

Needs redis-server, and langchain-community and redis for the part `langchain`; matplotlib for the plot.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import partial_agent
import partial_invalidate
import partial_langchain
import partial_plot
import partial_rag
import partial_retrieval
from record import heading, page, parser_of, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "redis"))

PARTS = ("langchain", "rag", "retrieval", "invalidate", "shared", "agent")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(part: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one part."""
    from redis_servers import Server

    say(f"measuring {part}")
    if part == "rag":
        return asyncio.run(partial_rag.measure(options.questions, say))
    if part == "retrieval":
        return asyncio.run(partial_retrieval.measure())
    if part == "agent":
        return asyncio.run(partial_agent.measure())
    many, few = options.entries // 10, 10
    if part == "invalidate":
        return asyncio.run(partial_invalidate.in_process(options.entries, many, few, say))
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory) / "redis").start()
        try:
            if part == "langchain":
                return asyncio.run(partial_langchain.measure(server.url))
            ready = sys.stdin.readline if options.pause else str
            work = partial_invalidate.through_redis(server.url, options.entries, many, few, say, ready)
            return asyncio.run(work)
        finally:
            server.kill()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="directory of partial.*")
    parser.add_argument(
        "--part", nargs="*", choices=PARTS, default=PARTS, help="what to measure; all by default"
    )
    parser.add_argument(
        "--entries", type=int, default=1_000_000, help="entries in process, or in Redis; a tenth dependants"
    )
    parser.add_argument("--pause", action="store_true", help="wait for a line once Redis is filled")
    parser.add_argument("--questions", type=int, default=2_000, help="of the RAG pipeline")
    options = parser.parse_args()
    kept = options.out / "partial.json"
    told: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    told.update(heading("python3 benchmarks/partial.py"))
    for part in options.part:
        told[part] = measure(part, options)
        kept.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    (options.out / "partial.md").write_text(results(told), "utf-8")
    partial_plot.plot(told, options.out / "partial.png")


def results(told: dict[str, Any]) -> str:
    """The results as a page."""
    note = (
        "Rounds of what is compared alternate in one process. Parts were measured at different times; the load is\n"
        "that at the start of the last run."
    )
    parts = [f"## {part}\n\n{table(_even(told[part]))}" for part in PARTS if part in told]
    return page("Partial caching", told, note, *parts, "![calls](partial.png)")


def _even(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with one set of columns."""
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, "") for name in columns} for row in rows]


if __name__ == "__main__":
    main()
