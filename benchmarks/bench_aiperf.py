"""`cachelayer bench` and NVIDIA's AIPerf against the same server, which logs the delays that it applied.

    python -m venv aiperf && aiperf/bin/pip install aiperf
    python benchmarks/bench_aiperf.py --aiperf aiperf/bin/aiperf --out benchmarks/results/bench_aiperf.json

Each has a server of its own with equal seeds, so that the n-th request gets the same delays, and Poisson arrivals
at the same rate. Percentiles of either are compared with its own server's log by one rule; AIPerf's from the requests
that it exports, since it interpolates between ranks. AIPerf wants a tokenizer; one that takes each letter for a token
is made, so that the server's pieces are its tokens. AIPerf counts from when it sends, `cachelayer bench` from when a
request was due.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench_accuracy import applied, bench, compared, percentile, serving
from record import heading, keep, parser_of

NAMES = {
    "ttft": "time_to_first_token", "itl": "inter_chunk_latency",
    "tpot": "inter_token_latency", "e2e": "request_latency",
}  # fmt: skip


def tokenizer(folder: Path) -> Path:
    """A tokenizer whose tokens are the characters of ASCII, as the library `tokenizers` stores one."""
    folder.mkdir(parents=True, exist_ok=True)
    vocab = {"[UNK]": 0, **{chr(code): code - 31 for code in range(32, 127)}}
    split = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}
    rest: dict[str, object] = dict.fromkeys(
        ("truncation", "padding", "normalizer", "post_processor", "decoder")
    )
    held = {"version": "1.0", **rest, "added_tokens": [], "pre_tokenizer": split, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(held))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "eos_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def aiperf(program: Path, url: str, args: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds by series, of the requests that AIPerf exported."""
    asked, out = args.work / "asked-aiperf.jsonl", args.work / "aiperf"
    shutil.rmtree(out, ignore_errors=True)
    asked.write_text("".join(json.dumps({"text": f"question {i}"}) + "\n" for i in range(args.requests)))
    command = [program, "profile", "-m", "m", "--url", url, "--endpoint-type", "chat", "--streaming", "--ui", "none",
               "--tokenizer", tokenizer(args.work / "letters"), "--input-file", asked, "--custom-dataset-type",
               "single_turn", "--request-rate", args.rate, "--request-count", args.requests, "--random-seed", 1,
               "--artifact-dir", out]  # fmt: skip
    subprocess.run([str(part) for part in command], check=True, cwd=args.work)
    rows = [json.loads(line)["metrics"] for line in (out / "profile_export.jsonl").read_text().splitlines()]
    told: dict[str, list[float]] = {}
    for series, name in NAMES.items():
        values = [row[name]["value"] for row in rows]
        flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
        told[series] = [value / 1e3 for value in flat]
    return told


def beside(ours: list[dict[str, Any]], theirs: dict[str, list[float]], log: Path) -> list[dict[str, Any]]:
    """Our rows with AIPerf's figure, what its server applied, and how far it is off."""
    true = applied(log)
    for row in ours:
        given, seen = (percentile(of[row["series"]], row["share"]) for of in (true, theirs))
        row |= {"aiperf": {"applied": given, "told": seen, "off": seen / given - 1}}
        row["apart"] = row["told"] / seen - 1
    return ours


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--aiperf", type=Path, required=True, metavar="PROGRAM")
    parser.add_argument("--requests", type=int, default=1200)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--work", type=Path, default=Path("/tmp/bench_aiperf"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.work, program = args.work.absolute(), args.aiperf.absolute()
    about = heading(" ".join(["python", *sys.argv]))
    mine, other = args.work / "delays.jsonl", args.work / "delays-aiperf.jsonl"
    with serving(mine) as url:
        figures = bench(url, args.requests, args.rate, args.work)
    with serving(other) as url:
        theirs = aiperf(program, url, args)
    rows = beside(compared(mine, figures), theirs, other)
    print(f"{'':12} {'applied':>10} {'bench':>10} {'off':>7}   {'applied':>10} {'AIPerf':>10} {'off':>7}")
    for row in rows:
        at, them = f"{row['series']:5} p{100 * row['share']:<5g}", row["aiperf"]
        print(f"{at} {row['applied'] * 1e3:10.2f} {row['told'] * 1e3:10.2f} {row['off']:+7.2%}   "
              f"{them['applied'] * 1e3:10.2f} {them['told'] * 1e3:10.2f} {them['off']:+7.2%}")  # fmt: skip
    worst = {
        "bench": max(abs(row["off"]) for row in rows),
        "aiperf": max(abs(r["aiperf"]["off"]) for r in rows),
    }
    print(f"milliseconds; worst: bench {worst['bench']:.2%}, AIPerf {worst['aiperf']:.2%}")
    if args.out:
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        told = {**about, "aiperf": version.strip(), "requests": args.requests, "rate": args.rate}
        keep(args.out, {**told, "worst": worst, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
