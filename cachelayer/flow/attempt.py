"""Runs one stage within its time budget: slowness and faults become reasons, never errors of the caller."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..errors import ConfigurationError, Unusable
from ..protocols import Clock
from ..types import Reason

T = TypeVar("T")
_log = logging.getLogger("cachelayer")
QUIET = 60.0
"""Least seconds between two log lines of one stage."""
_PROMPTLESS = {"warm-up"}
"""Stages that know of no prompt, so that whatever they raise may be quoted."""
_OWNERS = {"authorize", "embed", "fresh", "judge", "principal", "traffic", "trust", "version"}
"""Stages that may be functions of the owner's, as `of` says of others: they may not take what they are given."""
_OURS = {__name__.partition(".")[0], "asyncio", "concurrent"}
"""What lies between these and whoever asks them."""


class Faults:
    """Counts faults by stage and reason, and logs at most one line per stage and minute, without prompt text."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.counts: dict[tuple[str, str], int] = {}
        self._logged: dict[tuple[str, str], float] = {}

    def report(self, stage: str, fault: BaseException, of: str = "") -> Reason:
        """Count `fault`; returns the reason it carries, or FAULT. `Unusable` is not counted as a fault.

        `of`: the function whose own code failed (its `ttl`, its `tags`), without which its answers are not stored.
        """
        if isinstance(fault, Unusable):
            return fault.reason
        name = type(fault).__name__
        if (stage, name) in self.counts or len(self.counts) < 1000:
            self.counts[stage, name] = self.counts.get((stage, name), 0) + 1
        if isinstance(fault, RuntimeError) and str(fault).endswith("shutdown"):
            return Reason.FAULT  # threads may begin no more: the program ended while a model was loading
        now = self._clock.monotonic()
        if now - self._logged.get((stage, of), -QUIET) >= QUIET:
            self._logged[stage, of] = now
            quoted = str(fault) if stage in _PROMPTLESS else ""
            owners = stage if of or stage in _OWNERS else None
            more = f" ({quoted})" if quoted else _more(fault, owners)
            where = f"{stage} of {of}" if of else f"stage {stage}"
            then = "its answers are returned and not stored" if of else "requests are answered without it"
            _log.warning("%s failed with %s%s; %s", where, name, more, then)
        reason = getattr(fault, "reason", None)
        return reason if isinstance(reason, Reason) else Reason.FAULT

    async def attempt(self, stage: str, work: Awaitable[T], budget: float | None) -> T | Reason:
        """The result of `work`, BUDGET where it took longer than `budget` seconds, or the reason of its fault."""
        guard = _Guard(self, stage)
        with guard:
            if budget is None:
                return await work
            limit = asyncio.timeout(budget)
            try:
                async with limit:
                    return await work
            except TimeoutError:
                if limit.expired():
                    return Reason.BUDGET
                raise
        return guard.reason

    async def behind(self, stage: str, work: Callable[[], Awaitable[Any]]) -> None:
        """`work` in the background, where nobody could be told of a ConfigurationError but by the log."""
        try:
            await self.attempt(stage, work(), None)
        except ConfigurationError as fault:
            self.report(stage, fault)

    def forgives(self, stage: str, fault: BaseException, of: str = "") -> Reason | None:
        """Count a fault and return its reason; None for what must pass: cancellations and configuration errors."""
        return None if _passes(fault) else self.report(stage, fault, of)

    def guard(self, stage: str) -> _Guard:
        """For `with`: a fault inside is counted and goes no further. Reusable."""
        return _Guard(self, stage)

    def attempt_now(self, stage: str, work: Callable[..., T], *args: Any, of: str = "") -> T | Reason:
        """The same for a synchronous stage, which has no budget of its own. `of`: see `report`."""
        try:
            return work(*args)
        except BaseException as fault:
            if (reason := self.forgives(stage, fault, of)) is not None:
                return reason
            raise


def _more(fault: BaseException, owners: str | None) -> str:
    """What can be said of a fault without quoting a prompt, which messages of foreign exceptions may contain.

    `owners`: the owner's function or template that failed, if it was one.
    """
    if isinstance(
        getattr(fault, "reason", None), Reason
    ):  # written here: of classes and servers, not of prompts
        return f" ({fault})"
    number = fault.errno if isinstance(fault, OSError) else None
    if number:
        return f" ({os.strerror(number)})"
    if isinstance(fault, ConfigurationError):
        return f" ({fault.field}: {fault.remedy})"
    trace = fault.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        trace = trace.tb_next
    if trace is not None:
        return f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    called = isinstance(fault, TypeError) and owners not in (None, "tags")
    return " when it was called: does it take the arguments that it is given?" if called else ""


class _Guard:
    """Law 1: no fault of a tier reaches the caller. Cancellations and configuration errors pass."""

    __slots__ = ("_faults", "_stage", "reason")

    def __init__(self, faults: Faults, stage: str) -> None:
        self._faults, self._stage, self.reason = faults, stage, Reason.FAULT

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        reason = None if fault is None else self._faults.forgives(self._stage, fault)
        if reason is None:
            return False
        self.reason = reason
        return True


class Held:
    """For `with`: keeps a fault of which it is not known yet whether it is the cache's, and which went no further."""

    fault: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        if fault is None or _passes(fault):
            return False
        self.fault = fault.with_traceback(None)  # which would keep everything that was under way
        return True


def _passes(fault: BaseException) -> bool:
    return isinstance(fault, ConfigurationError) or interrupted(fault)


def interrupted(fault: BaseException) -> bool:
    """Whether work stopped because its task or process was told to stop, and not because of a fault."""
    return not isinstance(fault, Exception) and not _strayed(fault)


def _strayed(fault: BaseException) -> bool:
    """Whether this is the cancellation of other work, for which this task was waiting, and not of this task."""
    if not isinstance(fault, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and not task.cancelling()
