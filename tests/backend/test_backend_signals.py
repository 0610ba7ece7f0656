"""What is measured of a fleet, in the format of Prometheus; and GPUs that do not divide what they share."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm.events import Delta, End, Start, Usage
from cachelayer.adapters.tensorrt_llm.memory import Gpu, ModelShape, kv_memory
from cachelayer.adapters.tensorrt_llm.request import parse
from cachelayer.adapters.tensorrt_llm.signals import SECONDS, Histogram, prometheus
from cachelayer.adapters.tensorrt_llm.wire import chunks, collect, usage_of


def test_a_value_counts_in_each_bucket_from_its_own_bound_on() -> None:
    histogram = Histogram()
    for value in (0.0, 0.001, 0.0011, 5.0, 99.0):
        histogram.add(value)
    assert histogram.counts[:2] == [2, 1] and histogram.counts[-1] == 1
    assert histogram.counts[SECONDS.index(5.0)] == 1 and histogram.total == pytest.approx(104.0021)


def test_names_are_escaped_and_each_metric_says_what_kind_it_is() -> None:
    waits = Histogram()
    waits.add(0.3)
    replicas = {'a"\\\nb': {"inflight": 2, "failures_total": 1, "ttft_seconds": waits}}
    told = {"replicas": replicas, "lanes": {}, "shed": {('x"', "queue"): 3}, "brownout": False, "retries": 4}
    lines = prometheus(told).splitlines()
    prefix, label = "cachelayer_backend_", 'replica="a\\"\\\\\\nb"'
    for name, kind in (("inflight", "gauge"), ("failures_total", "counter"), ("ttft_seconds", "histogram")):
        assert f"# TYPE {prefix}{name} {kind}" in lines
    assert f"{prefix}inflight{{{label}}} 2.0" in lines
    assert f'{prefix}ttft_seconds_bucket{{{label},le="0.25"}} 0' in lines
    assert f'{prefix}ttft_seconds_bucket{{{label},le="0.5"}} 1' in lines
    assert f'{prefix}ttft_seconds_bucket{{{label},le="+Inf"}} 1' in lines
    assert f"{prefix}ttft_seconds_sum{{{label}}} 0.3" in lines
    assert f'{prefix}shed_total{{lane="x\\"",reason="queue"}} 3' in lines


def test_what_gpus_cannot_divide_evenly_counts_for_the_one_that_has_most() -> None:
    shape = ModelShape(
        name="m", parameters=1e9, layers=33, kv_heads=6, head_dim=128, hidden=768, context=1024
    )
    gpu = Gpu(name="g", memory=79, sm=90)
    one = kv_memory(shape, gpu)
    assert one.bytes_per_token == 33 * 2 * 6 * 128 * 2
    assert kv_memory(shape, gpu, tensor_parallel=4).bytes_per_token == 33 * 2 * 2 * 128 * 2
    assert kv_memory(shape, gpu, pipeline_parallel=2).bytes_per_token == 17 * 2 * 6 * 128 * 2


async def test_pieces_of_calls_are_joined_by_their_index_in_whatever_order_they_come() -> None:
    def piece(index: int, arguments: str, **more: Any) -> Delta:
        function = {"arguments": arguments, **({"name": more["name"]} if more else {})}
        return Delta(
            tool_calls=[{"index": index, "function": function, **({"id": more["name"]} if more else {})}]
        )

    async def events() -> Any:
        yield Start("1", "m", 0)
        for one in (piece(0, "a", name="f"), piece(1, "b", name="g"), piece(0, "c"), piece(1, "d")):
            yield one
        yield Delta(finish_reason="tool_calls", stop_reason=0, logprobs={"content": []})
        yield Delta(logprobs=None)
        yield End("tool_calls")

    request = parse({"messages": [{"role": "user", "content": "?"}]}, 0.0)
    (choice,) = (await collect(events(), request))["choices"]
    assert [one["function"]["arguments"] for one in choice["message"]["tool_calls"]] == ["ac", "bd"]
    assert (choice["stop_reason"], choice["logprobs"], choice["message"]["content"]) == (
        0,
        {"content": []},
        None,
    )


async def test_a_stream_begins_with_each_choices_role_and_says_why_each_ended() -> None:
    async def events() -> Any:
        yield Start("1", "m", 0)
        for index, why in ((0, 7), (1, None)):
            yield Delta(index, "a", finish_reason="stop", stop_reason=why, logprobs=why)
        yield End("stop")

    request = parse({"messages": [{"role": "user", "content": "?"}], "n": 2, "stream": True}, 0.0)
    told = [chunk["choices"][0] async for chunk in chunks(events(), request)]
    roles, pieces = told[:2], told[2:]
    assert [(one["index"], one["delta"]["role"]) for one in roles] == [(0, "assistant"), (1, "assistant")]
    for field in ("stop_reason", "logprobs"):
        assert [(one["index"], one.get(field, "none")) for one in pieces] == [(0, 7), (1, "none")]


def test_counts_that_are_no_numbers_are_unknown_and_each_prompt_has_its_choices() -> None:
    assert usage_of({"prompt_tokens": "7", "completion_tokens": 2}) == Usage(None, 2)
    for prompt, choices in (("x", 2), ([1, 2, 3], 2), (["a", "b", "c"], 6), ([[1], [2]], 4)):
        assert parse({"prompt": prompt, "n": 2}, 0.0).choices == choices
