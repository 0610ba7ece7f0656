"""Search on a GPU: one script for a machine with a GPU and no network; prints JSON.

    python benchmarks/gpu_index.py --rows 1000000 10000000 > gpu.json

The reference is torch: a float16 matrix product and top-k over the same rows, beside the bytes moved over the measured
copy bandwidth. FAISS parts (flat float16, IVF, CAGRA, the index of cachelayer) run where a GPU build of `faiss` is
installed; what is missing says why and counts as not measured. Vectors are synthetic: unit rows around cluster centres,
made on the device; queries are rows moved by a tenth of their length. "text in" is a sentence through tokenizer,
encoder (gpu_encoder.py: --model DIR, or random weights of MiniLM's shape), search and the copy of ids to the host,
vectors staying on the device. Without a GPU it prints the reason and ends well.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

K = 8
TEXT = "Can I still change the delivery address of the order that I placed yesterday evening?"
CENTRES = 20_000
Result = dict[str, Any]


def reason_for_none() -> str:
    """Why nothing can be measured here, or ''."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    return "" if torch.cuda.is_available() else "torch finds no CUDA device"


def timed(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds per call, the device idle before and after each."""
    import torch

    for _ in range(min(5, repeats)):
        work()
    torch.cuda.synchronize()
    took = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begun)
    return took


def summary(took: list[float], queries: int) -> Result:
    ordered = sorted(took)
    p50 = statistics.median(took)
    return {
        "p50 us": p50 * 1e6,
        "p99 us": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] * 1e6,
        "queries/s": queries / p50,
    }


def copy_bandwidth(device: Any) -> float:
    """Bytes per second of a device-to-device copy, reading and writing counted."""
    import torch

    source = torch.empty(2**31, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.numel() / statistics.median(timed(lambda: target.copy_(source), 20))


def make_rows(rows: int, width: int, device: Any) -> Any:
    """(rows, width) float16 unit rows on the device, clustered as texts are."""
    import torch

    generator = torch.Generator(device).manual_seed(1)
    centres = torch.randn(CENTRES, width, generator=generator, device=device)
    out = torch.empty(rows, width, dtype=torch.float16, device=device)
    for at in range(0, rows, 1 << 20):
        part = out[at : at + (1 << 20)]
        pick = torch.randint(CENTRES, (len(part),), generator=generator, device=device)
        noise = torch.randn(len(part), width, generator=generator, device=device)
        part.copy_(torch.nn.functional.normalize(centres[pick] + 0.7 * noise, dim=1))
    return out


def make_queries(rows: Any, count: int) -> Any:
    import torch

    generator = torch.Generator(rows.device).manual_seed(2)
    pick = torch.randint(len(rows), (count,), generator=generator, device=rows.device)
    moved = rows[pick].float()
    noise = torch.nn.functional.normalize(
        torch.randn(moved.shape, generator=generator, device=rows.device), dim=1
    )
    return torch.nn.functional.normalize(moved + 0.1 * noise, dim=1)


def exact(rows: Any, queries: Any) -> tuple[Any, Any]:
    """Top-k by blocks of rows, float16 products."""
    import torch

    best, block = None, 1 << (21 if len(queries) <= 1024 else 19)
    half = queries.half()
    for at in range(0, len(rows), block):
        scores, found = torch.topk(half @ rows[at : at + block].T, K, dim=1)
        found = found + at
        if best is not None:
            scores, found = torch.cat([best[0], scores], 1), torch.cat([best[1], found], 1)
            scores, order = torch.topk(scores, K, dim=1)
            found = torch.gather(found, 1, order)
        best = (scores, found)
    assert best is not None
    return best


def text_in(search: Callable[[Any], Any], args: argparse.Namespace) -> Result:
    """One text in, the ids of its candidates on the host."""
    encode = args.encoder.encode
    return summary(timed(lambda: search(encode([TEXT]))[1].cpu(), args.repeats), 1)


def recall(found: Any, truth: Any) -> float:
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return statistics.fmean(len(set(a) & set(b)) / K for a, b in pairs)


def torch_reference(rows: Any, queries: Any, args: argparse.Namespace, bandwidth: float) -> Result:
    out: Result = {"text in, batch 1": text_in(lambda vector: exact(rows, vector), args)}
    moved = rows.numel() * rows.element_size()
    for batch in args.batches:
        part = queries[:batch]
        result = summary(timed(lambda part=part: exact(rows, part), args.repeats), batch)
        result["share of copy bandwidth"] = moved / (result["p50 us"] / 1e6) / bandwidth
        out[f"batch {batch}"] = result
    return out


def faiss_parts(rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float) -> Result:
    if importlib.util.find_spec("faiss") is None:
        return {"not measured": "faiss is not installed"}
    import faiss

    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        return {"not measured": "this faiss has no GPU support or finds no device"}
    import faiss.contrib.torch_utils  # lets indexes take tensors on the device, without a copy to the host

    resources = faiss.StandardGpuResources()
    out: Result = {}
    for name, make in index_kinds(faiss, resources, rows.shape[1]).items():
        try:
            out[name] = one_index(make(), rows, queries, truth, args, bandwidth)
        except (RuntimeError, AttributeError, AssertionError) as fault:
            out[name] = {"not measured": f"{type(fault).__name__}: {str(fault)[:200]}"}
    return out


def index_kinds(faiss: Any, resources: Any, width: int) -> dict[str, Callable[[], Any]]:
    def flat() -> Any:
        config = faiss.GpuIndexFlatConfig()
        config.useFloat16 = True
        return faiss.GpuIndexFlatIP(resources, width, config)

    def ivf() -> Any:
        config = faiss.GpuIndexIVFScalarQuantizerConfig()
        kind = faiss.ScalarQuantizer.QT_fp16
        index = faiss.GpuIndexIVFScalarQuantizer(
            resources, width, 8192, kind, faiss.METRIC_INNER_PRODUCT, False, config
        )
        index.nprobe = 64
        return index

    def cagra() -> Any:
        config = faiss.GpuIndexCagraConfig()
        return faiss.GpuIndexCagra(resources, width, faiss.METRIC_INNER_PRODUCT, config)

    return {"flat fp16": flat, "IVF8192 fp16 nprobe 64": ivf, "CAGRA": cagra}


def one_index(
    index: Any, rows: Any, queries: Any, truth: Any, args: argparse.Namespace, bandwidth: float
) -> Result:
    begun = time.perf_counter()
    if not index.is_trained or type(index).__name__ == "GpuIndexCagra":
        index.train(rows[: 1 << 20].float() if not index.is_trained else rows.float())
    if index.ntotal == 0:
        for at in range(0, len(rows), 1 << 20):
            index.add(rows[at : at + (1 << 20)].float())
    out: Result = {"build s": time.perf_counter() - begun}
    _, found = index.search(queries, K)
    out["recall@8"] = recall(found, truth)
    out["text in, batch 1"] = text_in(lambda vector: index.search(vector, K), args)
    for batch in args.batches:
        part = queries[:batch].contiguous()
        result = summary(timed(lambda part=part: index.search(part, K), args.repeats), batch)
        if batch == 1:
            result["share of copy bandwidth"] = rows.numel() * 2 / (result["p50 us"] / 1e6) / bandwidth
        out[f"batch {batch}"] = result
    return out


def through_cachelayer(rows: Any, queries: Any, truth: Any, args: argparse.Namespace) -> Result:
    """The index of the library, vectors from the host, one partition."""
    try:
        import numpy as np

        from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, unavailable
    except ImportError as fault:
        return {"not measured": str(fault)}
    if reason := unavailable():
        return {"not measured": reason}
    index = FaissGpuIndex(rows.shape[1])
    for at in range(0, len(rows), 1 << 18):
        part = rows[at : at + (1 << 18)].float()
        part = (part / part.norm(dim=1, keepdim=True)).cpu().numpy()
        index.add(b"p", np.arange(at, at + len(part), dtype=np.int64), part)
    index.maintain()
    host = queries.cpu().numpy()
    out: Result = {
        "fallbacks": dict(index.fallbacks),
        "recall@8": recall(index.search(b"p", host, K)[1], truth),
    }
    for batch in args.batches:
        part = host[:batch]
        out[f"batch {batch}"] = summary(
            timed(lambda part=part: index.search(b"p", part, K), args.repeats), batch
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 64, 1024, 8192])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument(
        "--model", type=Path, help="weights of the encoder, a sentence-transformers directory"
    )
    parser.add_argument(
        "--library-rows", type=int, default=2_000_000, help="largest size through cachelayer itself"
    )
    args = parser.parse_args()
    result: Result = {
        "date": str(date.today()),
        "python": platform.python_version(),
        "not measured": reason_for_none(),
    }
    if not result["not measured"]:
        import torch

        sys.path.insert(0, str(Path(__file__).resolve().parent))
        from gpu_encoder import Encoder

        device = torch.device("cuda")
        args.encoder = Encoder(device, args.model)
        bandwidth = copy_bandwidth(device)
        result |= {
            "device": torch.cuda.get_device_name(),
            "copy bandwidth GB/s": bandwidth / 1e9,
            "encoder alone, batch 1": summary(timed(lambda: args.encoder.encode([TEXT]), args.repeats), 1),
            "sizes": {},
        }
        for size in args.rows:
            rows = make_rows(size, args.width, device)
            queries = make_queries(rows, max(args.batches))
            truth = exact(rows, queries)[1]
            found: Result = {"torch": torch_reference(rows, queries, args, bandwidth)}
            found["faiss"] = faiss_parts(rows, queries, truth, args, bandwidth)
            if size <= args.library_rows:
                found["cachelayer"] = through_cachelayer(rows, queries, truth, args)
            result["sizes"][str(size)] = found
            del rows, queries, truth
            torch.cuda.empty_cache()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
