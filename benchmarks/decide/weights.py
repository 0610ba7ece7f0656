"""The files that training writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def write(out: Path, **arrays: Any) -> None:
    """Write named arrays for cachelayer.semantic.weights, and tell the size."""
    np.savez_compressed(out, **arrays)
    print(f"{out}: {out.stat().st_size / 1e3:,.0f} KB")
