"""Goodput with and without admission: Poisson arrivals of a trace's lengths on four simulated replicas.

Budgets: first token 500 ms, 30 ms a token (MLPerf Inference's interactive budgets for an 8B model), counted
from arrival. The limit's tolerance was tuned on the first 9000 requests of Azure's conversations; judge it
on the rest."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachelayer.adapters.tensorrt_llm.admission import LimitPolicy
from record import heading, keep, parser_of
from sim.admission import goodput
from sim.engine import Job, Parameters
from sim.replay import load, saturation

LOADS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8, 1.0, 1.5, 2.0)
REPLICAS = 4
BUDGET = {"ttft": 0.5, "tpot": 0.03, "max_wait": 0.25}


def poisson(jobs: list[Job], rate: float, seed: int) -> list[Job]:
    rng, now, out = random.Random(seed), 0.0, []
    for job in jobs:
        now += rng.expovariate(rate)
        out.append(replace(job, arrival=now))
    return out


def sweep(jobs: list[Job], seed: int) -> dict[str, Any]:
    parameters = Parameters(max_num_tokens=2048, max_batch=256)
    one = saturation(jobs, parameters)
    limit = LimitPolicy(ttft=0.25, tpot=BUDGET["tpot"])
    rows: list[dict[str, Any]] = []
    for fraction in LOADS:
        work = poisson(jobs, one * REPLICAS * fraction, seed)
        off = goodput(work, REPLICAS, parameters, limit=None, **BUDGET)
        on = goodput(work, REPLICAS, parameters, limit=limit, **BUDGET)
        rows.append({"load": fraction, "off": off, "on": on})
        print(fraction, "off", off["goodput"], "on", on["goodput"], "shed", on["shed"], flush=True)
    peak = max(row["off"]["goodput"] for row in rows)
    kept = {str(row["load"]): round(row["on"]["goodput"] / peak, 3) for row in rows if row["load"] > 1}
    lost = {str(row["load"]): round(row["off"]["goodput"] / peak, 3) for row in rows if row["load"] > 1}
    return {"peak": peak, "kept_with_admission": kept, "kept_without": lost, "rows": rows}


def plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(results), figsize=(5.5 * len(results), 3.6), squeeze=False)
    for axis, (name, found) in zip(axes[0], results.items(), strict=True):
        loads = [row["load"] for row in found["rows"]]
        axis.plot(
            loads,
            [row["off"]["goodput"] for row in found["rows"]],
            "o-",
            color="#8a8a8a",
            label="no admission",
        )
        axis.plot(
            loads, [row["on"]["goodput"] for row in found["rows"]], "o-", color="#c0392b", label="cachelayer"
        )
        axis.axhline(0.9 * found["peak"], ls=":", color="black", lw=0.8, label="90 % of peak")
        axis.set(
            title=name,
            xlabel="offered load, share of saturation",
            ylabel="goodput, requests/s",
            ylim=(0, None),
        )
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument(
        "--skip",
        type=int,
        default=9000,
        help="requests left out at the beginning of a trace that is long enough",
    )
    parser.add_argument("--limit", type=int, default=9000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", type=Path, help="folder for admission.json and admission.png")
    arguments = parser.parse_args()
    results = {}
    for path in arguments.traces:
        jobs = load(path, arguments.skip + arguments.limit)[-arguments.limit :]
        jobs = [replace(job, arrival=job.arrival - jobs[0].arrival) for job in jobs]
        print(path.name, len(jobs), flush=True)
        results[path.name.split(".")[0]] = sweep(jobs, arguments.seed)
    if arguments.out:
        names = " ".join(path.name for path in arguments.traces)
        report = {
            **heading(f"python benchmarks/admission.py {names}"),
            "clock": "simulated: the machine decides nothing",
            "results": results,
        }
        keep(arguments.out / "admission", report)
        plot(results, arguments.out / "admission.png")


if __name__ == "__main__":
    main()
