"""Routing rules side by side: replay traces through the simulator at several loads, sizes and parameters.

The router's weights were tuned on Mooncake's synthetic trace and on the second half of its conversation
trace (requests 6001 and later); the committed table is made of the first 6000 and of Azure's conversations.
Saturation is the throughput of one replica with a backlog, times the replicas. Nothing is shed: a rule that
cannot keep up shows in its TTFT."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from record import heading, keep, parser_of
from sim.engine import Parameters
from sim.ours import PrefixAware
from sim.replay import at_load, load, replay, saturation, summary
from sim.rivals import RIVALS, Rule

RULES = [*RIVALS, "cachelayer"]
"""`cachelayer` alone is told the size of the KV pool, as an engine profile computes it."""
LOADS = (0.5, 0.9, 1.2)


def cases(path: Path, limit: int, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """One row per size, parameter scale and load, with every rule's figures."""
    jobs = load(path, limit)
    rows = []
    for scale in (1.0, 0.5, 2.0):
        parameters = Parameters().scaled(scale)
        one = saturation(jobs, parameters)
        for replicas in sizes if scale == 1.0 else [4]:
            for fraction in LOADS:
                work = at_load(jobs, one * replicas * fraction)
                made: dict[str, Rule] = {name: rule(replicas) for name, rule in RIVALS.items()}
                made["cachelayer"] = PrefixAware(replicas, capacity=parameters.kv_tokens // parameters.block)
                found = {
                    name: summary(replay(work, rule, replicas, parameters)) for name, rule in made.items()
                }
                rows.append(
                    {
                        "trace": path.name.split(".")[0],
                        "scale": scale,
                        "replicas": replicas,
                        "load": fraction,
                        "rules": found,
                    }
                )
                print(rows[-1]["trace"], scale, replicas, fraction, verdict(rows[-1]), flush=True)
    return rows


def verdict(row: dict[str, Any]) -> dict[str, Any]:
    """Our mean TTFT over the best rival's and over least-loaded's."""
    rules = row["rules"]
    ours = rules["cachelayer"]["ttft_mean"]
    best = min((r for r in rules if r != "cachelayer"), key=lambda r: rules[r]["ttft_mean"])
    return {
        "best_rival": best,
        "over_best": round(ours / rules[best]["ttft_mean"], 3),
        "over_least_loaded": round(ours / rules["least loaded"]["ttft_mean"], 3),
    }


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    names = RULES
    head = "| trace | x | replicas | load | " + " | ".join(names) + " | over best rival | over least loaded |"
    lines = [head, "|" + "---|" * (len(names) + 6)]
    for row in rows:
        cells = [
            f"{r['ttft_mean']:.2f} / {r['ttft_p99']:.1f} / {100 * r['hit_ratio']:.0f} %"
            for r in (row["rules"][name] for name in names)
        ]
        v = verdict(row)
        key = f"| {row['trace']} | {row['scale']} | {row['replicas']} | {row['load']} | "
        lines.append(key + " | ".join(cells) + f" | {v['over_best']} | {v['over_least_loaded']} |")
    return "\n".join(lines) + "\n"


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """A mark a rule with its figure beside it: a logarithmic axis has no zero from which bars could start."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    picked = [row for row in rows if row["scale"] == 1.0 and row["replicas"] > 1]
    columns = 3
    figure, axes = pyplot.subplots(
        math.ceil(len(picked) / columns), columns, figsize=(13, 2.6 * math.ceil(len(picked) / columns)), sharey=True
    )  # fmt: skip
    for axis, row in zip(axes.flat, picked, strict=False):
        values = [row["rules"][name]["ttft_mean"] for name in RULES]
        for place, (name, value) in enumerate(zip(RULES, values, strict=True)):
            colour = "#c0392b" if name == "cachelayer" else "#606060"
            axis.plot([value], [place], "o", color=colour, markersize=6)
            axis.annotate(
                _seconds(value), (value, place), xytext=(7, 0), textcoords="offset points",
                va="center", fontsize=8, color=colour,
            )  # fmt: skip
        axis.set_title(f"{row['trace']}, {row['replicas']} replicas, load {row['load']}", fontsize=9)
        axis.set_xscale("log")
        axis.set_xlim(0.7 * min(values), max(values) * (max(values) / min(values)) ** 0.3 * 1.2)
        axis.set_ylim(-0.7, len(RULES) - 0.3)
        axis.set_yticks(range(len(RULES)), RULES, fontsize=8)
        axis.xaxis.set_major_locator(
            ticker.LogLocator(subs=(1, 2, 5) if max(values) < 30 * min(values) else (1,))
        )
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.xaxis.set_minor_formatter(lambda *_: "")
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(axis="y", alpha=0.3)
    figure.supxlabel(
        "mean time to first token, seconds, on a logarithmic axis; further left is better", fontsize=9
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("traces", type=Path, nargs="+", help="mooncake *.jsonl.gz or azure *.csv.gz")
    parser.add_argument("--limit", type=int, default=6000, help="requests of each trace")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--out", type=Path, help="folder for routing.json, routing.md and routing.png")
    arguments = parser.parse_args()
    rows = [row for path in arguments.traces for row in cases(path, arguments.limit, arguments.replicas)]
    if arguments.out:
        names = " ".join(path.name for path in arguments.traces)
        report = {
            **heading(f"python benchmarks/routing.py {names} --limit {arguments.limit}"),
            "clock": "simulated: the machine decides nothing",
            "rows": rows,
        }
        note = "Each cell: mean TTFT s / p99 TTFT s / prefix hit ratio. Nothing was shed by any rule.\n\n"
        text = f"`{report['command']}`, {report['date']}\n\n{note}{markdown(rows)}"
        keep(arguments.out / "routing", report, text)
        plot(rows, arguments.out / "routing.png")


if __name__ == "__main__":
    main()
