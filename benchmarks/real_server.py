"""Bursts with a shared prefix against a real model on the CPU (`transformers serve --continuous-batching`).

Each burst has a prefix that the server has not seen. Sides alternate burst by burst: the bare transport, and
the fleet (adaptive limit, prefix single flight). The first token is timed from the request's arrival here,
so that waiting in the fleet's queue counts. Start the server first:

python tests/backend/standins/tiny_llama.py MODEL HF_HUB_OFFLINE=1 transformers serve MODEL --host 127.0.0.1
--port 8123 --device cpu --continuous-batching"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

from cachelayer.adapters.tensorrt_llm import BackendError, TensorRTLLM
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from record import heading, keep, parser_of

WORDS = "order return refund parcel label invoice account address warranty size colour exchange".split()


async def one(llm: TensorRTLLM, prefix: str, number: int, tokens: int) -> float | None:
    """Seconds to the first text; None for an error."""
    messages = [{"role": "system", "content": prefix}, {"role": "user", "content": f"question {number}"}]
    start, first = time.perf_counter(), None
    try:
        async for chunk in await llm(messages=messages, stream=True, max_tokens=tokens):
            if first is None and chunk["choices"][0]["delta"].get("content"):
                first = time.perf_counter() - start
    except BackendError:
        return None
    return first


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    rng = random.Random(arguments.seed)
    url = f"trtllm://127.0.0.1:{arguments.port}"
    lanes = {"interactive": Lane(reserve=0.0, max_wait=600.0)}
    limit = LimitPolicy(initial=arguments.initial, cap=arguments.burst, ttft=arguments.budget)
    sides = {
        "bare": TensorRTLLM.connect(url, model=arguments.model),
        "fleet": TensorRTLLM.connect([url], model=arguments.model, fleet={"limit": limit, "lanes": lanes}),
    }
    times: dict[str, list[float | None]] = {name: [] for name in sides}
    await one(sides["bare"], "warm", 0, 2)
    for burst in range(2 * arguments.bursts):
        name = list(sides)[burst % 2]
        prefix = " ".join(rng.choice(WORDS) for _ in range(arguments.words))
        work = (one(sides[name], prefix, number, arguments.tokens) for number in range(arguments.burst))
        times[name] += await asyncio.gather(*work)
    for llm in sides.values():
        await llm.aclose()
    return {name: summary(found) for name, found in times.items()}


def summary(times: list[float | None]) -> dict[str, float]:
    done = sorted(t for t in times if t is not None)
    return {
        "requests": len(times),
        "errors": len(times) - len(done),
        "ttft_p50_ms": round(1e3 * done[len(done) // 2], 1),
        "ttft_p99_ms": round(1e3 * done[int(0.99 * len(done))], 1),
        "ttft_mean_ms": round(1e3 * sum(done) / len(done), 1),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--model", required=True, help="what the server calls the model: its folder")
    parser.add_argument("--bursts", type=int, default=8, help="a side")
    parser.add_argument("--burst", type=int, default=32)
    parser.add_argument("--words", type=int, default=400, help="of the shared prefix")
    parser.add_argument("--tokens", type=int, default=12)
    parser.add_argument("--initial", type=int, default=8, help="limit at the start")
    parser.add_argument("--budget", type=float, default=0.4, help="seconds to the first token after dispatch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = {
        **heading(f"python benchmarks/real_server.py --model MODEL --bursts {arguments.bursts}"),
        "server": "transformers serve 5.23.0 --continuous-batching, two-layer random Llama, CPU",
        "results": asyncio.run(run(arguments)),
    }
    print(json.dumps(report, indent=1))
    keep(arguments.out, report)


if __name__ == "__main__":
    main()
