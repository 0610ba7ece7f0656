"""On a real GPU: rows grow, memory ends, threads meet, a process forks, and neighbours are found all the same."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from index_rows import unit
from torch_device import torch_device, torch_gpu

pytest.importorskip("faiss")

from oracle_index import NumpyIndex

from cachelayer import CacheLayer
from cachelayer.semantic.index.codes import Codes, load_faiss
from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, OnDevice, unavailable
from cachelayer.semantic.index.gpu_rows import Gpu, GpuLists, GpuRows
from cachelayer.testing import WordEmbedder

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # of Triton, which compiles

DIMENSION = 64
SMALL = {"promote_at": 1024, "device_at": 1024, "recall": 1}
ROWS = unit(np.random.default_rng(31), 40_000, DIMENSION)
NAMES = np.arange(40_000, dtype=np.int64)


@pytest.fixture(params=["by torch", "by faiss"])
def make(request):
    """A FaissGpuIndex on the device, by what does the work there. Interpreted, those that need no GPU take minutes."""
    reason = unavailable()
    if request.param == "by torch":
        torch_device()
        return FaissGpuIndex if not reason else partial(FaissGpuIndex, open_gpu=torch_gpu)
    if reason:
        pytest.skip(reason)
    return partial(FaissGpuIndex, open_gpu=lambda scratch: Gpu(load_faiss(), 0, scratch))


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    return torch


def filled(index, n=20_000):
    oracle = NumpyIndex(DIMENSION)
    for each in (index, oracle):
        each.add(b"p", NAMES[:n], ROWS[:n])
    index.maintain()
    return oracle


def share(index, oracle, queries=ROWS[-64:]):
    """Recall@8."""
    found, want = (each.search(b"p", queries, 8)[1].tolist() for each in (index, oracle))
    return np.mean([len(set(a) & set(b)) / 8 for a, b in zip(found, want, strict=True)])


def kind(index):
    return type(index._partitions[b"p"].view.sieve)


def test_rows_grow_on_the_device_from_all_compared_to_lists_and_deaths_are_never_found(make):
    index = make(DIMENSION, promote_at=1024, device_at=8000, lists_at=16_000, recall=0.95)
    oracle, kinds = NumpyIndex(DIMENSION), []
    for at in range(0, 32_000, 4000):
        for each in (index, oracle):
            each.add(b"p", NAMES[at : at + 4000], ROWS[at : at + 4000])
            each.remove(NAMES[at : at + 400])
        index.maintain()
        kinds.append(type(getattr(index._partitions[b"p"].view.sieve, "device", None)))
        assert share(index, oracle) >= (0.9 if kinds[-1] is GpuLists else 0.99)
        assert not set(index.search(b"p", ROWS[at : at + 8], 8)[1].ravel().tolist()) & {*range(at, at + 400)}
    assert kinds[0] is type(None) and issubclass(kinds[1], GpuRows) and kinds[-1] is GpuLists
    assert index.fallbacks == {}


def test_a_full_device_is_noticed_and_the_host_serves(make, torch):
    index = make(DIMENSION, **SMALL)
    oracle = filled(index)
    assert kind(index) is OnDevice
    gc.collect()  # what other tests had on the device is not to become free meanwhile
    torch.cuda.empty_cache()
    hog, size = [], 2**36
    while size >= 2**16:
        try:
            hog.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            size //= 2
    big = unit(np.random.default_rng(5), 300_000, DIMENSION)
    index.add(b"q", np.arange(len(big)) + 10**6, big)
    index.maintain()
    assert index.fallbacks == {"out of memory": 1} and not index.lost
    assert isinstance(index._partitions[b"q"].view.sieve, Codes)
    assert index.search(b"q", big[7:8], 1)[1].tolist() == [[10**6 + 7]]
    assert share(index, oracle) >= 0.99
    hog.clear()
    torch.cuda.empty_cache()


def test_a_partition_that_went_gives_its_memory_back(make, torch):
    def free():
        gc.collect()
        return torch.cuda.mem_get_info()[0]

    index = make(384, **SMALL)
    rows = unit(np.random.default_rng(6), 200_000, 384)
    index.add(b"first", np.arange(2000) + 10**6, rows[:2000])
    index.maintain()
    before = free()
    index.add(b"p", np.arange(len(rows)), rows)
    index.maintain()
    held = before - free()
    assert held >= rows.size * 2
    index.remove(np.arange(len(rows)))
    assert before - free() < held / 10


def test_a_forked_child_serves_from_the_host_and_the_parent_from_the_device(make):
    index = make(DIMENSION, **SMALL)
    oracle = filled(index)
    child = os.fork()
    if child == 0:
        well = index.lost and not index.on_device(b"p") and share(index, oracle) >= 0.99
        os._exit(0 if well else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.on_device(b"p") and share(index, oracle) >= 0.99


def test_threads_search_while_others_write_and_the_device_takes_turns(make):
    index = make(DIMENSION, promote_at=1024, device_at=1024, lists_at=10_000, recall=0.95)
    filled(index, 9000)
    done = threading.Event()

    def search(number):
        rng = np.random.default_rng(number)
        while not done.is_set():
            at = rng.integers(0, 9000, size=int(rng.integers(1, 40)))
            assert (index.search(b"p", ROWS[at], 8)[1][:, 0] == at).mean() >= 0.9

    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search, number) for number in range(4)]
        for at in range(9000, 24_000, 1000):
            index.add(b"p", NAMES[at : at + 1000], ROWS[at : at + 1000])
            index.maintain()
        done.set()
    assert [one.result() for one in searching] == [None] * 4 and index.fallbacks == {}


async def test_a_layer_finds_its_similar_answers_on_the_device(make):
    index = make(DIMENSION, **SMALL)
    asked = []

    async def answer(*, prompt: str) -> str:
        asked.append(prompt)
        return prompt.upper()

    async with CacheLayer(embedder=WordEmbedder(DIMENSION), index=index) as layer:
        cached = layer.wrap(answer)
        await asyncio.gather(*(cached(prompt=f"What is the capital of region {n}?") for n in range(2000)))
        await layer.flush()
        index.maintain()
        assert layer.stats()["similar"].get("fallbacks", {}) == {}
        (partition,) = index._partitions
        assert index.on_device(partition)
        before = len(asked)
        found = await cached(prompt="what is the capital of Region 77 ?")
        assert found == "WHAT IS THE CAPITAL OF REGION 77?" and len(asked) == before
