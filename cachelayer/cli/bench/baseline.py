"""Against an earlier run: what got worse, beyond a tolerance and beyond chance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import CacheLayerError
from .words import NAMES

_SERIES = ("e2e", "ttft", "tpot")
_SHARES = ("p50", "p95", "p99")
_FIGURES = frozenset({"latency", "hit_rate", "goodput", "errors", "sheds", "requests"})
_WANTED = "give the file that an earlier --json wrote"


def load(path: Path) -> dict[str, Any]:
    """The figures of an earlier run. Raises CacheLayerError naming the file."""
    try:
        held: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except OSError as fault:
        raise CacheLayerError(f"{path}: cannot be read: {fault.strerror}; {_WANTED}") from None
    except (ValueError, RecursionError) as fault:
        raise CacheLayerError(f"{path}: not JSON ({fault}); {_WANTED}") from None
    arms = held.get("arms") if isinstance(held, dict) else None
    if not isinstance(arms, dict) or not all(
        isinstance(arm, dict) and arm.keys() >= _FIGURES for arm in arms.values()
    ):
        raise CacheLayerError(f"{path}: not the figures of a bench; {_WANTED}")
    return held


def worse(before: Mapping[str, Any], now: Mapping[str, Any], tolerance: float) -> list[str]:
    """A sentence for each figure that got worse by more than `tolerance`, its interval wholly beyond that."""
    found: list[str] = []
    for name, old in before["arms"].items():
        new = now["arms"].get(name)
        if new is None:
            found.append(f"REGRESSION {name}: not measured now")
        else:
            found += [f"REGRESSION {name}, {what}" for what in _arm(old, new, tolerance)]
    return found


def _arm(old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float) -> Iterator[str]:
    for series in _SERIES:
        then, now = (arm["latency"].get("all", {}).get(series) for arm in (old, new))
        if not then:
            continue
        if not now:
            yield f"{NAMES[series]}: nothing measured now"
            continue
        for share in _SHARES:
            if now[share]["low"] > then[share]["value"] * (1 + tolerance):
                yield f"{NAMES[series]} {share}: {_ms(then[share]['value'])} became {_ms(now[share]['value'])}"
    if (
        old["hit_rate"]
        and new["hit_rate"]
        and new["hit_rate"]["high"] < old["hit_rate"]["value"] * (1 - tolerance)
    ):
        yield f"hit rate: {old['hit_rate']['value']:.1%} became {new['hit_rate']['value']:.1%}"
    if (
        old["goodput"]
        and new["goodput"]
        and new["goodput"]["share"] < old["goodput"]["share"] * (1 - tolerance)
    ):
        yield f"goodput: {old['goodput']['share']:.1%} became {new['goodput']['share']:.1%} of requests"
    for what in ("errors", "sheds"):
        then_share, now_share = (arm[what] / max(arm["requests"], 1) for arm in (old, new))
        if now_share > then_share + 0.01 * (1 + tolerance):
            yield f"{what}: {then_share:.1%} became {now_share:.1%} of requests"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
