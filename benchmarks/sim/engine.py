"""A fleet of inference engines, simulated: continuous batching, chunked prefill, a block-level prefix cache.

One iteration takes `base + decoding * per_sequence + prefill tokens * per_token` seconds: every decoding
sequence gains a token, and up to `max_num_tokens` minus those are prefilled first come, first served. Full
blocks become shareable when they are filled; unpinned ones are evicted least recently used; a request is
admitted when its whole prompt and output fit beside what is pinned (GUARANTEED_NO_EVICT).

The default figures stand for Llama-3.3-70B on four H100: iteration and prefill time from NVIDIA's tuning
guide (inter-token 14.65 ms, first token 147.6 ms, taken as 2048 prompt tokens), KV bytes computed (2 * 80
layers * 8 heads * 128 * 2 = 327,680 a token; 4 * 79 GiB * 0.9 less 141 GB of weights)."""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Parameters:
    base: float = 0.014
    per_sequence: float = 1e-5
    per_token: float = 7.2e-5
    kv_tokens: int = 480_000
    block: int = 512
    max_batch: int = 512
    max_num_tokens: int = 8192

    def scaled(self, factor: float) -> Parameters:
        """A prefill `factor` times as dear and a KV pool `factor` times as large."""
        return replace(self, per_token=self.per_token * factor, kv_tokens=int(self.kv_tokens * factor))


@dataclass(slots=True, eq=False)
class Job:
    """A request of a trace; times in seconds."""

    arrival: float
    prompt: int
    output: int
    blocks: tuple[int, ...]
    """Hashes of the prompt's full blocks, chained by the trace."""
    session: int = 0
    first: float = -1.0
    end: float = -1.0
    cached: int = 0
    todo: int = field(default=0, repr=False)
    need: int = field(default=0, repr=False)


class BlockCache:
    """Pinned blocks with counts, and an LRU of the others."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.pinned: dict[int, int] = {}
        self.idle: OrderedDict[int, None] = OrderedDict()
        self.private = 0
        """Blocks of running requests that no other can share: partial prompts and outputs."""

    def matched(self, blocks: tuple[int, ...]) -> int:
        for count, block in enumerate(blocks):
            if block not in self.pinned and block not in self.idle:
                return count
        return len(blocks)

    def room(self) -> int:
        return self.capacity - len(self.pinned) - self.private

    def pin(self, block: int) -> None:
        self.idle.pop(block, None)
        self.pinned[block] = self.pinned.get(block, 0) + 1

    def release(self, job: Job) -> None:
        for block in reversed(job.blocks):
            count = self.pinned.get(block, 0) - 1
            if count > 0:
                self.pinned[block] = count
            elif count == 0:
                del self.pinned[block]
                self.idle[block] = None
        self.private -= job.need
        self.shrink()

    def shrink(self) -> None:
        while self.idle and len(self.idle) + len(self.pinned) + self.private > self.capacity:
            self.idle.popitem(last=False)


class Engine:
    """One replica. `advance` runs it up to a time; `told` hears of first tokens and ends."""

    def __init__(self, parameters: Parameters, told: Callable[[str, Job], None]) -> None:
        self.p, self.told = parameters, told
        self.cache = BlockCache(parameters.kv_tokens // parameters.block)
        self.clock = 0.0
        self.iterations = 0
        self.queue: deque[Job] = deque()
        self.prefill: deque[Job] = deque()
        self.decoding: list[tuple[int, int, Job]] = []
        self.order = itertools.count()

    def submit(self, job: Job) -> None:
        if not self.busy:
            self.clock = max(self.clock, job.arrival)
        self.queue.append(job)

    @property
    def busy(self) -> bool:
        return bool(self.queue or self.prefill or self.decoding)

    def advance(self, until: float) -> None:
        while self.clock < until and self.busy:
            self._admit()
            if self.prefill:
                self._mixed()
            elif self.decoding:
                self._decode(until)
            else:
                raise RuntimeError("a request is larger than the KV pool")

    def _admit(self) -> None:
        while self.queue and len(self.prefill) + len(self.decoding) < self.p.max_batch:
            job = self.queue[0]
            hit = self.cache.matched(job.blocks)
            total = -(-(job.prompt + job.output) // self.p.block)
            fresh = sum(1 for block in job.blocks if block not in self.cache.pinned)
            if fresh + total - len(job.blocks) > self.cache.room():
                return
            self.queue.popleft()
            for block in job.blocks[:hit]:
                self.cache.pin(block)
            job.cached = hit * self.p.block
            job.todo = max(1, job.prompt - job.cached)
            # blocks to be filled count as private until then
            job.need = total - hit
            self.cache.private += job.need
            self.cache.shrink()
            self.prefill.append(job)

    def _mixed(self) -> None:
        budget = self.p.max_num_tokens - len(self.decoding)
        used, done = 0, []
        while self.prefill and used < budget:
            job = self.prefill[0]
            chunk = min(job.todo, budget - used)
            job.todo -= chunk
            used += chunk
            if job.todo:
                break
            done.append(self.prefill.popleft())
        self._tick(1, used)
        for job in done:
            hit = job.cached // self.p.block
            for block in job.blocks[hit:]:
                self.cache.pin(block)
            job.need -= len(job.blocks) - hit
            self.cache.private -= len(job.blocks) - hit
            job.first = self.clock
            self.told("first", job)
            heapq.heappush(self.decoding, (self.iterations + job.output - 1, next(self.order), job))
        self._finish()

    def _decode(self, until: float) -> None:
        step = self.p.base + len(self.decoding) * self.p.per_sequence
        steps = max(1, self.decoding[0][0] - self.iterations)
        if not self.queue and until < float("inf"):
            steps = min(steps, max(1, -int(-(until - self.clock) // step)))
        self._tick(steps, 0)
        self._finish()

    def _tick(self, steps: int, tokens: int) -> None:
        self.clock += (
            steps * (self.p.base + len(self.decoding) * self.p.per_sequence) + tokens * self.p.per_token
        )
        self.iterations += steps

    def _finish(self) -> None:
        while self.decoding and self.decoding[0][0] <= self.iterations:
            job = heapq.heappop(self.decoding)[2]
            job.end = self.clock
            self.cache.release(job)
            self.told("end", job)
