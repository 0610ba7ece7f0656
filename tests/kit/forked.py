"""Work in a forked child."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_a_fork(work: Callable[[], object]) -> int:
    """Does `work` in a child, which ends in 0 unless it raises; its process id."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child
