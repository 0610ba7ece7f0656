"""Draws what benchmarks/gpu_index.py measured: queries a second by batch, one panel a run and size; needs matplotlib.

python benchmarks/gpu_plot.py benchmarks/results/gpu.json --out gpu.png
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import parser_of

STYLES: dict[str, dict[str, Any]] = {
    "torch": {"color": "0.5", "linestyle": ":", "label": "torch, all rows"},
    "exact by cachelayer": {"color": "tab:orange", "marker": "o", "label": "cachelayer, all rows"},
    "cachelayer": {"color": "tab:red", "marker": "o", "linewidth": 2.2, "label": "cachelayer's index"},
    "flat fp16": {"color": "tab:blue", "marker": "s", "label": "FAISS, all rows"},
    "flat fp16 cuVS": {"color": "tab:cyan", "marker": "s", "label": "cuVS, all rows"},
    "CAGRA": {"color": "tab:purple", "marker": "v", "label": "CAGRA"},
    "lists": {"color": "tab:green", "marker": "^", "label": "FAISS, 8 lists read"},
}


def series(size: dict[str, Any]) -> Iterator[tuple[str, dict[int, float]]]:
    """Names of STYLES, each with queries per second by batch."""
    kinds: dict[str, Any] = {
        name: size[name] for name in ("torch", "exact by cachelayer", "cachelayer") if name in size
    }
    for name, figures in size.get("faiss", {}).items():
        if isinstance(figures, dict):
            kinds["lists" if name.startswith("IVF") else name] = figures.get("nprobe 8", figures)
    for name, figures in kinds.items():
        batches = {int(key.split()[1]): value for key, value in figures.items() if key.startswith("batch ")}
        if batches:
            yield name, {batch: value["queries/s"] for batch, value in batches.items()}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("figures", type=Path, help="runs of gpu_index.py, a list as JSON")
    parser.add_argument("--out", type=Path, required=True, help="the picture")
    args = parser.parse_args()
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    panels = [
        (run["run"], size) for run in json.loads(args.figures.read_text()) for size in run["sizes"].values()
    ]
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.4 * len(panels), 3.9), sharey=True, squeeze=False
    )
    shown: dict[str, Any] = {}
    for axis, (title, size) in zip(axes.flat, panels, strict=True):
        for name, rates in series(size):
            style = {"linewidth": 1.3, "markersize": 4, **STYLES[name]}
            shown[name] = axis.plot(list(rates), list(rates.values()), **style)[0]
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(title.replace(", ", "\n", 1).replace(" (", "\n("), fontsize=9)
        axis.set_xlabel("queries a call")
        axis.grid(alpha=0.25)
    axes.flat[0].set_ylabel("queries a second")
    lines = [shown[name] for name in STYLES if name in shown]
    figure.legend(
        lines, [line.get_label() for line in lines], loc="lower center", ncols=len(lines), frameon=False
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(args.out, dpi=110)


if __name__ == "__main__":
    main()
