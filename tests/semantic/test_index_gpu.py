"""The GPU index loses its device, its memory or its budget, and no caller notices."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts" / "kit"))

from index_rows import DIMENSION, unit
from numpy_device import NumpyDevice

pytest.importorskip("faiss")

from cachelayer.semantic.index.codes import Codes
from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, OnDevice, unavailable
from cachelayer.semantic.index.reference import NumpyIndex

ROWS = unit(np.random.default_rng(21), 6000)
NAMES = np.arange(6000, dtype=np.int64)


@pytest.fixture
def made():
    """The index, its oracle, and the devices it opened."""
    devices: list[NumpyDevice] = []

    def open_device() -> NumpyDevice:
        devices.append(NumpyDevice())
        return devices[-1]

    return FaissGpuIndex(DIMENSION, promote_at=1024, open_device=open_device), NumpyIndex(DIMENSION), devices


def fill(index, oracle, n=3000):
    for each in (index, oracle):
        each.add(b"p", NAMES[:n], ROWS[:n])
    index.maintain()


def agree(index, oracle):
    for count in (1, 9):
        queries = ROWS[4000 : 4000 + count]
        (scores, names), (want, _) = index.search(b"p", queries, 8), oracle.search(b"p", queries, 8)
        assert np.allclose(scores, want, atol=2e-3) and (names >= 0).all()


def shelf(index):
    return index._partitions[b"p"].view.sieve


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
    devices[0].fault = RuntimeError("CUDA error 999: unknown error")
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
    index = FaissGpuIndex(DIMENSION, promote_at=1024, max_bytes=2 * 3500 * DIMENSION, open_device=NumpyDevice)
    oracle = NumpyIndex(DIMENSION)
    fill(index, oracle)
    index.add(b"q", NAMES[3000:5000] + 10_000, ROWS[3000:5000])
    index.maintain()
    assert isinstance(index._partitions[b"q"].view.sieve, Codes)
    assert index.fallbacks == {"over the memory budget": 1}
    assert index.device_bytes == 2 * 3000 * DIMENSION
    agree(index, oracle)


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


def test_without_a_gpu_the_index_serves_and_says_why():
    reason = unavailable()
    if not reason:
        pytest.skip("there is a GPU")
    index, oracle = FaissGpuIndex(DIMENSION, promote_at=1024), NumpyIndex(DIMENSION)
    fill(index, oracle)
    assert index.fallbacks == {reason: 1} and isinstance(shelf(index), Codes)
    agree(index, oracle)


@pytest.mark.gpu
def test_a_real_device_finds_what_the_oracle_finds():
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    index, oracle = FaissGpuIndex(DIMENSION, promote_at=1024), NumpyIndex(DIMENSION)
    fill(index, oracle)
    assert isinstance(shelf(index), OnDevice)
    agree(index, oracle)
