"""A GPU build of FAISS is used by a layer: from a partition of some size on, one call at a time."""

from __future__ import annotations

import asyncio
import sys
import threading

import numpy as np
import pytest
from index_rows import DIMENSION, unit
from numpy_device import NumpyDevice, NumpyGpu

pytest.importorskip("faiss")

from turns import turns

from cachelayer import CacheLayer, MissingExtra
from cachelayer.semantic.index.faiss_cpu import FaissIndex
from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, for_gpus
from cachelayer.semantic.index.persistent import PersistentIndex
from cachelayer.semantic.index.searches import Searches
from cachelayer.testing import WordEmbedder

ROWS = unit(np.random.default_rng(21), 3000)
NAMES = np.arange(3000, dtype=np.int64)


@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("gpus", [False, True])
async def test_the_layer_takes_the_index_that_faiss_is_built_for(monkeypatch, tmp_path, gpus, directory):
    """cachelayer[gpu] was installed, and every search stayed on the CPU."""
    if gpus:
        monkeypatch.setattr("faiss.StandardGpuResources", object, raising=False)
    elif for_gpus():
        pytest.skip("this faiss is built for GPUs")
    index = str(tmp_path) if directory else None
    async with CacheLayer(embedder=WordEmbedder(), index=index) as layer:
        made = layer._similar.index
        inner = made.inner if isinstance(made, PersistentIndex) else made
        assert type(inner) is (FaissGpuIndex if gpus else FaissIndex)
        assert "fallbacks" not in layer.stats()["similar"]
        if gpus:
            inner.fallbacks["no CUDA device"] += 1
            assert layer.stats()["similar"]["fallbacks"] == {"no CUDA device": 1}


class Slow(NumpyDevice):
    """Remembers how many queries its calls had, and how many calls there were at once; may be held up."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.begun = threading.Event(), threading.Event()
        self.calls: list[int] = []

    def search(self, queries, k):
        self.calls.append(len(queries))
        self.begun.set()
        assert self.gate.wait(30)
        return super().search(queries, k)


async def test_a_device_is_asked_by_one_call_at_a_time_and_the_host_goes_on(tmp_path):
    gpu = NumpyGpu()
    gpu.flat = lambda dimension: gpu.devices.append(Slow()) or gpu.devices[-1]
    inner = FaissGpuIndex(DIMENSION, promote_at=1024, device_at=1024, recall=1, open_gpu=lambda scratch: gpu)
    index = PersistentIndex(inner, tmp_path, "words")
    index.load()
    index.add(b"large", NAMES, ROWS)
    index.add(b"small", NAMES[:900] + 5000, ROWS[:900])
    index.maintain()
    (device,) = gpu.devices
    searches = Searches(index, workers=3, tiny=0, inline_work=0)
    first = asyncio.ensure_future(searches.search(b"large", ROWS[0], 4))
    await asyncio.to_thread(device.begun.wait, 30)
    others = [asyncio.ensure_future(searches.search(b"large", ROWS[i], 4)) for i in range(1, 100)]
    await turns(3)
    assert (await searches.search(b"small", ROWS[7], 4))[1][0] == 5007
    assert device.calls == [1]
    device.gate.set()
    found = await asyncio.gather(first, *others)
    assert device.calls == [1, 99] and [names[0] for _, names in found] == list(range(100))
    await searches.aclose()
    index.close()


@pytest.mark.parametrize(("index", "extra"), [(FaissIndex, "cpu"), (FaissGpuIndex, "gpu")])
def test_an_index_names_the_extra_that_brings_its_own_faiss(
    monkeypatch: pytest.MonkeyPatch, index: type[FaissIndex], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(
        MissingExtra, match=rf"^{index.__name__} needs .* pip install 'cachelayer\[{extra}\]'"
    ):
        index(8)
