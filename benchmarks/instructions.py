"""Instructions and misses of processor caches a request over HTTP, counted by cachegrind.

    python benchmarks/instructions.py                    # needs valgrind; some minutes
    python benchmarks/instructions.py --out benchmarks/results/instructions

On a machine that others share, clocks tell more of them than of a change; these figures hardly move. Requests go
through uvicorn's protocol without a socket. A kind is run with few and with many requests, and the difference is
divided. The caches are a model: 32 KiB for instructions, 48 KiB for data, 2 MiB behind both; a request finds them as
the one before left them, so what runs between two requests elsewhere is not in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from record import heading, keep, parser_of

HERE = Path(__file__).resolve().parent
FEW = 200
KINDS = {
    "app alone, whole": "'plain', {n}",
    "hit": "'cached', {n}, again=True",
    "miss, whole": "'cached', {n}",
    "app alone, stream": "'plain', {n}, stream=True",
    "miss, stream": "'cached', {n}, stream=True",
}
COUNTS = {"I *refs": "instructions", "I1 *misses": "instruction cache misses", "D1 *misses": "data cache misses",
          "LL misses": "misses of 2 MiB"}  # fmt: skip
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"]


def counted(kind: str, requests: int) -> dict[str, int]:
    """What a whole process counts that answers so many requests. Raises RuntimeError if it fails."""
    call = f"from web.without_socket import serve; serve({KINDS[kind].format(n=requests)})"
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", *CACHES, sys.executable, "-c", call],
        # threads that wait for work by spinning would be counted
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = {}
    for pattern, name in COUNTS.items():
        told = re.search(rf"^==\d+== {pattern}: +([\d,]+)", done.stderr, re.M)
        assert told is not None, f"cachegrind tells no {name}"
        found[name] = int(told[1].replace(",", ""))
    return found


def a_request(kind: str, requests: int) -> dict[str, int]:
    """The counts of one request."""
    print(f"{kind} ...", file=sys.stderr, flush=True)
    few, many = counted(kind, FEW), counted(kind, FEW + requests)
    return {name: round((many[name] - few[name]) / requests) for name in many}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, default=400, help="between few and many (default: 400)")
    parser.add_argument("--out", type=Path, help="write PATH.json")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed: apt-get install valgrind")
    result = heading("python benchmarks/instructions.py --out benchmarks/results/instructions")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = dict(zip(KINDS, pool.map(lambda kind: a_request(kind, options.requests), KINDS), strict=True))
    result["a request"] = rows
    print(json.dumps(result, indent=1))
    keep(options.out, result)


if __name__ == "__main__":
    main()
