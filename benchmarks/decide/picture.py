"""Draws rows that `streams` measured: net hits against the realised share of wrong answers.

python -m benchmarks.decide picture rows.json ... --out benchmarks/results/decide.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

KINDS: dict[str, tuple[str, str, str, tuple[int, int]]] = {
    "labels": ("o", "tab:blue", "cachelayer, by max_error_rate", (-4, 9)),
    "free-form": ("s", "tab:green", "the same, answers in prose", (-4, -16)),
    "cosine": ("x", "tab:red", "static threshold, by cosine", (8, -3)),
}
"""Of each kind of row: mark, colour, what the legend says, and where a mark's own label stands beside it."""
TITLES = {"stream_banking77": "Banking77", "stream_clinc150": "CLINC150"}


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
            kind, *_, value = row["name"].split()[1:]
            mark, colour, told, beside = KINDS[kind]
            shares = [100 * s for s in row["shares"]]
            axis.plot(shares, row["nets"], mark, color=colour, alpha=0.25, markersize=4)
            named = axis.get_legend_handles_labels()[1]
            axis.plot(
                [100 * row["share_wrong"]], [row["net"]], mark, color=colour, markersize=9,
                label=None if told in named else told,
            )  # fmt: skip
            axis.annotate(
                value, (100 * row["share_wrong"], row["net"]),
                textcoords="offset points", xytext=beside, fontsize=8, color=colour,
            )  # fmt: skip
        axis.axvline(1.0, color="grey", linewidth=0.8, linestyle=":")
        axis.set(
            title=TITLES.get(stream, stream), xlabel="wrong answers among similar hits, %",
            ylabel="hits, share of requests (shadow checks subtracted)", xlim=(-0.2, 5), ylim=(0, 1),
        )  # fmt: skip
        handles, told = axis.get_legend_handles_labels()
        axis.legend(handles[::-1], told[::-1], loc="lower right", fontsize=8)
        axis.set_xscale("symlog", linthresh=1.0)
        axis.set_xticks([0, 0.5, 1, 2, 5], ["0", "0.5", "1", "2", "5"])
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
