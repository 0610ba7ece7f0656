"""FAISS and cachelayer on a GPU, measured over the rows that benchmarks/gpu_index.py made."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gpu_measure import K, Result, by_host, in_turn, recall, settle, share, summary, text_in, timed


def faiss_parts(
    rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float
) -> Iterator[tuple[str, Any]]:
    """Each index by name, as it comes; those that take longest to build last."""
    if importlib.util.find_spec("faiss") is None:
        yield "not measured", "faiss is not installed"
        return
    import faiss

    if not args.rehearse and (not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus()):
        yield "not measured", "this faiss has no GPU support or finds no device"
        return
    import faiss.contrib.torch_utils  # lets indexes take tensors on the device, without a copy to the host

    yield "built with", faiss.get_compile_options()
    kinds = rehearsal_kinds(faiss, rows) if args.rehearse else index_kinds(faiss, rows)
    for name, make in kinds.items():
        if args.faiss not in name:
            continue
        try:
            yield name, one_index(make(), rows, queries, truth, args, bandwidth)
        except (RuntimeError, MemoryError, AttributeError, AssertionError, TypeError, ValueError) as fault:
            yield name, {"not measured": f"{type(fault).__name__}: {str(fault)[:200]}"}


def index_kinds(faiss: Any, rows: Any) -> dict[str, Callable[[], Any]]:
    width, count, metric = rows.shape[1], list_count(len(rows)), faiss.METRIC_INNER_PRODUCT
    resources = faiss.StandardGpuResources()

    def flat(cuvs: bool) -> Any:
        config = faiss.GpuIndexFlatConfig()
        config.useFloat16, config.use_cuvs = True, cuvs
        return faiss.GpuIndexFlatIP(resources, width, config)

    def lists() -> Any:
        config, kind = faiss.GpuIndexIVFScalarQuantizerConfig(), faiss.ScalarQuantizer.QT_fp16
        return faiss.GpuIndexIVFScalarQuantizer(resources, width, count, kind, metric, False, config)

    kinds: dict[str, Callable[[], Any]] = {f"IVF{count} fp16": lists, "flat fp16": lambda: flat(False)}
    if "NVIDIA_CUVS" in faiss.get_compile_options():
        kinds["flat fp16 cuVS"] = lambda: flat(True)
        kinds["CAGRA"] = lambda: faiss.GpuIndexCagra(resources, width, metric, faiss.GpuIndexCagraConfig())
    return kinds


def list_count(rows: int) -> int:
    return 1 << max(2, round(math.log2(4 * rows**0.5)))


def rehearsal_kinds(faiss: Any, rows: Any) -> dict[str, Callable[[], Any]]:
    width, count, metric = rows.shape[1], list_count(len(rows)), faiss.METRIC_INNER_PRODUCT
    return {
        "flat fp16": lambda: faiss.index_factory(width, "SQfp16", metric),
        f"IVF{count} fp16": lambda: faiss.index_factory(width, f"IVF{count},SQfp16", metric),
    }


def one_index(
    index: Any, rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float
) -> Result:
    begun, held = time.perf_counter(), None
    if type(index).__name__ == "GpuIndexCagra":
        held = rows.float()  # the graph refers to these rows and does not own them
        index.train(held)
    elif not index.is_trained:
        index.train(rows[: 1 << 20].float())
    if index.ntotal == 0:
        for at in range(0, len(rows), 1 << 17):
            index.add(rows[at : at + (1 << 17)].float())
    settle()
    out: Result = {"build s": time.perf_counter() - begun}
    if not hasattr(index, "nprobe"):
        return out | searched(index, rows, queries, truth, args, bandwidth)
    for nprobe in (8, 32, 128, 512):
        index.nprobe = min(nprobe, index.nlist)
        out[f"nprobe {nprobe}"] = searched(index, rows, queries, truth, args, bandwidth)
    return out


def searched(
    index: Any, rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float
) -> Result:
    _, found = index.search(queries, K)
    out: Result = {"recall@8": recall(found, truth)}
    out["text in, batch 1"] = text_in(lambda part: index.search(part, K), queries, args)
    for batch in args.batches:
        work = in_turn(lambda part: index.search(part, K), queries, batch)
        result = summary(timed(work, args.repeats), batch)
        if batch == 1:
            result["share of copy bandwidth"] = share(rows, result, bandwidth)
        out[f"batch {batch}"] = result
    return out


def exact_by_cachelayer(
    rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float
) -> Result:
    """All rows compared, as the library does on a device; vectors and ids go by the host."""
    import torch

    from cachelayer.semantic.index.torch_flat import TorchFlat

    flat = TorchFlat(torch, rows.shape[1], rows.device)
    for at in range(0, len(rows), 1 << 18):
        flat.add(rows[at : at + (1 << 18)].float().cpu().numpy())
    out = by_host(flat.search, queries, truth, args)
    if alone := out.get("batch 1"):
        alone["share of copy bandwidth"] = share(rows, alone, bandwidth)
    return out


def through_cachelayer(rows: Any, queries: Any, truth: Any, args: argparse.Namespace) -> Result:
    """The index of the library, one partition; vectors and ids go by the host."""
    try:
        import numpy as np

        from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, unavailable
    except ImportError as fault:
        return {"not measured": str(fault)}
    if not args.rehearse and (reason := unavailable()):
        return {"not measured": reason}
    begun, index = time.perf_counter(), FaissGpuIndex(rows.shape[1], recall=args.recall)
    for at in range(0, len(rows), 1 << 18):
        part = rows[at : at + (1 << 18)].float()
        part = (part / part.norm(dim=1, keepdim=True)).cpu().numpy()
        index.add(b"p", np.arange(at, at + len(part), dtype=np.int64), part)
    added = time.perf_counter()
    index.maintain()
    device = getattr(index._partitions[b"p"].view.sieve, "device", None)
    out: Result = {
        "fallbacks": dict(index.fallbacks),
        "kind": type(device).__name__,
        "nprobe": getattr(getattr(device, "index", None), "nprobe", None),
        "lists": getattr(getattr(device, "index", None), "nlist", None),
        "add s": added - begun,
        "maintain s": time.perf_counter() - added,
    }
    out |= by_host(partial(index.search, b"p"), queries, truth, args)
    host = queries.cpu().numpy()
    out["tasks"] = {str(tasks): asyncio.run(by_tasks(index, host, tasks)) for tasks in (1, 64, 1024)}
    return out


async def by_tasks(index: Any, queries: Any, tasks: int, rounds: int = 20) -> Result:
    """As a layer searches: every task one query at a time."""
    from cachelayer.semantic.index.searches import Searches

    searches, took = Searches(index), list[float]()

    async def task(number: int) -> None:
        for turn in range(rounds):
            begun = time.perf_counter()
            await searches.search(b"p", queries[(number * rounds + turn) % len(queries)], K)
            took.append(time.perf_counter() - begun)

    await searches.search(b"p", queries[0], K)
    begun = time.perf_counter()
    await asyncio.gather(*map(task, range(tasks)))
    spent = time.perf_counter() - begun
    await searches.aclose()
    return {**summary(took, 1), "queries/s": tasks * rounds / spent}
