"""Fields of the LLM arguments as documented, by release line: name -> (type, first version). YAML takes the
same."""

from __future__ import annotations

from typing import Any

VERSIONS = ("1.0", "1.2", "1.3")
FIELDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "tensor_parallel_size": (int, "1.0"),
    "pipeline_parallel_size": (int, "1.0"),
    "dtype": (str, "1.0"),
    "max_batch_size": (int, "1.0"),
    "max_num_tokens": (int, "1.0"),
    "max_seq_len": (int, "1.0"),
    "enable_chunked_prefill": (bool, "1.0"),
    "disable_overlap_scheduler": (bool, "1.0"),
    "stream_interval": (int, "1.0"),
    "num_postprocess_workers": (int, "1.0"),
    "return_perf_metrics": (bool, "1.2"),
    "perf_metrics_max_requests": (int, "1.2"),
    "enable_iter_perf_stats": (bool, "1.0"),
    "batch_wait_timeout_ms": ((int, float), "1.2"),
    "kv_cache_config.enable_block_reuse": (bool, "1.0"),
    "kv_cache_config.enable_partial_reuse": (bool, "1.0"),
    "kv_cache_config.copy_on_partial_reuse": (bool, "1.0"),
    "kv_cache_config.tokens_per_block": (int, "1.2"),
    "kv_cache_config.free_gpu_memory_fraction": (float, "1.0"),
    "kv_cache_config.host_cache_size": (int, "1.0"),
    "kv_cache_config.secondary_offload_min_priority": (int, "1.0"),
    "kv_cache_config.event_buffer_max_size": (int, "1.0"),
    "kv_cache_config.dtype": (str, "1.0"),
    "scheduler_config.capacity_scheduler_policy": (str, "1.0"),
    "scheduler_config.enable_prefix_aware_scheduling": (bool, "1.3"),
    "cuda_graph_config.enable_padding": (bool, "1.0"),
    "cuda_graph_config.max_batch_size": (int, "1.0"),
    "speculative_config.decoding_type": (str, "1.0"),
    "speculative_config.max_draft_len": (int, "1.0"),
    "speculative_config.max_concurrency": (int, "1.0"),
    "speculative_config.speculative_model_dir": (str, "1.0"),
    "speculative_config.num_nextn_predict_layers": (int, "1.0"),
    "speculative_config.is_public_pool": (bool, "1.0"),
    "speculative_config.max_matching_ngram_size": (int, "1.0"),
}


def faults(body: dict[str, Any], version: str, prefix: str = "") -> list[str]:
    """What pydantic with extra='forbid' would complain about."""
    found = []
    for name, value in body.items():
        path = prefix + name
        if isinstance(value, dict):
            found += faults(value, version, f"{path}.")
            continue
        kind, since = FIELDS.get(path, (None, ""))
        if kind is None or VERSIONS.index(since) > VERSIONS.index(version):
            found.append(f"{path}: extra inputs are not permitted")
        elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            found.append(f"{path}: {value!r} is no {kind}")
    return found
