"""Joins what several `streams --out` jobs measured (rows of one name are joined) into one file and a table.

python -m benchmarks.decide table part*.json --out benchmarks/results/decide_streams.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from .rows import Row


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("table", help="join the rows of several jobs", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="what `streams --out` wrote")
    parser.add_argument("--out", type=Path, required=True, help="a .json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    told = [json.loads(path.read_text()) for path in args.files]
    rows = [row for _, row in sorted(joined([row for one in told for row in one["rows"]]).items())]
    decision = {name: times for one in told for name, times in one["decision"].items()}
    args.out.write_text(
        json.dumps({**told[0], "rows": [r.export() for r in rows], "decision": decision}, indent=1) + "\n"
    )
    print("| row | held | wrong among similar hits, mean [95 %] (worst) | net hits, mean [95 %] (least) |")
    print("|---|---|---|---|")
    for row in rows:
        print(line(row))
    return 0


def joined(rows: list[dict[str, Any]]) -> dict[str, Row]:
    """Rows by name, runs put together."""
    out: dict[str, Row] = {}
    for told in rows:
        row = out.setdefault(told["name"], Row(told["name"], told["bound"]))
        row.runs += told["runs"]
        row.held += told["held"]
        row.shares += told["shares"]
        row.nets += told["nets"]
        row.hits += told["hits"]
        row.wrong += told["wrong"]
        for state, times in told["states"].items():
            row.states[state] = row.states.get(state, 0) + times
    return out


def line(row: Row) -> str:
    """One row of the table."""
    shares, nets = row.export()["share_interval"], row.export()["net_interval"]
    return (
        f"| {row.name.removeprefix('stream_')} | {row.held}/{row.runs}"
        f" | {np.mean(row.shares):.4f} [{shares[0]:.4f}, {shares[1]:.4f}] ({max(row.shares):.4f})"
        f" | {np.mean(row.nets):.3f} [{nets[0]:.3f}, {nets[1]:.3f}] ({min(row.nets):.3f}) |"
    )
