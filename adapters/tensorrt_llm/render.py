"""A profile as the files and commands that the servers take."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .memory import GIB
from .profiles import EngineProfile

CANCELLATION_CHECK_MS = 10
"""How long a request that its caller gave up may go on."""


def yaml(body: Mapping[str, Any], indent: int = 0) -> str:
    """Block-style YAML of mappings, lists and scalars; strings are JSON strings, which YAML 1.2 includes."""
    lines = []
    for key, value in body.items():
        if isinstance(value, Mapping):
            lines.append(f"{' ' * indent}{key}:\n{yaml(value, indent + 2)}")
        else:
            lines.append(f"{' ' * indent}{key}: {json.dumps(value)}\n")
    return "".join(lines)


def serve_yaml(profile: EngineProfile) -> str:
    """For `trtllm-serve --extra_llm_api_options FILE`."""
    return yaml(profile.llm_kwargs())


def serve_command(profile: EngineProfile, path: str, *, host: str = "127.0.0.1", port: int = 8000) -> str:
    """The command line. Every engine value stands in the YAML only: versions differ in which of the two
    wins."""
    option = "--config" if profile.version == "1.3" else "--extra_llm_api_options"
    words = ["trtllm-serve", "serve", profile.model.name, "--host", host, "--port", str(port), option, path]
    return shlex.join(words)


def model_yaml(profile: EngineProfile) -> str:
    """`1/model.yaml` of the LLM-API model: the engine's arguments and Triton's own, streaming on."""
    triton = {"max_batch_size": 0, "decoupled": True, "cancellation_check_period_ms": CANCELLATION_CHECK_MS}
    return yaml({"model": profile.model.name, **profile.llm_kwargs(), "triton_config": triton})


LLMAPI_INPUTS = {
    "text_input": ("TYPE_STRING", -1),
    "streaming": ("TYPE_BOOL", 1),
    "sampling_param_best_of": ("TYPE_INT32", 1),
    "sampling_param_temperature": ("TYPE_FP32", 1),
    "sampling_param_top_k": ("TYPE_INT32", 1),
    "sampling_param_top_p": ("TYPE_FP32", 1),
    "sampling_param_frequency_penalty": ("TYPE_FP32", 1),
    "sampling_param_presence_penalty": ("TYPE_FP32", 1),
    "sampling_param_max_tokens": ("TYPE_INT32", 1),
    "sampling_param_stop": ("TYPE_STRING", -1),
    "sampling_param_seed": ("TYPE_UINT64", 1),
    "sampling_param_exclude_input_from_output": ("TYPE_BOOL", 1),
    "sampling_param_return_perf_metrics": ("TYPE_BOOL", 1),
    "return_finish_reason": ("TYPE_BOOL", 1),
    "return_stop_reason": ("TYPE_BOOL", 1),
    "return_cumulative_logprob": ("TYPE_BOOL", 1),
    "stop": ("TYPE_BOOL", 1),
}
LLMAPI_OUTPUTS = {
    "text_output": ("TYPE_STRING", -1),
    "finish_reason": ("TYPE_STRING", -1),
    "stop_reason": ("TYPE_STRING", -1),
    "cumulative_logprob": ("TYPE_FP32", -1),
    "kv_cache_reused_block": ("TYPE_INT32", -1),
    "kv_cache_hit_rate": ("TYPE_FP32", -1),
    "arrival_time_ns": ("TYPE_INT64", -1),
    "first_scheduled_time_ns": ("TYPE_INT64", -1),
    "first_token_time_ns": ("TYPE_INT64", -1),
    "last_token_time_ns": ("TYPE_INT64", -1),
}


def config_pbtxt(profile: EngineProfile) -> str:
    """`config.pbtxt` of the LLM-API model (python backend); the engine's values stand in `model.yaml`."""
    return "\n".join(
        (
            f"# {profile.kind} profile of {profile.model.name}",
            'name: "tensorrt_llm"',
            'backend: "python"',
            "max_batch_size: 0",
            "model_transaction_policy { decoupled: true }",
            "dynamic_batching { }",
            *_tensors("input", LLMAPI_INPUTS, " optional: true"),
            *_tensors("output", LLMAPI_OUTPUTS, ""),
            "instance_group [ { count: 1 kind: KIND_CPU } ]",
            "",
        )
    )


def _tensors(kind: str, tensors: Mapping[str, tuple[str, int]], optional: str) -> Iterator[str]:
    for name, (datatype, size) in tensors.items():
        suffix = "" if name == "text_input" else optional
        yield f'{kind} {{ name: "{name}" data_type: {datatype} dims: [ {size} ]{suffix} }}'


def engine_parameters(profile: EngineProfile) -> dict[str, str]:
    """Template variables of the C++ `tensorrt_llm/config.pbtxt`, for `fill_template.py`."""
    body = profile.llm_kwargs()
    policy = body["scheduler_config"]["capacity_scheduler_policy"]
    host = body["kv_cache_config"].get("host_cache_size", 0)
    parameters = {
        "triton_max_batch_size": body["max_batch_size"],
        "decoupled_mode": "true",
        "batching_strategy": "inflight_fused_batching",
        "batch_scheduler_policy": policy.lower(),
        "enable_kv_cache_reuse": "true",
        "enable_chunked_context": "true",
        "kv_cache_free_gpu_mem_fraction": body["kv_cache_config"]["free_gpu_memory_fraction"],
        "exclude_input_in_output": "true",
        "max_queue_delay_microseconds": int(body.get("batch_wait_timeout_ms", 0) * 1000),
        "max_queue_size": 256,
        "cancellation_check_period_ms": CANCELLATION_CHECK_MS,
        "cuda_graph_mode": "true",
    }
    if host:
        parameters["kv_cache_host_memory_bytes"] = host
    return {name: str(value) for name, value in parameters.items()}


def explain(profile: EngineProfile) -> str:
    """A table of every value with its reason and source, and the memory it was sized for."""
    memory = profile.memory
    head = (
        f"{profile.kind} profile of {profile.model.name} on {profile.gpu.name}, TensorRT-LLM {profile.version}\n"
        f"weights ({profile.weights}; the checkpoint decides) {memory.weights / GIB:.1f} GiB a GPU, reserve "
        f"{memory.reserve / GIB:.1f}, KV {memory.kv / GIB:.1f} GiB = {memory.blocks} blocks = {memory.tokens} tokens "
        f"at {memory.bytes_per_token} bytes; {memory.sequences} sequences of full context fit\n\n"
    )
    rows = [f"| {s.name} | {json.dumps(s.value)} | {s.reason} | {s.source} |" for s in profile.settings]
    return head + "\n".join(("| setting | value | reason | source |", "|---|---|---|---|", *rows)) + "\n"
