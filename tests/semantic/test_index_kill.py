"""kill -9 at any moment leaves a prefix of what was done, with everything that was flushed."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from index_rows import ids
from index_scripts import ROWS, apply, contents, opened, script, states

from cachelayer.semantic.index import persistent


def killed_once(directory: Path, seed: int) -> None:
    """A child writes until it is killed at a random moment; what loads is a prefix that holds all it flushed."""
    operations = script(seed, 3000)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            persistent._LEAST_JOURNAL = 20_000  # folds often, so that kills hit snapshots too
            index, _ = opened(directory)
            for number, operation in enumerate(operations):
                apply(index, operation)
                if number % 7 == 0:
                    index.maintain()
                    os.write(write, b"%d\n" % (number + 1))
        finally:
            os._exit(0)
    os.close(write)
    time.sleep(
        random.Random(seed).uniform(0.0, 0.25)
    )  # not to synchronize: the moment of death is the variable
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        flushed = int((pipe.read().split(b"\n")[:-1] or [b"0"])[-1])
    index, _ = opened(directory)
    held = contents(index)
    assert held in states(operations)[flushed:]
    index.add(b"p0", ids(5000), ROWS[5000 % 4096][None])
    index.close()
    again, _ = opened(directory)
    assert contents(again) == {**held, 5000: b"p0"}
    again.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kill_9_leaves_a_prefix_that_holds_everything_flushed(tmp_path):
    for seed in range(12):
        killed_once(tmp_path / str(seed), seed)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kill_9_two_hundred_times(tmp_path):
    for seed in range(100, 300):
        killed_once(tmp_path / str(seed), seed)
