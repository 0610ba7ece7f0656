"""The whole of a bench: traffic, arms, ceiling, words, page, JSON, comparison with an earlier one."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...durations import seconds
from ...errors import CacheLayerError, ConfigurationError
from ...exact.redis.url import redacted
from .. import report
from ..arguments import duration
from ..terminal import say
from ..traces.progress import Meter
from ..traces.rows import Skipped, strict
from . import baseline, ceiling, page, words
from .drive import closed_loop, open_loop
from .measured import SERIES, Arm, Sample
from .targets import Endpoint, Function, Target, found, layers_of
from .traffic import Item, at_rate, faster, load

WITHOUT, WITH = "without cache", "with cache"


def run(args: argparse.Namespace) -> int:
    """Measure, tell, write; 0, or 1 where the baseline is missed."""
    items, loop = _traffic(args)
    warm, slo = _warmup(args.warmup, len(items)), _slo(args.slo)
    earlier = baseline.load(args.baseline) if args.baseline else None
    targets = _targets(args)  # imported outside the loop: a script may run one of its own when it is imported
    arms = asyncio.run(_measure(args, targets, items, loop, warm, slo))
    figures = _figures(args, items, loop, warm, arms)
    for line in words.lines(figures):
        say(line)
    if args.json:
        report.write(args.json, json.dumps(figures, indent=1) + "\n")
    if not args.no_report:
        page.write(args.report, figures, arms[0])
        print(f"\nReport: {args.report}")
    if earlier is None:
        return 0
    worse = baseline.worse(earlier, figures, args.tolerance / 100)
    for line in worse or [f"no regression beyond {args.tolerance:g} % against {args.baseline}"]:
        print(line)
    return int(bool(worse))


def _traffic(args: argparse.Namespace) -> tuple[list[Item], str]:
    skipped = Skipped()
    items = load(
        args.traffic, limit=args.limit, model=args.model, shrink=args.shrink, named=dict(args.field),
        odd=skipped if args.skip else strict,
    )  # fmt: skip
    if skipped.count:
        say(str(skipped))
    if args.concurrency:
        return items, "closed"
    if args.rate:
        return at_rate(items, args.rate, args.seed), "open"
    if items[0].at is None:
        raise CacheLayerError(f"{args.traffic} has no arrival times: give --concurrency N or --rate R")
    return faster(items, args.speed), "open"


async def _measure(
    args: argparse.Namespace,
    targets: Sequence[tuple[str, Target]],
    items: Sequence[Item],
    loop: str,
    warm: int,
    slo: dict[str, float],
) -> tuple[list[Arm], ceiling.Ceiling, float]:
    endpoint = "://" in args.target
    top = await ceiling.measure(items, endpoint=endpoint)
    layers = [
        layer for name in (args.target, args.without or "") if "://" not in name for layer in layers_of(name)
    ]
    arms, spent, started = [], time.process_time(), time.monotonic()
    async with AsyncExitStack() as stack:
        for layer in layers:
            await stack.enter_async_context(layer)
        for name, target in targets:
            arm = Arm(name, slo)
            try:
                await _one(args, items, loop, warm, arm, target)
            finally:
                await target.aclose()
            arm.answered()
            arms.append(arm)
    busy = (time.process_time() - spent) / max(time.monotonic() - started, 1e-9)
    return arms, top, busy


async def _one(
    args: argparse.Namespace, items: Sequence[Item], loop: str, warm: int, arm: Arm, target: Target
) -> None:
    ended = 0
    with Meter(arm.name, len(items), sys.stderr) as update:

        def done(place: int, sample: Sample) -> None:
            nonlocal ended
            ended += 1
            if place >= warm:
                arm.add(sample)
            update(ended)

        if loop == "closed":
            await closed_loop(items, target, done, concurrency=args.concurrency)
        else:
            await open_loop(items, target, done, in_flight=args.in_flight)


def _targets(args: argparse.Namespace) -> list[tuple[str, Target]]:
    function = None if "://" in args.target else found(args.target)
    made: dict[str, Callable[[], Target]] = {WITH: lambda: _target(args, args.target, function, cached=True)}
    if args.without:
        other = None if "://" in args.without else found(args.without)
        made[WITHOUT] = lambda: _target(args, args.without, other, cached=False)
    elif hasattr(function, "bypass"):
        made[WITHOUT] = lambda: _target(args, args.target, function, cached=False)
    wanted = [name for name in (WITHOUT, WITH) if name in made]
    if args.only:
        wanted = [name for name in wanted if name.startswith(args.only + " ")]
    if not wanted:
        raise CacheLayerError("--only without: name what to ask without the cache by --without")
    return [(name, made[name]()) for name in wanted]


def _target(args: argparse.Namespace, name: str, function: Any, *, cached: bool) -> Target:
    if function is not None:
        return Function(function, cached=cached)
    headers = dict(_header(text) for text in args.header)
    return Endpoint(name, headers=headers, stream=not args.whole, timeout=args.timeout)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isascii():
        raise CacheLayerError(f"--header {name}: give NAME:VALUE in ASCII")
    return name.strip(), value.strip()


def _warmup(text: str, requests: int) -> int:
    try:
        n = int(requests * float(text[:-1]) / 100) if text.endswith("%") else int(text)
    except (ValueError, OverflowError):
        raise CacheLayerError(f"--warmup {text}: give a number of requests or a share like 5%") from None
    if not 0 <= n < requests:
        raise CacheLayerError(f"--warmup {text}: {n} of {requests} requests would leave none to measure")
    return n


def _slo(text: str) -> dict[str, float]:
    limits = {}
    for part in filter(None, text.split(",")):
        name, _, limit = part.partition("=")
        if name not in SERIES:
            raise ConfigurationError("--slo", part, f"give limits for {', '.join(SERIES)} as ttft=500ms")
        limits[name] = seconds(f"--slo {name}", duration(limit), zero=False)
    return limits


def _figures(
    args: argparse.Namespace,
    items: Sequence[Item],
    loop: str,
    warm: int,
    measured: tuple[list[Arm], Any, float],
) -> dict[str, Any]:
    arms, top, busy = measured
    figures: dict[str, Any] = {
        "command": _command(args),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "target": redacted(args.target),
        "traffic": str(Path(args.traffic).name),
        "requests": len(items),
        "warmup": warm,
        "loop": loop,
        "pace": args.concurrency or args.rate or f"x{args.speed:g}",
        "arms": {arm.name: arm.summary() for arm in arms},
        "tool": {"ceiling": top.rate, "own_p50": top.p50, "own_p99": top.p99, "cpu": busy},
    }
    figures["tool"]["warnings"] = words.doubts(figures)
    return figures


def _command(args: argparse.Namespace) -> str:
    """The command as it was given, without the keys in headers and URLs: who reads a report need not know them."""
    command = " ".join(["cachelayer bench", *sys.argv[2:]])
    for header in args.header:
        name, colon, _ = header.partition(":")
        command = command.replace(header, f"{name}:...") if colon else command
    for url in (args.target, args.without or ""):
        command = command.replace(url, redacted(url))
    return command
