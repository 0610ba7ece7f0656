"""The engine's settings one by one, each with its reason and its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cachelayer.errors import ConfigurationError

from .memory import BLOCK, GIB, KV_SHARE, Gpu, KvMemory

Kind = Literal["latency", "throughput", "balanced"]
Version = Literal["1.0", "1.2", "1.3"]

TUNING = "TensorRT-LLM docs/source/performance/tuning-max-batch-size-and-max-num-tokens.md"
ARGS = "TensorRT-LLM tensorrt_llm/llmapi/llm_args.py"
KVCACHE = "TensorRT-LLM docs/source/features/kvcache.md"
START = "engineering starting point, to be swept"


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the engine: a dotted LLM keyword argument, why it is what it is, and who says so."""

    name: str
    value: Any
    reason: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Speculation:
    """Speculative decoding. `draft` is a directory for 'Eagle' and 'DraftTarget'; 'MTP' and 'NGram' need
    none."""

    method: Literal["Eagle", "DraftTarget", "MTP", "NGram"]
    draft: str | None = None
    max_draft_len: int = 3
    max_concurrency: int = 16
    """Off above this batch: a full GPU has no spare compute for drafts."""

    def __post_init__(self) -> None:
        needed = self.method in ("Eagle", "DraftTarget")
        if needed != (self.draft is not None):
            remedy = (
                "needs a draft model: give its directory"
                if needed
                else "drafts without a model: leave it out"
            )
            raise ConfigurationError("draft", self.draft, f"{self.method} {remedy}")
        if not 1 <= self.max_draft_len <= 16:
            raise ConfigurationError("max_draft_len", self.max_draft_len, "give 1 to 16")

    def config(self) -> dict[str, Any]:
        body: dict[str, Any] = {"decoding_type": self.method, "max_concurrency": self.max_concurrency}
        if self.method == "MTP":
            return body | {"num_nextn_predict_layers": self.max_draft_len}
        body["max_draft_len"] = self.max_draft_len
        if self.method == "NGram":
            # the public pool shares n-grams between requests, hence between tenants
            return body | {"is_public_pool": False, "max_matching_ngram_size": 2}
        return body | {"speculative_model_dir": self.draft}


@dataclass(frozen=True, slots=True)
class Knobs:
    """What the three kinds differ in."""

    batch: int
    tokens: int
    policy: str
    interval: int
    postprocess: int
    wait_ms: float


KNOBS: dict[Kind, Knobs] = {
    "latency": Knobs(32, 2048, "GUARANTEED_NO_EVICT", 1, 0, 0),
    "balanced": Knobs(256, 4096, "GUARANTEED_NO_EVICT", 1, 2, 0),
    "throughput": Knobs(1024, 8192, "MAX_UTILIZATION", 8, 4, 10),
}


def parallel(kind: Kind, degree: int, pipeline: int) -> list[Setting]:
    why = (
        "splits each layer, which shortens every step"
        if kind == "latency"
        else "the smallest degree that fits; more replicas beat wider ones"
    )
    settings = [Setting("tensor_parallel_size", degree, why, START)]
    if pipeline > 1:
        settings.append(
            Setting("pipeline_parallel_size", pipeline, "layers on several GPUs without NVLink", START)
        )
    return settings


def batching(knobs: Knobs, batch: int, context: int, version: Version) -> list[Setting]:
    return [*_limits(knobs, batch, context), *_scheduling(knobs), *_by_release(knobs, version)]


def _limits(knobs: Knobs, batch: int, context: int) -> list[Setting]:
    return [
        Setting(
            "max_batch_size",
            batch,
            "requests an iteration: just above peak concurrency for latency, swept for throughput",
            TUNING,
        ),
        Setting(
            "max_num_tokens",
            knobs.tokens,
            "token budget of an iteration: bounds how long one prefill chunk delays the others' next token",
            TUNING,
        ),
        Setting("max_seq_len", context, "prompt and output together; sizes the KV pool's promise", ARGS),
    ]


def _scheduling(knobs: Knobs) -> list[Setting]:
    return [
        Setting(
            "enable_chunked_prefill",
            True,
            "long prompts are cut, so that they neither wait whole nor stall decoding; off by default",
            TUNING,
        ),
        Setting(
            "disable_overlap_scheduler", False, "the CPU prepares the next step while the GPU computes", ARGS
        ),
        Setting(
            "scheduler_config.capacity_scheduler_policy",
            knobs.policy,
            "in-flight batching; MAX_UTILIZATION pauses requests under KV pressure, which costs tail latency",
            TUNING,
        ),
        Setting(
            "stream_interval",
            knobs.interval,
            "iterations a streamed response; more saves host time at large batches",
            ARGS,
        ),
        Setting(
            "num_postprocess_workers",
            knobs.postprocess,
            "detokenizing in other processes pays with many streams",
            START,
        ),
    ]


def _by_release(knobs: Knobs, version: Version) -> list[Setting]:
    settings = []
    if version != "1.0" and knobs.wait_ms:
        settings.append(
            Setting(
                "batch_wait_timeout_ms", knobs.wait_ms, "waits for a fuller batch; never for latency", START
            )
        )
    if version == "1.3":
        settings.append(
            Setting(
                "scheduler_config.enable_prefix_aware_scheduling",
                True,
                "a duplicate first chunk waits for the blocks of the first one",
                ARGS,
            )
        )
    return settings


def cache(
    kv_dtype: str, host_cache: float, events: bool, memory: KvMemory, version: Version
) -> list[Setting]:
    p = "kv_cache_config."
    settings = [
        Setting(p + "enable_block_reuse", True, "prefix caching: shared prompts are computed once", KVCACHE),
        Setting(p + "enable_partial_reuse", True, "a block that matches in part is reused too", KVCACHE),
        Setting(p + "copy_on_partial_reuse", True, "by copying, so that both users keep theirs", KVCACHE),
        Setting(
            p + "free_gpu_memory_fraction",
            KV_SHARE,
            f"{memory.blocks} blocks of {BLOCK} tokens; up to 0.95 alone on a GPU, never 1.0",
            TUNING,
        ),
    ]
    if version != "1.0":
        settings.append(Setting(p + "tokens_per_block", BLOCK, "the granularity of sharing", KVCACHE))
    if kv_dtype != "auto":
        settings.append(
            Setting(p + "dtype", kv_dtype, "halves (fp8) or quarters (nvfp4) the bytes a token", ARGS)
        )
    if host_cache:
        settings += [
            Setting(
                p + "host_cache_size",
                int(host_cache * GIB),
                "blocks pushed off the GPU stay on the host; pinned memory, slow to allocate on x86",
                KVCACHE,
            ),
            Setting(
                p + "secondary_offload_min_priority",
                30,
                "one-shot decode blocks (priority 10 to 20) are dropped, not offloaded",
                KVCACHE,
            ),
        ]
    if events:
        settings.append(
            Setting(p + "event_buffer_max_size", 16384, "0, the default, means no KV events", ARGS)
        )
    return settings


def graphs(batch: int) -> list[Setting]:
    return [
        Setting(
            "cuda_graph_config.enable_padding",
            True,
            "batches between two graph sizes run on the next larger one; usually a net win",
            ARGS,
        ),
        Setting(
            "cuda_graph_config.max_batch_size", batch, "graphs for every decode batch there can be", ARGS
        ),
    ]


def observability(version: Version) -> list[Setting]:
    settings = [
        Setting(
            "enable_iter_perf_stats",
            True,
            "without it /metrics has no queue, and admission sees nothing",
            ARGS,
        )
    ]
    if version != "1.0":
        settings += [
            Setting("return_perf_metrics", True, "mounts /prometheus/metrics", ARGS),
            Setting(
                "perf_metrics_max_requests", 1000, "queue times below 0.3 s show only in /perf_metrics", ARGS
            ),
        ]
    return settings


def precision(gpu: Gpu) -> list[Setting]:
    if gpu.sm >= 80:
        return []
    return [Setting("dtype", "float16", f"{gpu.name} (SM{gpu.sm}) has no BF16", ARGS)]


def speculative(speculation: Speculation | None, kind: Kind) -> list[Setting]:
    if speculation is None:
        return []
    if kind == "throughput":
        raise ConfigurationError(
            "speculation",
            speculation.method,
            "a full GPU has no compute to spare for drafts: use it with latency or balanced",
        )
    reason = f"several tokens a step while at most {speculation.max_concurrency} requests run"
    return [Setting("speculative_config", speculation.config(), reason, ARGS)]
