"""A process that may start no further thread, as where a container's limit is reached."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_threads() -> Iterator[None]:
    """Threads would need stacks larger than any memory."""
    old = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(old)
