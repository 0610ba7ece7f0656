"""The GPU index loses its device, its memory or its budget, and no caller notices."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from index_rows import DIMENSION, unit
from numpy_device import CpuGpu, NumpyDevice, NumpyGpu

pytest.importorskip("faiss")

from oracle_index import NumpyIndex

from cachelayer.semantic.index.codes import Codes
from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, OnDevice, unavailable
from cachelayer.semantic.index.gpu_rows import LISTS_SCRATCH, GpuLists, GpuRows
from cachelayer.semantic.index.pages import PAGE

ROWS = unit(np.random.default_rng(21), 6000)
NAMES = np.arange(6000, dtype=np.int64)
SMALL = {"promote_at": 1024, "device_at": 1024, "lists_at": 10**9}


@pytest.fixture
def made():
    """The index, its oracle, and the devices it opened."""
    gpu = NumpyGpu()
    return FaissGpuIndex(DIMENSION, **SMALL, open_gpu=lambda scratch: gpu), NumpyIndex(DIMENSION), gpu.devices


def fill(index, oracle, n=3000):
    for each in (index, oracle):
        each.add(b"p", NAMES[:n], ROWS[:n])
    index.maintain()


def agree(index, oracle):
    for count in (1, 9):
        queries = ROWS[4000 : 4000 + count]
        (scores, names), (want, _) = index.search(b"p", queries, 8), oracle.search(b"p", queries, 8)
        assert np.allclose(scores, want, atol=2e-3) and (names >= 0).all()


def shelf(index, part=b"p"):
    return index._partitions[part].view.sieve


def test_large_partitions_live_on_the_device_and_growth_adds_without_a_copy(made):
    index, oracle, devices = made
    fill(index, oracle)
    assert isinstance(shelf(index), OnDevice) and len(devices) == 1
    for each in (index, oracle):
        each.add(b"p", NAMES[3000:3500], ROWS[3000:3500])
        each.remove(NAMES[10:40])
    agree(index, oracle)
    index.maintain()
    agree(index, oracle)
    assert shelf(index).rows == 3500 and len(devices) == 1
    assert index.device_bytes == 2 * 3500 * DIMENSION


def test_a_lost_device_is_counted_and_codes_take_over(made):
    index, oracle, devices = made
    fill(index, oracle)
    devices[0].fault = RuntimeError("Error: 'k > 0' failed")
    agree(index, oracle)
    assert index.fallbacks == {"device lost": 1} and index.lost
    assert index.due
    index.maintain()
    assert isinstance(shelf(index), Codes)
    agree(index, oracle)
    assert index.device_bytes == 0 and index.fallbacks == {"device lost": 1}


def test_a_full_device_is_counted_and_the_partition_stays_on_the_host(made):
    index, oracle, _ = made
    for each in (index, oracle):
        each.add(b"p", NAMES[:3000], ROWS[:3000])
    NumpyDevice.room = 2000
    try:
        index.maintain()
    finally:
        NumpyDevice.room = 10**9
    agree(index, oracle)
    assert isinstance(shelf(index), Codes)
    assert index.fallbacks == {"out of memory": 1} and not index.lost


def test_the_memory_budget_is_kept_and_what_exceeds_it_is_counted():
    index = FaissGpuIndex(DIMENSION, **SMALL, max_bytes=2 * 3500 * DIMENSION, open_gpu=NumpyGpu)
    oracle = NumpyIndex(DIMENSION)
    fill(index, oracle)
    index.add(b"q", NAMES[3000:5000] + 10_000, ROWS[3000:5000])
    index.maintain()
    assert isinstance(index._partitions[b"q"].view.sieve, Codes)
    assert index.fallbacks == {"over the memory budget": 1}
    assert index.device_bytes == 2 * 3000 * DIMENSION
    agree(index, oracle)


@pytest.mark.parametrize(
    "fault", [MemoryError("std::bad_alloc"), RuntimeError("CUDA memory allocation error")]
)
def test_a_device_without_memory_for_a_search_is_not_lost(made, fault):
    """cuVS speaks of memory in words of its own."""
    index, oracle, devices = made
    fill(index, oracle)
    devices[0].fault = fault
    agree(index, oracle)
    assert index.fallbacks == {"out of memory": 1} and not index.lost and not index.on_device(b"p")
    index.maintain()
    assert len(devices) == 2 and index.on_device(b"p")
    agree(index, oracle)


def test_more_neighbours_than_a_device_selects_come_from_the_host(made):
    index, oracle, _ = made
    fill(index, oracle)
    assert index.search(b"p", ROWS[:1], 2500)[1].tolist() == oracle.search(b"p", ROWS[:1], 2500)[1].tolist()
    assert index.fallbacks == {}


def test_a_partition_turned_away_is_tried_again_once_it_has_doubled(made):
    """It outgrew its codes, and the error of the second attempt left `maintain`."""
    index, oracle, _ = made
    NumpyDevice.room = 2000
    try:
        fill(index, oracle)
        for each in (index, oracle):
            each.add(b"p", NAMES[3000:3500], ROWS[3000:3500])
        index.maintain()
        assert index.fallbacks == {"out of memory": 1}, "not at each growth"
        for each in (index, oracle):
            each.add(b"p", NAMES[3500:] + 10_000, ROWS[3500:])
            each.add(b"p", NAMES[:1000] + 20_000, ROWS[:1000])
        index.maintain()
    finally:
        NumpyDevice.room = 10**9
    assert isinstance(shelf(index), Codes) and index.fallbacks == {"out of memory": 2}
    agree(index, oracle)


def test_partitions_share_a_device_and_rows_reach_it_in_few_calls(made):
    """Resources of FAISS take 1.5 GiB of a device, and an add to a flat index moves all that is there."""
    index, _, devices = made
    opened = []
    index._open = lambda scratch: opened.append(scratch) or NumpyGpu()
    for part in range(3):
        index.add(bytes([part]), NAMES[:5000] + 10_000 * part, ROWS[:5000])
    index.maintain()
    assert opened == [None] and devices == []
    assert all(shelf(index, bytes([part])).device.index.added == [5000] for part in range(3))
    assert 2 * PAGE < 5000


def test_what_a_broken_add_left_on_the_device_names_nothing(made):
    index, oracle, devices = made
    fill(index, oracle)
    devices[0]._rows = np.concatenate([devices[0]._rows, ROWS[5000:5100].astype(np.float16)])
    agree(index, oracle)
    for each in (index, oracle):
        each.add(b"p", NAMES[3000:3500], ROWS[3000:3500])
    index.maintain()
    assert len(devices) == 2 and shelf(index).sound
    agree(index, oracle)


def test_small_partitions_stay_on_the_host_and_grow_to_the_device_and_to_lists():
    opened = []
    index = FaissGpuIndex(
        DIMENSION, promote_at=1024, device_at=2000, lists_at=4000,
        open_gpu=lambda scratch: opened.append(scratch) or CpuGpu(scratch),
    )  # fmt: skip
    oracle, kinds = NumpyIndex(DIMENSION), []
    for at in range(0, 6000, 1500):
        for each in (index, oracle):
            each.add(b"p", NAMES[at : at + 1500], ROWS[at : at + 1500])
        index.maintain()
        agree(index, oracle)
        kinds.append(type(getattr(shelf(index), "device", shelf(index))))
        assert index.on_device(b"p") == (index.work(b"p") == index.size(b"p")) == (at > 0)
    assert kinds == [Codes, GpuRows, GpuLists, GpuLists]
    assert opened == [None, LISTS_SCRATCH] and index.device_bytes == 2 * 6000 * DIMENSION


@pytest.mark.parametrize("recall", [0.5, 0.99])
def test_as_many_lists_are_compared_as_the_recall_takes(recall):
    rows = unit(np.random.default_rng(3), 20_000)
    index = FaissGpuIndex(DIMENSION, **SMALL | {"lists_at": 1024}, recall=recall, open_gpu=CpuGpu)
    oracle = NumpyIndex(DIMENSION)
    for each in (index, oracle):
        each.add(b"p", np.arange(20_000), rows)
    index.maintain()
    queries = unit(np.random.default_rng(4), 100)
    found, want = (each.search(b"p", queries, 8)[1].tolist() for each in (index, oracle))
    share = np.mean([len(set(a) & set(b)) / 8 for a, b in zip(found, want, strict=True)])
    device = shelf(index).device
    assert share > recall - 0.05 and device.index.nprobe < device.index.nlist
    assert recall > 0.9 or share < 0.95


def test_an_index_is_freed_in_its_turn_never_beside_a_call():
    """FAISS's resources serve one call at a time, and freeing is one; the collector does not wait."""
    gpu, freed = NumpyGpu(), []

    class Told(NumpyDevice):
        def __del__(self):
            freed.append(threading.current_thread().name)

    with gpu:
        rows = GpuRows(Told(), gpu)
        del rows
        assert freed == []
    assert freed == ["MainThread"]
    rows = GpuRows(Told(), gpu)
    del rows
    assert len(freed) == 2


def test_a_child_process_leaves_the_device_to_its_parent(made):
    index, oracle, devices = made
    fill(index, oracle)
    index._forked()
    agree(index, oracle)
    assert devices[0].thisown is False and index._gpu.resources.thisown is False
    index.maintain()
    assert isinstance(shelf(index), Codes) and len(devices) == 1
    agree(index, oracle)


def test_a_fork_is_noticed(made):
    index, oracle, _ = made
    fill(index, oracle)
    child = os.fork()
    if child == 0:
        os._exit(0 if index.lost and not index.on_device(b"p") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.on_device(b"p")


@pytest.mark.parametrize("told", [{"device_at": 1000}, {"recall": 0}, {"recall": 1.1}])
def test_settings_that_are_none_are_refused(told):
    with pytest.raises(ValueError, match=next(iter(told))):
        FaissGpuIndex(DIMENSION, **told)


def test_what_leaves_the_device_gives_its_bytes_back(made):
    index, oracle, devices = made
    fill(index, oracle)
    for each in (index, oracle):
        each.remove(NAMES[:1500])
    index.maintain()
    assert index.device_bytes == 2 * shelf(index).rows * DIMENSION and len(devices) == 2
    agree(index, oracle)
    index.remove(NAMES)
    assert index.device_bytes == 0 and len(index) == 0


def test_lists_begin_where_the_device_does_unless_all_rows_are_asked_for():
    assert FaissGpuIndex(DIMENSION).lists_at == 128 * PAGE
    assert FaissGpuIndex(DIMENSION, lists_at=200_000).lists_at == 200_000
    assert FaissGpuIndex(DIMENSION, recall=1).lists_at == float("inf")


def test_without_a_gpu_the_index_serves_and_says_why():
    reason = unavailable()
    if not reason:
        pytest.skip("there is a GPU")
    index, oracle = FaissGpuIndex(DIMENSION, **SMALL), NumpyIndex(DIMENSION)
    fill(index, oracle)
    assert index.fallbacks == {reason: 1} and isinstance(shelf(index), Codes)
    agree(index, oracle)


@pytest.mark.gpu
def test_a_real_device_finds_what_the_oracle_finds():
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    index, oracle = FaissGpuIndex(DIMENSION, **SMALL), NumpyIndex(DIMENSION)
    fill(index, oracle)
    assert isinstance(shelf(index), OnDevice)
    agree(index, oracle)
