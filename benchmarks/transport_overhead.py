"""What the adapter costs over the bare client library, per request and per token, and how fast a cancel
arrives.

Bare means: aiohttp reading the bytes of the stream, gRPC stubs reading the responses, the engine's own
iterator. Both sides run turn by turn against the same stand-in servers in other processes (a real
tritonserver for gRPC). A request is timed by the wall clock (1 token), a token by the process's CPU time
(difference of long and short streams), since a slower server would hide it on the wall clock."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

STANDINS = Path(__file__).resolve().parents[1] / "tests/backend/standins"
sys.path.insert(0, str(STANDINS))

# ruff: noqa: E402  the stand-ins of the tests are not a package
import aiohttp
import orjson
import tensorrt_llm_standin as trt
from cachelayer.adapters.tensorrt_llm import TensorRTLLM
from cachelayer.adapters.tensorrt_llm.tensors import LLMAPI_FLAGS
from record import heading, keep, parser_of
from script import prompt
from triton_server import TritonServer

PREFILL = 0.001
"""Seconds: less than any engine takes to a first token. Without it the stand-in answers in 30 us, as none does."""
Call = Callable[[int], Awaitable[None]]


def script(tokens: int) -> str:
    return prompt("abc" * tokens)


def ours(llm: TensorRTLLM) -> Call:
    async def call(tokens: int) -> None:
        async for _ in await llm(prompt=script(tokens), max_tokens=tokens + 1, stream=True):
            pass

    return call


def bare_http(client: aiohttp.ClientSession) -> Call:
    async def call(tokens: int) -> None:
        body = {"prompt": script(tokens), "max_tokens": tokens + 1, "stream": True, "model": "m"}
        async with client.post("/v1/completions", data=orjson.dumps(body)) as response:
            async for _ in response.content.iter_chunks():
                pass

    return call


def bare_grpc(address: str) -> Call:
    import grpc
    from tritonclient.grpc import service_pb2, service_pb2_grpc

    stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.aio.insecure_channel(address))
    tensor = service_pb2.ModelInferRequest.InferInputTensor

    inputs = ["text_input", "sampling_param_max_tokens", "streaming", *LLMAPI_FLAGS]
    kinds = ["BYTES", "INT32", *["BOOL"] * (1 + len(LLMAPI_FLAGS))]
    wanted = ["text_output", "finish_reason", "stop_reason", "kv_cache_reused_block"]
    wanted += ["arrival_time_ns", "first_scheduled_time_ns"]
    output = service_pb2.ModelInferRequest.InferRequestedOutputTensor

    async def call(tokens: int) -> None:
        text = script(tokens).encode()
        flags = [b"\1"] * (1 + len(LLMAPI_FLAGS))
        message = service_pb2.ModelInferRequest(
            model_name="llmapi",
            id="1",
            inputs=[tensor(name=n, datatype=k, shape=[1]) for n, k in zip(inputs, kinds, strict=True)],
            raw_input_contents=[
                len(text).to_bytes(4, "little") + text,
                (tokens + 1).to_bytes(4, "little"),
                *flags,
            ],
            outputs=[output(name=n) for n in wanted],
        )
        stream = stub.ModelStreamInfer()
        await stream.write(message)
        await stream.done_writing()
        while True:
            response = await stream.read()
            if response.infer_response.parameters["triton_final_response"].bool_param:
                break

    return call


def bare_local(engine: Any) -> Call:
    async def call(tokens: int) -> None:
        inputs = {"prompt_token_ids": [ord(c) for c in script(tokens)]}
        params = trt.SamplingParams(max_tokens=tokens + 1)
        async for _ in engine.generate_async(inputs, sampling_params=params, streaming=True):
            pass

    return call


async def compare(bare: Call, own: Call, rounds: int, tokens: int) -> dict[str, float]:
    """Medians of the bare side and of the paired differences; the two alternate within each round."""
    for _ in range(20):
        await bare(1)
        await own(1)
    request = await _pairs(bare, own, rounds, _timed)
    token = await _pairs(bare, own, max(20, rounds // 3), lambda call: _per_token(call, tokens))
    return {
        "request_us_bare": round(statistics.median(request[0]), 1),
        "request_overhead_us": round(statistics.median(request[1]), 1),
        "token_us_bare": round(statistics.median(token[0]), 2),
        "token_overhead_us": round(statistics.median(token[1]), 2),
    }


async def _timed(call: Call) -> float:
    start = time.perf_counter()
    await call(1)
    return time.perf_counter() - start


async def _per_token(call: Call, tokens: int) -> float:
    """Of a stream of `tokens` less one of a single token, so that what a request costs is not counted twice."""
    marks = [time.thread_time()]
    for length in (tokens, 1):
        await call(length)
        marks.append(time.thread_time())
    return (2 * marks[1] - marks[0] - marks[2]) / (tokens - 1)


async def _pairs(
    bare: Call, own: Call, rounds: int, cost: Callable[[Call], Awaitable[float]]
) -> tuple[list[float], list[float]]:
    """(bare, own - bare) per round, in microseconds; which goes first alternates."""
    floors, differences = [], []
    for number in range(rounds):
        first, second = (bare, own) if number % 2 else (own, bare)
        taken = {id(call): await cost(call) * 1e6 for call in (first, second)}
        floors.append(taken[id(bare)])
        differences.append(taken[id(own)] - taken[id(bare)])
    return floors, differences


async def cancel_latency(server: TritonServer, rounds: int, gate: Path) -> dict[str, float]:
    """From aclose() to the model's log line, both on the system-wide monotonic clock."""
    llm = TensorRTLLM.connect(f"triton://{server.address}/llmapi")
    times = []
    for _ in range(rounds):
        stream = await llm(prompt=prompt("abcdef", hold=str(gate), hold_after=1), stream=True)
        first = await anext(stream)
        start = time.monotonic_ns()
        await stream.aclose()
        found: list[int] = []
        while not found:
            await asyncio.sleep(0.002)
            found = [at for at, event, id_ in server.events() if event == "cancelled" and id_ == first["id"]]
        times.append((found[0] - start) / 1e6)
    await llm.aclose()
    times.sort()
    return {"p50_ms": round(statistics.median(times), 2), "max_ms": round(times[-1], 2), "cancels": rounds}


SERVER = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from serve_server import ServeStandin
async def main():
    server = ServeStandin()
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def run(rounds: int, tokens: int, port: str, work: Path) -> dict[str, Any]:
    results: dict[str, Any] = {}
    triton = TritonServer(work)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            llm = TensorRTLLM.connect(f"trtllm://127.0.0.1:{port}")
            results["trtllm-serve (HTTP)"] = await compare(bare_http(client), ours(llm), rounds, tokens)
            await llm.aclose()
        triton.start()
        llm = TensorRTLLM.connect(f"triton://{triton.address}/llmapi")
        results["Triton (gRPC)"] = await compare(bare_grpc(triton.address), ours(llm), rounds, tokens)
        await llm.aclose()
        engine = trt.LLM("m")
        llm = TensorRTLLM.connect("local:m", module="tensorrt_llm_standin", llm=engine)
        results["in process"] = await compare(bare_local(engine), ours(llm), rounds, tokens)
        engine.prefill = PREFILL
        results["in process, first token after 1 ms"] = await compare(
            bare_local(engine), ours(llm), rounds, tokens
        )
        results["cancel to model, Triton"] = await cancel_latency(
            triton, max(20, rounds // 10), work / "never"
        )
    finally:
        triton.stop()
    return results


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    command = [sys.executable, "-c", SERVER, str(STANDINS)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        tempfile.TemporaryDirectory() as work,
    ):
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            results = asyncio.run(run(arguments.rounds, arguments.tokens, port, Path(work)))
        finally:
            process.kill()
    report = {
        **heading(" ".join(["python benchmarks/transport_overhead.py", *sys.argv[1:]])),
        "results": results,
    }
    print(json.dumps(report, indent=1))
    keep(arguments.out, report)


if __name__ == "__main__":
    main()
