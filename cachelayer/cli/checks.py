"""What `cachelayer doctor` looks at beside packages: clocks, limits, model files, GPUs, a gateway's settings."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from ..errors import CacheLayerError
from ..exact.redis import Finding
from ..observe.cost import Prices
from ..policy import Policy
from ..semantic.embed.prepare import cache_directory

FILES = 4096
"""Open files below which a busy gateway may run out of sockets."""
PRICES_LAST = 180
"""Days."""
STEP = 1e-5
"""Seconds: a monotonic clock coarser than this cannot time a hit."""


def clocks() -> Iterator[Finding]:
    """Resolution of the clock that times stages, and whether the wall clock is set at all."""
    step = time.get_clock_info("monotonic").resolution
    remedy = "use a kernel with high-resolution timers" if step > STEP else ""
    yield Finding("advice" if remedy else "ok", "clock", f"monotonic, resolution {step * 1e9:.0f} ns", remedy)
    if time.time() < 1_700_000_000:
        yield Finding(
            "problem",
            "clock",
            "the wall clock stands before 2023",
            "set the clock: entries in Redis expire by it",
        )


def limits(room: int | None) -> Iterator[Finding]:
    """Open files, and memory, of which there are `room` bytes, beside what the in-process tier may take."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = 0 <= files < FILES
    remedy = (
        f"raise it: ulimit -n 65536, or LimitNOFILE in the service's unit (a gateway wants {FILES} at least)"
    )
    yield Finding("advice" if few else "ok", "open files", f"at most {files}", remedy if few else "")
    if room is None:
        return
    wanted = Policy().max_bytes
    found = f"{room / 2**20:,.0f} MiB for this process"
    if wanted > room / 2:
        remedy = f"lower Policy(max_bytes=...) from its {wanted // 2**20} MiB, or raise the container's limit"
        yield Finding("problem", "memory", found, remedy)
    else:
        yield Finding("ok", "memory", f"{found}, {wanted // 2**20} MiB by default for answers")


def memory_limit(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that the control group allows, else what the machine has; None if neither can be read."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (root / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < 1 << 60:
            return int(text)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def gpu(faiss: str | None, gpus: int, devices: Path = Path("/dev")) -> Iterator[Finding]:
    """A GPU that FAISS does not use."""
    there = sorted(path.name for path in devices.glob("nvidia[0-9]*"))
    if there and not gpus:
        have = f"{len(there)} NVIDIA device(s); FAISS is {faiss or 'not installed'}"
        remedy = (
            "for scopes of 131,072 entries and more: pip uninstall faiss-cpu, pip install 'cachelayer[gpu]'"
        )
        yield Finding("advice", "GPU", have, remedy)
    elif there:
        yield Finding("ok", "GPU", f"{len(there)} NVIDIA device(s), {gpus} seen by FAISS")


def model_files() -> Finding:
    """Where prepared model files are kept, and whether they can be."""
    place = cache_directory()
    held = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else []
    if held:
        size = sum(path.stat().st_size for path in held) / 2**20
        return Finding("ok", "model files", f"{len(held)} files, {size:,.0f} MiB in {place}")
    parent = next(p for p in (place, *place.parents) if p.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        remedy = (
            "set CACHELAYER_CACHE to a directory that can be written to, or prepare the model in the image"
        )
        return Finding("problem", "model files", f"{place} cannot be made", remedy)
    return Finding("ok", "model files", f"none yet in {place}; made at first use")


def gateway(path: Path) -> Finding:
    """Whether `cachelayer serve` would take a file of settings."""
    from .serve.config import load

    try:
        config = load(path, os.environ, {})
    except (CacheLayerError, OSError) as fault:
        return Finding("problem", "gateway settings", str(fault), "docs: cachelayer serve --help")
    return Finding("ok", "gateway settings", f"{path}: fine, {len(config.upstream)} upstream(s)")


def prices(today: date) -> Finding:
    """How old the bundled price list is."""
    held = Prices.bundled()
    found = f"bundled list of {len(held.models)} models, the newest looked up {held.date}"
    old = (today - date.fromisoformat(held.date)).days > PRICES_LAST
    remedy = "give your own: layer.account('prices.json')" if old else ""
    return Finding("advice" if old else "ok", "prices", found, remedy)
