"""Draws rows that `streams` measured: net hits against the realised share of wrong answers.

python -m benchmarks.decide picture rows.json ... --out benchmarks/results/decide.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

MARKS = {"labels": ("o", "tab:blue"), "free-form": ("s", "tab:green"), "cosine": ("x", "tab:red")}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("picture", help="plot hit rate against realised error", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="what `streams --out` wrote")
    parser.add_argument("--out", type=Path, required=True, help="a .png")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    rows = [row for path in args.files for row in json.loads(path.read_text())["rows"]]
    draw([row for row in rows if "drift" not in row["name"]], args.out)
    return 0


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One panel a stream; each run a small dot, each row its mean."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    streams = sorted({row["name"].split()[0] for row in rows})
    figure, axes = plt.subplots(1, len(streams), figsize=(6.5 * len(streams), 4.8), squeeze=False)
    for axis, stream in zip(axes[0], streams, strict=True):
        for row in (r for r in rows if r["name"].split()[0] == stream):
            kind = row["name"].split()[1]
            mark, colour = MARKS[kind]
            shares = [100 * s for s in row["shares"]]
            axis.plot(shares, row["nets"], mark, color=colour, alpha=0.25, markersize=4)
            axis.plot([100 * row["share_wrong"]], [row["net"]], mark, color=colour, markersize=9)
            axis.annotate(
                row["name"].split(" ", 1)[1], (100 * row["share_wrong"], row["net"]),
                textcoords="offset points", xytext=(7, 5), fontsize=8,
            )  # fmt: skip
        axis.axvline(1.0, color="grey", linewidth=0.8, linestyle=":")
        axis.set(
            title=stream, xlabel="wrong among similar hits, %", ylabel="net hits of requests", ylim=(0, 1)
        )
        axis.set_xscale("symlog", linthresh=1.0)
        axis.set_xticks([0, 0.5, 1, 2, 5], ["0", "0.5", "1", "2", "5"])
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
