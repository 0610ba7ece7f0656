"""A persistent index gives back a prefix of what was done to it, whatever happens to process or disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_rows import DIMENSION, ids
from index_scripts import ROWS, apply, contents, opened, script, states

from cachelayer.errors import ConfigurationError
from cachelayer.semantic.index import persistent
from cachelayer.semantic.index.journal import Journal
from cachelayer.semantic.index.snapshot import Corrupt, Part, read_snapshot, write_snapshot


@given(
    plan=st.lists(
        st.sampled_from(["flush", "snapshot", "reopen", "again", "closed", "maintain", "op", "op", "op"]),
        max_size=30,
    )
)
def test_what_was_flushed_comes_back_whatever_the_order_of_housekeeping(tmp_path_factory, plan):
    directory = tmp_path_factory.mktemp("index")
    operations = iter(script(1, 400))
    index, _ = opened(directory)
    done = []
    for step in plan:
        if step == "op":
            batch = [next(operations) for _ in range(5)]
            for operation in batch:
                apply(index, operation)
            done += batch
        elif step == "reopen":
            index.close()
            index, loaded = opened(directory)
            assert loaded.lost == 0
        elif step in ("again", "closed"):
            index.close()
            if step == "closed":
                done.append(next(operations))
                apply(index, done[-1])
            index.load()
        else:
            getattr(index, step)()
        assert contents(index) == states(done)[-1]
    index.close()


@pytest.fixture
def written(tmp_path):
    """A directory with a snapshot and a journal after it, and the script that led there."""
    operations = script(3, 60)
    index, _ = opened(tmp_path)
    for operation in operations[:40]:
        apply(index, operation)
    index.snapshot()
    for operation in operations[40:]:
        apply(index, operation)
    index.close()
    return tmp_path, states(operations)


def only(directory: Path, kind: str) -> Path:
    [path] = directory.glob(f"{kind}*")
    return path


@pytest.mark.parametrize("cut", range(0, 3000, 97))
def test_a_torn_journal_gives_the_whole_records_before_the_tear(written, cut):
    directory, expected = written
    journal = only(directory, "journal")
    size = journal.stat().st_size
    os.truncate(journal, max(0, size - cut))
    index, loaded = opened(directory)
    assert contents(index) in expected[40:]
    assert (loaded.lost == 0) == (contents(index) == expected[-1]) or cut
    index.close()
    index, loaded = opened(directory)
    assert loaded.lost == 0 and contents(index) in expected[40:]
    index.close()


@pytest.mark.parametrize("at", [0.05, 0.3, 0.6, 0.95])
def test_a_flipped_bit_in_the_journal_ends_it_there(written, at):
    directory, expected = written
    journal = only(directory, "journal")
    data = bytearray(journal.read_bytes())
    data[int(len(data) * at)] ^= 4
    journal.write_bytes(data)
    index, loaded = opened(directory)
    assert loaded.lost > 0 and contents(index) in expected[40:-1]
    index.close()


@pytest.mark.parametrize("at", [0.0, 0.02, 0.5, 0.999])
def test_a_flipped_bit_in_the_snapshot_means_an_empty_start_never_a_wrong_vector(written, at):
    directory, _ = written
    snapshot = only(directory, "snapshot")
    data = bytearray(snapshot.read_bytes())
    data[min(int(len(data) * at), len(data) - 1)] ^= 4
    snapshot.write_bytes(data)
    index, loaded = opened(directory)
    assert contents(index) == {} and loaded.reason.startswith("snapshot-")
    index.add(b"p0", ids(1), ROWS[1][None])
    index.close()
    index, loaded = opened(directory)
    assert contents(index) == {1: b"p0"} and loaded.reason == ""
    index.close()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"generation": "x"}', "\x00\x01"])
def test_a_damaged_manifest_means_an_empty_start(written, content):
    directory, _ = written
    only(directory, "manifest").write_text(content)
    index, loaded = opened(directory)
    assert contents(index) == {} and "manifest" in loaded.reason
    index.close()
    index, loaded = opened(directory)
    assert loaded.reason == ""
    index.close()


@pytest.mark.parametrize("kind", ["manifest", "snapshot", "journal"])
def test_a_missing_file_is_never_an_error(written, kind):
    directory, expected = written
    only(directory, kind).unlink()
    index, _ = opened(directory)
    assert contents(index) in ([{}, expected[40]])
    index.close()


def test_vectors_of_another_model_are_never_read(written):
    directory, _ = written
    index, loaded = opened(directory, identity="model@2")
    assert contents(index) == {} and "another model" in loaded.reason
    index.close()
    index, loaded = opened(directory, identity="model@1")
    assert contents(index) == {} and "model@2" in loaded.reason
    index.close()


def test_one_process_owns_a_directory(written):
    directory, _ = written
    index, _ = opened(directory)
    with pytest.raises(
        ConfigurationError, match=r"another process.* close that one first \(await layer.aclose"
    ):
        opened(directory)
    index.close()
    opened(directory)[0].close()


def test_a_full_disk_ends_persistence_not_service_and_is_made_good_later(written, monkeypatch):
    directory, expected = written
    index, _ = opened(directory)

    def full(self, data, *, sync):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", full)
        index.add(b"p1", ids(1000), ROWS[1000][None])
        index.flush()
        assert "No space" in index.failure
    index.add(b"p1", ids(1001), ROWS[1001][None])
    assert index.search(b"p1", ROWS[1001][None], 1)[1][0, 0] == 1001
    monkeypatch.setattr(persistent, "_RETRY", 0.0)
    index._retry_at = 0.0
    assert index.due
    index.maintain()
    assert index.failure == ""
    index.close()
    index, _ = opened(directory)
    assert contents(index) == {**expected[-1], 1000: b"p1", 1001: b"p1"}
    index.close()


def test_whatever_bit_of_its_head_is_flipped_a_snapshot_is_known_to_be_damaged(tmp_path):
    """Lengths that damage makes up ask for no memory, and raise nothing else."""
    path = tmp_path / "snapshot-1"
    parts = [Part(key, ids(at), [(ROWS[at][None], slice(None))]) for at, key in enumerate((b"p0", b"p1"))]
    digest = write_snapshot(path, parts, DIMENSION)
    whole = path.read_bytes()
    assert [key for key, _, _ in read_snapshot(path, DIMENSION, digest)] == [b"p0", b"p1"]
    for bit in range(8 * 80):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(Corrupt):
            read_snapshot(path, DIMENSION, digest)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_loaded_index_takes_changes_and_needs_its_snapshot_no_more(written):
    """It was mapped into memory: when it was cut, or its disk failed, the next search was the end of the process."""
    directory, _ = written
    index, _ = opened(directory)
    index.snapshot()
    index.close()
    index, _ = opened(directory)
    held = contents(index)
    victim, home = next(iter(held.items()))
    if (child := os.fork()) == 0:
        only(directory, "snapshot").write_bytes(b"")
        os._exit(len(index.search(home, ROWS[:1], 1)[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    index.remove(ids(victim))
    index.add(home, ids(2000), ROWS[2000][None])
    held.pop(victim)
    assert contents(index) == {**held, 2000: home}
    index.close()


def test_codes_are_learnt_again_and_until_then_search_is_exact(tmp_path):
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_cpu import FaissIndex

    def large(dimension: int) -> FaissIndex:
        return FaissIndex(dimension, promote_at=1024)

    index, _ = opened(tmp_path, inner=large)
    names = np.arange(3000, dtype=np.int64)
    index.add(b"p", names, ROWS[:3000])
    index.maintain()
    index.remove(names[100:200])
    before = index.search(b"p", ROWS[3000:3020], 8)
    index.snapshot()
    index.close()
    index, _ = opened(tmp_path, inner=large)
    assert index.due and len(index) == 2900
    for _ in range(2):
        assert np.allclose(index.search(b"p", ROWS[3000:3020], 8)[0], before[0], atol=2e-3)
        index.maintain()
    assert index.inner._partitions[b"p"].view.sieve.rows == 2900
    index.close()


def test_a_snapshot_of_before_with_dead_rows_and_a_graph_beside_it_is_read_and_the_graph_swept(tmp_path):
    names = np.arange(3000, dtype=np.int64)
    names[100:200] = -1
    part = Part(b"p", names, [(ROWS[:3000], slice(None))])
    digest = write_snapshot(tmp_path / "snapshot-7", [part], DIMENSION)
    graph = tmp_path / "graph-7-0"
    graph.write_bytes(b"an HNSW graph")
    told = {"identity": "model@1", "dimension": DIMENSION, "generation": 7, "snapshot": digest}
    (tmp_path / "manifest.json").write_text(json.dumps({"version": 1, **told, "graphs": {"0": "0123"}}))
    index, loaded = opened(tmp_path)
    assert (loaded.entries, loaded.reason) == (2900, "")
    assert contents(index) == dict.fromkeys([*range(100), *range(200, 3000)], b"p")
    index.snapshot()
    assert not graph.exists()
    index.close()


def test_files_are_for_the_owner_alone_and_the_manifest_says_what_they_are(written):
    directory, _ = written
    assert all(
        only(directory, kind).stat().st_mode & 0o077 == 0 for kind in ("journal", "snapshot", "manifest")
    )
    manifest = json.loads(only(directory, "manifest").read_text())
    assert manifest["identity"] == "model@1" and manifest["dimension"] == DIMENSION
