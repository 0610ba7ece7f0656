"""The machine that a figure was measured on, in words, as it says itself."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    """Cores that this process may use, the processor's name, the system and Python, as '2 cores of Intel Xeon, ...'."""
    name = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    if about.exists():
        told = (line.partition(":") for line in about.read_text().splitlines())
        name = next((value.strip() for key, _, value in told if key.strip() == "model name"), name)
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    return f"{len(os.sched_getaffinity(0))} cores of {name}, {system}, Python {platform.python_version()}"
