"""Snapshots are written by one thread at a time, and before the directory is let go."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from index_scripts import apply, contents, opened, script, states


def test_snapshots_by_several_threads_at_once_leave_whole_files(tmp_path):
    """As where two tenants are erased in one moment."""
    index, _ = opened(tmp_path)
    operations = script(5, 1200)
    with ThreadPoolExecutor(6) as pool:
        for at in range(0, len(operations), 60):
            folds = [pool.submit(index.snapshot) for _ in range(6)]
            for operation in operations[at : at + 60]:
                apply(index, operation)
            for fold in folds:
                fold.result()
            assert index.failure == ""
    index.close()
    index, loaded = opened(tmp_path)
    assert (loaded.reason, loaded.lost) == ("", 0)
    assert contents(index) == states(operations)[-1]
    index.close()


def test_a_directory_is_let_go_when_nothing_is_written_to_it_any_more(tmp_path, monkeypatch):
    """A snapshot that is being written when the index is closed does not overwrite what the next owner writes."""
    index, _ = opened(tmp_path)
    for operation in script(6, 40):
        apply(index, operation)
    index.flush()
    begun, go, synced, sync = threading.Event(), threading.Event(), [], os.fsync

    def slow(file: int) -> None:
        synced.append(file)
        if len(synced) == 2:  # the first is the old journal's, this one the snapshot's
            begun.set()
            go.wait()
        sync(file)

    monkeypatch.setattr(os, "fsync", slow)
    with ThreadPoolExecutor() as pool:
        folding = pool.submit(index.snapshot)
        begun.wait()
        closing = pool.submit(index.close)
        early = wait((closing,), timeout=0.2).done
        go.set()
        assert not early
        folding.result()
        closing.result()
    index, loaded = opened(tmp_path)
    assert (loaded.reason, loaded.lost) == ("", 0)
    index.close()
