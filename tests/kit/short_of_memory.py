"""A line of ours at which there is no memory left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import cachelayer

ROOT = Path(cachelayer.__file__).parent
Line = tuple[str, int]


@contextmanager
def watched(lines: set[Line], at: Line | None, *files: str) -> Iterator[None]:
    """Collect the lines of these files that are run; there is no memory for the one of them that is `at`, once."""
    names, before, fired = {str(ROOT / file) for file in files}, sys.gettrace(), False

    def step(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal fired
        line = frame.f_code.co_filename, frame.f_lineno
        if line[0] not in names:
            return None
        if event == "line":
            lines.add(line)
            if line == at and not fired:
                fired = True
                raise MemoryError
        return step

    sys.settrace(step)
    try:
        yield
    finally:
        sys.settrace(before)
