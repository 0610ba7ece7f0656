"""Every metric that cachelayer has: name, kind, labels and meaning. `docs/metrics.md` is this table."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]


class Family(NamedTuple):
    """One metric. Names follow Prometheus: base units, `_total` for what only grows."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str


_F = ("function",)
_COUNTERS = (
    ("requests_total", (*_F, "source", "match"), "Requests answered, by source and by match (exact, similar or none)"),
    ("misses_total", (*_F, "tier", "reason"), "Tiers that did not answer, by reason"),
    ("not_stored_total", (*_F, "reason"), "Answers that were not kept, by reason"),
    ("calls_total", _F, "Calls of the backend"),
    ("call_errors_total", _F, "Calls of the backend that failed: an exception, or over HTTP a status of 400 or more"),
    ("hedges_cancelled_total", _F, "Backend calls cancelled because a slow similar lookup answered first"),
    ("shadow_checks_total", _F, "Similar hits checked by a backend call in the background"),
    ("shadow_verdicts_total", (*_F, "verdict"), "What shadow checks and reports found: right or wrong"),
    ("model_checks_total", (*_F, "verdict"), "Answers also asked of a reference model: same or different"),
    ("saved_seconds_total", _F, "Backend seconds saved by hits"),
    ("saved_tokens_total", _F, "Tokens saved by hits"),
    ("saved_cost_total", ("model", "currency"), "Cost saved by hits, by the price table"),
    ("spent_cost_total", ("model", "currency"), "Cost of backend calls, by the price table"),
    ("tokens_total", ("model", "kind"), "Tokens of backend calls: prompt, cached (of the prompt) and completion"),
    ("unpriced_calls_total", ("model",), "Calls of the backend for models that the price table does not hold"),
    ("gpu_seconds_total", ("model", "kind"), "GPU seconds: spent by backend calls, saved by hits"),
    ("tenant_requests_total", ("tenant", "result"), "Requests by tenant (only if asked for; the rest is 'other')"),
    ("tenant_cost_total", ("tenant", "kind"), "Cost by tenant: spent and saved"),
    ("tag_cost_total", ("tag", "kind"), "Cost by tag: spent and saved"),
    ("entries_gone_total", ("why",), "Entries that left the memory: evicted, expired, replaced, removed, cleared"),
    ("write_back_done_total", (), "Answers that left the write-back queue; what a store refused is among the faults"),
    ("write_back_dropped_total", (), "Answers not written because the queue was full"),
    ("learning_dropped_total", (), "Answers not findable by meaning: too many waited for `judge=`, or the layer ended"),
    ("background_refused_total", (), "Refreshes and checks not started because too many were in progress"),
    ("embed_batches_total", (), "Calls of the embedding model"),
    ("embed_texts_total", (), "Texts embedded by them"),
    ("embed_shed_total", (), "Texts refused because too many were waiting"),
    ("breaker_opened_total", ("tier",), "Times a circuit breaker opened"),
    ("faults_total", ("stage", "fault"), "Faults inside the cache; none of them reached a caller"),
    ("recorded_total", ("state",), "Recorded requests: written, dropped, lost"),
)  # fmt: skip
_GAUGES = (
    ("info", ("version",), "1, with the version"),
    ("entries", (), "Entries in memory"),
    ("memory_bytes", (), "Bytes that entries in memory take, all overhead included"),
    ("memory_max_bytes", (), "Bytes that entries in memory may take"),
    ("flights", (), "Requests in flight beyond memory, each for one or more callers: the load behind the cache"),
    ("write_back_queue", (), "Answers waiting to be written"),
    ("learning_queue", (), "Answers waiting for `judge=`, to be findable by meaning"),
    ("embed_queue", (), "Texts or batches waiting for the embedding model"),
    ("background_tasks", (), "Refreshes and checks in progress"),
    ("similar_state", ("state",), "1 for the state of the similar tier: off, cold, warming, ready or failed"),
    ("similar_entries", (), "Entries that can be found by meaning"),
    ("breaker_state", ("tier", "state"), "1 for the state of a circuit breaker: closed, open or half_open"),
    ("budget_bound", (*_F, "bound"), "Share of wrong answers among similar hits that the owner allows"),
    ("budget_estimate", (*_F, "bound"), "Estimate of that share from checked hits; absent before the first check"),
    ("budget_low", (*_F, "bound"), "Lower end of its 95 % confidence sequence"),
    ("budget_high", (*_F, "bound"), "Upper end of its 95 % confidence sequence"),
    ("budget_hits", (*_F, "bound"), "Similar hits served under this bound"),
    ("budget_checks", (*_F, "bound"), "Of these, checked"),
    ("budget_repeats", (*_F, "bound"), "Hits on requests that were only typed differently; outside the budget"),
    ("budget_state", (*_F, "bound", "state"), "1 for the state: unverified, holding, certified or stopped"),
    ("budget_stopped_scopes", (*_F, "bound"), "Scopes in which similar answers are stopped"),
    ("model_difference", (*_F, "end"), "Share of answers unlike a reference's: estimate, low and high (95 % bounds)"),
    ("hit_rate", ("window",), "Share of hits: recent (a minute) and typical (the hour before)"),
    ("hit_rate_collapsed", (), "1 while the recent hit rate is significantly below the typical one"),
    ("loop_stall_worst_seconds", (), "Longest stall of the event loop within the last minute"),
)  # fmt: skip
_HISTOGRAMS = (
    ("request_seconds", (*_F, "result"), "From call to answer: exact, similar or miss; hits in memory are sampled"),
    ("stage_seconds", (*_F, "stage"), "One stage: memory (keying included), store, embed, search, verify, backend"),
    ("first_token_seconds", (*_F, "result"), "Streams: from call to first piece; hit, coalesced or miss"),
    ("token_gap_seconds", (*_F, "result"), "Streams: between two pieces"),
    ("stream_seconds", (*_F, "result"), "Streams: from call to the end"),
    ("loop_stall_seconds", (), "Delays of the event loop"),
)  # fmt: skip

_ROWS: tuple[tuple[Kind, tuple[tuple[str, tuple[str, ...], str], ...]], ...] = (
    ("counter", _COUNTERS),
    ("gauge", _GAUGES),
    ("histogram", _HISTOGRAMS),
)
FAMILIES: dict[str, Family] = {
    name: Family(f"cachelayer_{name}", kind, labels, text)
    for kind, rows in _ROWS
    for name, labels, text in rows
}
"""By name without the prefix."""
