"""Faults: counted within bounds, told once a minute, and no further than the stage that had them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import pytest
from turns import cancelled

from cachelayer.errors import ConfigurationError, Unusable
from cachelayer.exact.wire.codec import Codec, ForeignClass
from cachelayer.flow.attempt import QUIET, Faults
from cachelayer.testing import ManualClock
from cachelayer.types import Reason


@dataclass
class Invoice:
    total: int


def test_faults_of_ever_new_kinds_are_not_counted_without_end_and_known_ones_still_are() -> None:
    faults = Faults(ManualClock())
    for number in range(1100):
        faults.report(f"stage {number}", ValueError())
    faults.report("stage 0", ValueError())
    assert len(faults.counts) == 1000 and faults.counts["stage 0", "ValueError"] == 2


def test_a_stage_that_keeps_failing_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    faults = Faults(clock)
    with caplog.at_level(logging.WARNING, "cachelayer"):
        for _ in range(3):
            faults.report("embed", ValueError("a prompt"))
        assert len(caplog.records) == 1
        clock.advance(QUIET)
        faults.report("embed", ValueError("a prompt"))
    assert len(caplog.records) == 2 and "a prompt" not in caplog.text


def test_a_class_that_may_not_leave_the_process_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ForeignClass) as raised:
        Codec().encode(Invoice(7))
    assert Faults(ManualClock()).report("encode", raised.value) is Reason.FOREIGN_CLASS
    assert "Invoice may not leave the process; types=[Invoice] on the layer allows it" in caplog.text


async def test_a_stage_s_fault_is_a_reason_but_what_is_wrongly_configured_or_called_off_is_raised() -> None:
    faults = Faults(ManualClock())

    async def fails(fault: BaseException) -> None:
        raise fault

    assert await faults.attempt("store", fails(ValueError()), None) is Reason.FAULT
    assert await faults.attempt("store", fails(Unusable("gone", Reason.CORRUPT)), None) is Reason.CORRUPT
    assert faults.counts == {("store", "ValueError"): 1}
    with pytest.raises(ConfigurationError):
        await faults.attempt("store", fails(ConfigurationError("store", 1, "give a URL")), None)
    called_off = asyncio.create_task(faults.attempt("store", asyncio.Event().wait(), None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await cancelled(called_off)


async def test_what_takes_longer_than_its_budget_is_stopped_and_a_timeout_of_its_own_is_a_fault() -> None:
    faults, never = Faults(ManualClock()), asyncio.Event()

    async def fails() -> None:
        raise TimeoutError

    assert await faults.attempt("embed", never.wait(), 0.001) is Reason.BUDGET
    assert not faults.counts
    assert await faults.attempt("embed", fails(), 60) is Reason.FAULT
    assert faults.counts == {("embed", "TimeoutError"): 1}


async def test_a_cancellation_of_other_work_is_a_stage_s_fault_and_an_interrupt_is_raised() -> None:
    """As where a store waits for a connection of its own, which something else ended."""
    faults, connection = Faults(ManualClock()), asyncio.get_running_loop().create_future()
    connection.cancel()
    assert await faults.attempt("store", connection, None) is Reason.FAULT
    assert faults.counts == {("store", "CancelledError"): 1}
    with pytest.raises(KeyboardInterrupt), faults.guard("store"):
        raise KeyboardInterrupt
    assert faults.counts == {("store", "CancelledError"): 1}
