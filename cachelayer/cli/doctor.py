"""`cachelayer doctor`: what is installed, what works here, and what to do about the rest."""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import os
import platform
import re
import time
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from .. import __version__
from ..errors import CacheLayerError, MissingExtra
from ..exact.redis import Finding
from . import arguments, checks
from .terminal import say

_MARK = {"ok": "ok     ", "advice": "advice ", "problem": "PROBLEM"}
_FEATURES = (
    ("similar answers: the model's runtime", ("onnxruntime", "tokenizers"), "local"),
    ("similar answers: FAISS", ("faiss",), "cpu"),
    ("shared tier", ("hiredis",), "redis"),
    ("gateway", ("uvicorn", "aiohttp"), "serve"),
    ("metrics", ("prometheus_client",), "metrics"),
    ("traces", ("opentelemetry.sdk",), "otel"),
)
_FAISS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cuvs", "faiss-gpu-cu12")


def register(subparsers: arguments.Subparsers) -> None:
    """Add `doctor`."""
    parser = subparsers.add_parser(
        "doctor",
        help="check an installation, the embedding model and a Redis; every problem with its remedy",
        description="Checks Python, the extras, FAISS and GPUs, clocks, limits on files and memory, the embedding "
        "model and its files and, if named, a Redis (version, memory limit and eviction policy, persistence, latency, "
        "clock, cluster) and a gateway's settings. Exits with 1 if there is a problem.",
    )
    parser.add_argument("--redis", metavar="URL", help="also check this Redis")
    parser.add_argument(
        "--prefix",
        default="cachelayer",
        metavar="NAME",
        help="what the names of keys there begin with, as `RedisStore(prefix=...)` has it (default: cachelayer)",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="also check these settings of `cachelayer serve`"
    )
    parser.add_argument(
        "--no-model",
        action="store_true",
        help="do not load the embedding model (it is prepared at first use)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    findings = [
        _python(),
        *_extras(),
        *_faiss(),
        _threads(),
        *checks.clocks(),
        *checks.limits(checks.memory_limit()),
        checks.model_files(),
        checks.prices(date.today()),
    ]
    if options.config is not None:
        findings.append(checks.gateway(options.config))
    if not options.no_model and find_spec("onnxruntime") is not None:
        findings.append(asyncio.run(_model()))
    if options.redis is not None:
        findings += asyncio.run(_redis(options.redis, options.prefix))
    for finding in findings:
        say(f"{_MARK[finding.level]}  {finding.subject}: {finding.found}", hang=9)
        if finding.remedy:
            say(f"         -> {finding.remedy}", hang=12)
    problems = sum(finding.level == "problem" for finding in findings)
    print(f"\n{problems or 'no'} problem{'' if problems == 1 else 's'}")
    return int(problems > 0)


def _python() -> Finding:
    return Finding("ok", "Python", f"{platform.python_version()}, cachelayer {__version__}")


def _extras() -> list[Finding]:
    findings = []
    for feature, packages, extra in _FEATURES:
        remedy = f"pip install 'cachelayer[{extra}]'"
        missing = [package for package in packages if not _there(package)]
        named = [p.replace(".", "-").replace("_", "-") for p in packages if p != "faiss"]
        if missing:
            findings.append(Finding("advice", feature, f"off, not installed: {', '.join(missing)}", remedy))
        elif named and (old := _old(extra)):  # FAISS, which has several names, has a line of its own
            findings.append(Finding("advice", feature, old, remedy))
        else:
            versions = ", ".join(f"{p} {_version(p)}" for p in named)
            findings.append(Finding("ok", feature, versions or "installed"))
    return findings


def _old(extra: str) -> str:
    """What is installed, but older than the extra asks for."""
    try:
        asked = "\n".join(importlib.metadata.requires("cachelayer") or ())
    except importlib.metadata.PackageNotFoundError:  # run from the sources
        return ""
    needed = re.findall(rf"^([\w.-]+)(?:\[\w+\])?>=([\d.]+).*extra == .{extra}.$", asked, re.MULTILINE)
    there = ((package, _version(package), least) for package, least in needed)
    return ", ".join(f"{p} {v} where {least} is needed" for p, v, least in there if _older(v, least))


def _older(version: str, than: str) -> bool:
    return version[:1].isdigit() and _release(version) < _release(than)


def _release(version: str) -> list[int]:
    begins = re.match(r"\d[\d.]*", version)
    numbers = begins[0].rstrip(".").split(".") if begins else []
    return [*map(int, numbers), 0, 0, 0, 0][:4]


def _there(package: str) -> bool:
    outer = package.partition(".")[0]
    return find_spec(outer) is not None and find_spec(package) is not None


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _faiss() -> list[Finding]:
    installed = {d.metadata["Name"] for d in importlib.metadata.distributions()}
    here = [name for name in _FAISS if name in installed]
    if len(here) > 1:
        remedy = f"keep one: pip uninstall {' '.join(here[1:])}; all of them install the same module"
        return [Finding("problem", "FAISS", f"{len(here)} distributions: {', '.join(here)}", remedy)]
    if not here:
        return list(checks.gpu(None, 0))
    extra = here[0].removeprefix("faiss-")
    if old := _old(extra):
        return [Finding("advice", "FAISS", old, f"pip install 'cachelayer[{extra}]'")]
    from ..semantic.index.codes import load_faiss

    try:
        faiss = load_faiss()
    except MissingExtra as fault:
        return [
            Finding(
                "problem", "FAISS", f"{here[0]} cannot be imported: {fault.broken or fault}", fault.remedy
            )
        ]
    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    level = "problem" if here[0] != "faiss-cpu" and not gpus else "ok"
    remedy = (
        "no GPU is seen: check the driver, or install cachelayer[cpu] instead" if level == "problem" else ""
    )
    found = Finding(level, "FAISS", f"{here[0]} {faiss.__version__}, {gpus} GPUs", remedy)  # type: ignore[arg-type]
    return [found, *checks.gpu(here[0], gpus)]


def _threads() -> Finding:
    cores = len(os.sched_getaffinity(0))
    asked = os.environ.get("OMP_NUM_THREADS")
    if cores > 1 and asked is None:
        remedy = "set OMP_NUM_THREADS=1 in servers: on a busy machine more threads per search cost more than they give"
        return Finding("advice", "threads", f"{cores} cores, OMP_NUM_THREADS not set", remedy)
    return Finding("ok", "threads", f"{cores} cores, OMP_NUM_THREADS={asked}")


async def _model() -> Finding:
    from ..semantic.embed.onnx import OnnxEmbedder

    embedder = OnnxEmbedder()
    started = time.perf_counter()
    try:
        await embedder.start()
        loaded = time.perf_counter()
        await embedder.embed(["How do I return a product?"])
        took = (time.perf_counter() - loaded) * 1e3
    except CacheLayerError as fault:
        return Finding("problem", "embedding model", type(fault).__name__, str(fault))
    finally:
        await embedder.aclose()
    return Finding(
        "ok",
        "embedding model",
        f"{embedder.identity}, ready in {loaded - started:.1f} s, {took:.1f} ms for one text",
    )


async def _redis(url: str, prefix: str) -> list[Finding]:
    from ..exact.redis import RedisStore
    from ..exact.redis.rights import granting

    if not _there("hiredis"):
        return [
            Finding(
                "problem", "Redis", "not looked at: hiredis is missing", "pip install 'cachelayer[redis]'"
            )
        ]
    store = RedisStore(url, prefix=prefix)
    try:
        await store.start()
        return [Finding(f.level, f"Redis {f.subject}", f.found, f.remedy) for f in await store.diagnose()]
    except CacheLayerError as fault:
        remedy = granting(prefix) if "NOPERM" in str(fault) else "check the URL and that it runs"
        return [Finding("problem", "Redis", str(fault), remedy)]
    finally:
        await store.aclose()
