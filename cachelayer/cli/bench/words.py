"""A bench in words: a table for the terminal, and where the tool itself is in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..charts import NOTHING, duration
from ..terminal import table
from .measured import SERIES, SHARES, name_of

NAMES = {"e2e": "end to end", "ttft": "first token", "itl": "between tokens", "tpot": "per token"}
WHO = {"all": "all", "hit": "hits", "miss": "misses"}


def lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """Lines of text."""
    asked = f"{figures['requests']:,} requests of {figures['traffic']}"
    yield f"{asked}, {figures['loop']} loop; {figures['warmup']} of them to warm up"
    for name, arm in figures["arms"].items():
        yield ""
        yield f"{name}: {', '.join(summary(arm))}"
        measured = [
            (NAMES[series] + ", " + WHO[who], *(duration(of[series][name_of(s)]["value"]) for s in SHARES))
            for who, of in arm["latency"].items()
            for series in SERIES
            if series in of
        ]
        yield from table(("latency", *map(name_of, SHARES)), measured)
    yield ""
    tool = figures["tool"]
    yield (
        f"the tool alone: {tool['ceiling']:,.0f} requests/s at most on this machine, adds {duration(tool['own_p50'])} "
        f"(p99 {duration(tool['own_p99'])}); used {tool['cpu']:.0%} of a core"
    )
    yield from (f"WARNING: {doubt}" for doubt in tool["warnings"])


def summary(arm: Mapping[str, Any]) -> list[str]:
    """Short phrases on one arm."""
    said = [f"{arm['rate']:,.1f} requests/s"]
    rate = arm["hit_rate"]
    if rate is not None:
        said.append(f"{rate['value']:.1%} hits ({rate['low']:.1%} to {rate['high']:.1%})")
    if arm["misses"]:
        said.append(f"misses by reason: {', '.join(f'{why} {n}' for why, n in arm['misses'].items())}")
    good = arm["goodput"]
    if good is not None:
        said.append(f"goodput {good['rate']:,.1f}/s ({good['share']:.1%} within the SLO)")
    said.append(f"{arm['errors']} errors, {arm['sheds']} shed")
    said += [f"{fault}: {n}" for fault, n in arm["faults"].items()]
    return said


def doubts(figures: Mapping[str, Any]) -> list[str]:
    """Where a figure may be the tool's own and not the target's, or tells nothing of the cache."""
    found, tool = [], figures["tool"]
    if tool["cpu"] > 0.85:
        found.append(
            f"the tool used {tool['cpu']:.0%} of a core: what it measured may be itself; lower the rate"
            + ("" if "://" in figures["target"] else ", or serve the layer and bench its URL")
        )
    for name, arm in figures["arms"].items():
        if nobody := arm["misses"].get("no-principal"):
            found.append(
                f"{name}: {nobody} requests named no caller, and nothing is kept for those: set OPENAI_API_KEY, give "
                "--header 'Authorization: Bearer KEY', or start the gateway with --public"
            )
        if name.startswith("with ") and arm["hit_rate"] is None and arm["ok"]:
            why = (
                "no answer has a Cache-Status header, so hits are not told from misses"
                if "://" in figures["target"]
                else "no layer wraps this function itself: if it is cached at all, hits are not told from misses"
            )
            found.append(f"{name}: {why}")
        if arm["rate"] > 0.5 * tool["ceiling"]:
            found.append(f"{name}: {arm['rate']:,.0f} requests/s is more than half of the tool's ceiling")
        end, lag = arm["latency"].get("all", {}).get("e2e"), arm["lag"]
        if end and figures["loop"] == "open" and lag["p99"]["value"] > max(0.1 * end["p50"]["value"], 0.005):
            late = duration(lag["p99"]["value"])
            found.append(
                f"{name}: requests left up to {late} late (p99); the tool cannot keep the arrival times"
            )
        hits = arm["latency"].get("hit", {}).get("e2e")
        if hits and figures["loop"] == "open" and arm["lag"]["p50"]["value"] > 0.25 * hits["p50"]["value"]:
            late = duration(arm["lag"]["p50"]["value"])
            found.append(
                f"{name}: requests left {late} late (p50), much of what a hit took: see the closed loop for hits"
            )
    return found


def figure(of: Mapping[str, Any] | None, share: float) -> str:
    """'12 ms (11 to 13 ms)', or a dash."""
    if of is None:
        return NOTHING
    at = of[name_of(share)]
    return f"{duration(at['value'])} ({duration(at['low'])} to {duration(at['high'])})"
