"""Several workers: who watches them waits for none of them alone, whatever becomes of it."""

from __future__ import annotations

import signal
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import pytest

from cachelayer.cli.serve.workers import EVERY, FAILED, LOADING, PATIENCE, PAUSES, Worker, Workers

DRAIN = 10.0


class Process:
    """A worker that does what the test says."""

    def __init__(self, pid: int) -> None:
        self.pid, self.serves, self.ended, self.told = pid, False, "", list[int]()
        self.will_serve = self.mute = False

    def hangs(self, passed: float) -> bool:
        self.serves = self.will_serve
        return self.mute

    def tell(self, what: int) -> None:
        self.told.append(what)

    def kill(self) -> None:
        self.ended = "signal 9"


class Fleet:
    """Workers under a clock of the test's."""

    def __init__(self, number: int = 2) -> None:
        self.now, self.all, self.closed = 0.0, list[Any](), False
        self.unusable = ""
        self.workers = Workers(
            self._start,
            number=number,
            drain=DRAIN,
            renewed=lambda: True,
            unusable=lambda: self.unusable,
            closed=self._close,
            clock=lambda: self.now,
        )

    def _start(self) -> Process:
        self.all.append(Process(len(self.all)))
        return self.all[-1]  # type: ignore[no-any-return]

    def _close(self) -> None:
        self.closed = True

    def looks(self, *told: signal.Signals, after: float = 0.0) -> bool:
        """A few looks at this moment, for what follows from one another."""
        self.now += after
        self.workers.told += told
        return [self.workers.step() for _ in range(4)][-1]

    def serve(self, *which: int) -> None:
        """These come to serve."""
        for one in which:
            self.all[one].will_serve = True
        self.looks()

    @property
    def at_work(self) -> list[int]:
        return [one.pid for one in self.workers.at_work]


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    made.looks()
    made.serve(0, 1)
    return made


def test_a_worker_that_hangs_as_it_is_replaced_is_killed_and_the_restart_goes_on(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that heard nothing any more was waited for, for ever, and no other one looked after meanwhile."""
    fleet.looks(signal.SIGHUP)
    fleet.serve(2)
    assert fleet.all[0].told == [signal.SIGTERM] and fleet.at_work == [1, 2]
    fleet.all[1].ended = "signal 9"  # meanwhile
    fleet.looks()
    assert fleet.at_work == [2, 3]
    fleet.serve(3)
    fleet.looks(after=DRAIN + PATIENCE - 1)
    assert not fleet.all[0].ended
    fleet.looks(after=1)
    assert fleet.all[0].ended and fleet.looks() and fleet.at_work == [2, 3]
    assert "worker 0 was told to end and did not; it was killed" in capsys.readouterr().err


def test_workers_are_replaced_one_after_the_other(fleet: Fleet) -> None:
    fleet.looks(signal.SIGHUP)
    assert fleet.at_work == [0, 1, 2]  # until it serves
    fleet.serve(2)
    assert fleet.at_work == [1, 2]  # until its predecessor has ended
    fleet.all[0].ended = "exit status 0"
    fleet.looks()
    assert fleet.at_work == [1, 2, 3]
    fleet.serve(3)
    fleet.all[1].ended = "exit status 0"
    fleet.looks()
    assert fleet.at_work == [2, 3] and not fleet.all[2].told


def test_a_restart_ends_where_a_new_worker_does_not_come_to_serve(fleet: Fleet) -> None:
    fleet.looks(signal.SIGHUP)
    fleet.all[2].ended = "exit status 1"
    fleet.looks()
    fleet.looks(after=1000)
    assert fleet.at_work == [0, 1] and len(fleet.all) == 3


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_restart_ends_early_when_all_are_told_to_stop(fleet: Fleet, told: signal.Signals) -> None:
    """SIGTERM waited until each of them had been replaced, which takes as long as its streams."""
    fleet.looks(signal.SIGHUP)
    assert fleet.looks(told)
    assert fleet.closed and [one.told for one in fleet.all] == [[signal.SIGTERM]] * 3
    assert fleet.looks(signal.SIGINT) and fleet.all[0].told[1:] == [signal.SIGINT]  # at once
    for one in fleet.all:
        one.ended = "exit status 0"
    assert not fleet.looks() and fleet.workers.status == 0


def test_one_that_hears_nothing_is_not_waited_for_when_all_are_told_to_stop(fleet: Fleet) -> None:
    """SIGTERM and Ctrl-C ended nothing where one worker hung."""
    fleet.all[1].ended = "exit status 0"
    assert fleet.looks(signal.SIGTERM)
    assert not fleet.looks(after=DRAIN + PATIENCE) and fleet.all[0].ended


def test_workers_that_die_as_they_start_are_started_at_growing_pauses(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other was, without a pause, each with a traceback."""
    fleet.all[0].ended = "signal 9"
    fleet.looks()
    assert len(fleet.all) == 3  # it had served: another one at once
    assert "worker 0 ended (signal 9); another is to take its place" in capsys.readouterr().err
    for pause in (*PAUSES, PAUSES[-1]):
        fleet.all[-1].ended, before = "exit status 1", len(fleet.all)
        fleet.looks()
        fleet.looks(after=pause - 0.1)
        assert len(fleet.all) == before
        fleet.looks(after=0.1)
        assert len(fleet.all) == before + 1
        said = f"ended (exit status 1) before it served; another is started in {pause:.0f} s"
        assert said in capsys.readouterr().err
    fleet.serve(-1)
    fleet.workers.told.append(signal.SIGTTIN)
    fleet.looks()
    fleet.all[-1].ended, before = "exit status 1", len(fleet.all)
    fleet.looks()
    fleet.looks(after=PAUSES[0])  # they begin anew
    assert len(fleet.all) == before + 1


def test_where_no_worker_comes_to_serve_all_ends_with_a_status_that_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = Fleet()
    fleet.looks()
    fleet.all[0].ended = "exit status 1"
    assert fleet.looks(after=1000) and len(fleet.all) == 2  # the other one may
    fleet.all[1].ended = "signal 9"
    assert not fleet.looks() and fleet.closed and fleet.workers.status == FAILED
    assert "no worker came to serve" in capsys.readouterr().err


def test_none_is_started_while_it_could_not(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.unusable = "a certificate is half"
    fleet.all[0].ended = "signal 9"
    fleet.looks()
    fleet.looks()
    assert (
        len(fleet.all) == 2 and capsys.readouterr().err.count("a certificate is half; no worker can be") == 1
    )
    fleet.unusable = ""
    fleet.looks()
    assert len(fleet.all) == 3


def test_one_that_serves_and_falls_silent_hangs_and_one_that_starts_slowly_does_not() -> None:
    """On a machine that was short of CPU time workers were killed before they could serve, again and again."""
    news, its = Pipe(duplex=False)
    process = SimpleNamespace(pid=1, sentinel=0, exitcode=None)
    worker, looks = Worker(process, news), int(PATIENCE / EVERY)
    assert not any(worker.hangs(EVERY) for _ in range(10 * looks)) and not worker.serves
    its.send(None)
    assert not worker.hangs(EVERY) and worker.serves
    assert not worker.hangs(1000)  # the supervisor was held up: it may have been, too
    assert any(worker.hangs(EVERY) for _ in range(looks))
    assert LOADING > 10 * PATIENCE


def test_a_hanging_worker_is_replaced(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.all[1].mute = True
    fleet.looks()
    assert fleet.all[1].ended and fleet.at_work == [0, 2]
    assert "worker 1 gave no sign of life, and was killed; another is to take" in capsys.readouterr().err
