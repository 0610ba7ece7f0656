"""How long an event loop stood at most."""

from __future__ import annotations

import asyncio
import time


class Stall:
    """The longest callback of the loop, in CPU seconds of its thread, while it is entered."""

    def __enter__(self) -> Stall:
        self.longest, self._run = 0.0, asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            self._run(handle)
            self.longest = max(self.longest, time.thread_time() - started)

        # the loop calls it through the class; nothing that asyncio offers tells of every callback
        asyncio.Handle._run = measured  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.Handle._run = self._run  # type: ignore[method-assign]
