"""Search on a GPU: one script for a machine with a GPU and no network; prints JSON.

    python benchmarks/gpu_index.py --rows 1000000 10000000 --out gpu.json

What was measured so far is in the file after every part.

The reference is torch: a float16 matrix product and top-k over the same rows, beside the bytes moved over the measured
copy bandwidth. FAISS parts (flat float16, IVF, CAGRA, the index of cachelayer) run where a GPU build of `faiss` is
installed; what is missing says why and counts as not measured. Vectors are synthetic: unit rows around cluster centres,
made on the device, or around real ones (--vectors FILE.npy); queries are rows that were moved, others at every call.
"text in" is a sentence through tokenizer and encoder (gpu_encoder.py: --model DIR, or random weights of MiniLM's
shape), the search for such a query and the copy of ids to the host, vectors staying on the device; through cachelayer
they go by the host. Without a GPU it prints the reason and ends well.
`--rehearse` goes through everything on the CPU, with FAISS's indexes for the CPU: that it runs, its times say nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import platform
import statistics
import sys
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from gpu_measure import TEXT, K, Result, in_turn, share, summary, text_in, timed
from gpu_parts import exact_by_cachelayer, faiss_parts, through_cachelayer
from record import parser_of

CENTRES = 20_000


def missing() -> str:
    """What is not installed, or ''."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    try:
        importlib.import_module("cachelayer")
    except ImportError as fault:
        return f"cachelayer cannot be imported: {fault}"
    return ""


def reason_for_none() -> str:
    """Why nothing can be measured here, or ''."""
    if reason := missing():
        return reason
    import torch

    return "" if torch.cuda.is_available() else "torch finds no CUDA device"


def copy_bandwidth(device: Any) -> float:
    """Bytes per second of a device-to-device copy, reading and writing counted."""
    import torch

    source = torch.empty(2**31 if device.type == "cuda" else 2**25, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    bytes_a_copy: int = 2 * source.numel()
    return bytes_a_copy / statistics.median(timed(lambda: target.copy_(source), 20))


def make_rows(rows: int, width: int, device: Any, real: Any = None) -> Any:
    """(rows, width) float16 unit rows on the device, clustered as texts are: around centres, or around `real` vectors
    with differences of others for noise, which is as wide as they are in every direction."""
    import torch

    generator = torch.Generator(device).manual_seed(1)
    centres = torch.randn(CENTRES, width, generator=generator, device=device) if real is None else real
    out = torch.empty(rows, width, dtype=torch.float16, device=device)
    for at in range(0, rows, 1 << 20):
        part = out[at : at + (1 << 20)]
        pick = torch.randint(len(centres), (3, len(part)), generator=generator, device=device)
        if real is None:
            noise = 0.7 * torch.randn(len(part), width, generator=generator, device=device)
        else:
            far = 0.2 + 0.4 * torch.rand(len(part), 1, generator=generator, device=device)
            noise = far * (real[pick[1]] - real[pick[2]])
        part.copy_(torch.nn.functional.normalize(centres[pick[0]] + noise, dim=1))
    return out


def make_queries(rows: Any, count: int, real: Any = None) -> Any:
    """(count, width) float32: rows moved to a cosine of 0.995, or by a difference of real vectors to about 0.96."""
    import torch

    generator = torch.Generator(rows.device).manual_seed(2)
    pick = torch.randint(len(rows), (count,), generator=generator, device=rows.device)
    moved = rows[pick].float()
    if real is None:
        noise = 0.1 * torch.nn.functional.normalize(
            torch.randn(moved.shape, generator=generator, device=rows.device), dim=1
        )
    else:
        two = torch.randint(len(real), (2, count), generator=generator, device=rows.device)
        noise = 0.2 * (real[two[0]] - real[two[1]])
    return torch.nn.functional.normalize(moved + noise, dim=1)


def exact(rows: Any, queries: Any, kind: Any = None) -> tuple[Any, Any]:
    """Top-k by blocks of rows; products in float16, or in `kind`: those are rounded to a two-thousandth."""
    import torch

    best, block = None, 1 << (21 if len(queries) <= 1024 else 18)
    kind = kind or torch.float16
    asked = queries.to(kind)
    for at in range(0, len(rows), block):
        scores, found = torch.topk(asked @ rows[at : at + block].to(kind).T, K, dim=1)
        found = found + at
        if best is not None:
            scores, found = torch.cat([best[0], scores], 1), torch.cat([best[1], found], 1)
            scores, order = torch.topk(scores, K, dim=1)
            found = torch.gather(found, 1, order)
        best = (scores, found)
    assert best is not None
    return best


def torch_reference(rows: Any, queries: Any, args: argparse.Namespace, bandwidth: float) -> Result:
    out: Result = {"text in, batch 1": text_in(partial(exact, rows), queries, args)}
    for batch in args.batches:
        work = in_turn(partial(exact, rows), queries, batch)
        result = summary(timed(work, args.repeats), batch)
        result["share of copy bandwidth"] = share(rows, result, bandwidth)
        out[f"batch {batch}"] = result
    return out


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 64, 1024, 8192])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--recall", type=float, default=0.95, help="of cachelayer's lists")
    parser.add_argument(
        "--vectors", type=Path, help="(n, width) real vectors to lay the rows around, as .npy"
    )
    parser.add_argument(
        "--faiss", default="", metavar="WORD", help="only its indexes whose name has this word"
    )
    parser.add_argument("--out", type=Path, help="a file for the JSON, written after every part")
    parser.add_argument("--rehearse", action="store_true", help="go through everything on the CPU")
    parser.add_argument(
        "--model", type=Path, help="weights of the encoder, a sentence-transformers directory"
    )
    parser.add_argument(
        "--library-rows", type=int, default=20_000_000, help="largest size through cachelayer itself"
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    sys.path.append(str(Path(__file__).resolve().parents[1]))  # cachelayer, where it is not installed
    result: Result = {
        "date": str(date.today()),
        "python": platform.python_version(),
        "not measured": reason_for_none(),
    }
    if args.rehearse:
        args.rehearse = not missing()
        result["not measured"] = missing() or "a rehearsal: its times say nothing"
    if args.rehearse or not result["not measured"]:
        measure(args, result)
    tell(args, result)
    print(json.dumps(result, indent=1))


def measure(args: argparse.Namespace, result: Result) -> None:
    import numpy as np
    import torch
    from gpu_encoder import Encoder

    device = torch.device("cpu" if args.rehearse else "cuda")
    args.encoder = Encoder(device, args.model)
    bandwidth = copy_bandwidth(device)
    result |= {
        "device": "cpu" if args.rehearse else torch.cuda.get_device_name(),
        "copy bandwidth GB/s": bandwidth / 1e9,
        "encoder alone, batch 1": summary(timed(lambda: args.encoder.encode([TEXT]), args.repeats), 1),
        "sizes": {},
    }
    real = None
    if args.vectors:
        real = torch.nn.functional.normalize(
            torch.from_numpy(np.load(args.vectors)).float().to(device), dim=1
        )
        result["rows around"] = f"{len(real)} real vectors"
    for size in args.rows:
        found = result["sizes"][str(size)] = {}
        rows = make_rows(size, args.width, device, real)
        queries = make_queries(rows, max(args.batches), real)
        truth = exact(rows, queries, torch.float32)[1]
        found["torch"] = torch_reference(rows, queries, args, bandwidth)
        tell(args, result)
        found["exact by cachelayer"] = exact_by_cachelayer(rows, queries, truth, args, bandwidth)
        tell(args, result)
        if size <= args.library_rows:
            found["cachelayer"] = through_cachelayer(rows, queries, truth, args)
            tell(args, result)
        found["faiss"] = {}
        for name, figures in faiss_parts(rows, queries, truth, args, bandwidth):
            found["faiss"][name] = figures
            tell(args, result)
        del rows, queries, truth
        if not args.rehearse:
            torch.cuda.empty_cache()


def tell(args: argparse.Namespace, result: Result) -> None:
    if args.out is not None:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
