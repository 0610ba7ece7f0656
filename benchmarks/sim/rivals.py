"""Routing rules to compare with, as their projects describe them. Frozen before the project's own rule was
tuned.

Each sees what a router sees: the prompt, the requests it has in flight per replica, first tokens and ends.
SGLang and vLLM's production stack match raw text; a trace has block hashes instead, which stand for the text
of 512 tokens each, in the same order."""

from __future__ import annotations

import hashlib
import random
from typing import Protocol

from .engine import Job


class Rule(Protocol):
    """`choose` names a replica; `told` hears ('first' | 'end', replica, job)."""

    def choose(self, job: Job, now: float) -> int: ...

    def told(self, event: str, replica: int, job: Job) -> None: ...


class _Counting:
    """Requests in flight per replica, as a router counts them."""

    def __init__(self, replicas: int) -> None:
        self.inflight = [0] * replicas
        self.rng = random.Random(7)

    def choose(self, job: Job, now: float) -> int:
        chosen = self.pick(job, now)
        self.inflight[chosen] += 1
        return chosen

    def pick(self, job: Job, now: float) -> int:
        raise NotImplementedError

    def told(self, event: str, replica: int, job: Job) -> None:
        if event == "end":
            self.inflight[replica] -= 1

    def least(self) -> int:
        low = min(self.inflight)
        return self.rng.choice([i for i, n in enumerate(self.inflight) if n == low])


class RoundRobin(_Counting):
    turn = -1

    def pick(self, job: Job, now: float) -> int:
        self.turn = (self.turn + 1) % len(self.inflight)
        return self.turn


class LeastLoaded(_Counting):
    def pick(self, job: Job, now: float) -> int:
        return self.least()


class SessionHash(_Counting):
    """A consistent hash ring (160 points a replica, as ketama) over the session; its first block where none
    is known."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        points = (
            (_ring(f"{replica}-{point}"), replica) for replica in range(replicas) for point in range(160)
        )
        self.ring = sorted(points)

    def pick(self, job: Job, now: float) -> int:
        at = _ring(str(job.session))
        return next((replica for point, replica in self.ring if point >= at), self.ring[0][1])


class SglangCacheAware(_Counting):
    """Shortest queue when imbalanced; else the longest match above a threshold, else the smallest tree.

    sgl-project/sglang sgl-router, cache_aware, with the launcher's defaults: threshold 0.3, absolute 64,
    relative 1.5. The tree is bounded by evicting least recently used leaves; its default bound (2^26
    characters) is 32,768 blocks of 512 tokens."""

    def __init__(
        self, replicas: int, threshold: float = 0.3, absolute: int = 64, relative: float = 1.5
    ) -> None:
        super().__init__(replicas)
        self.threshold, self.absolute, self.relative = threshold, absolute, relative
        self.trees: list[dict[int, float]] = [{} for _ in range(replicas)]
        self.sizes = [0] * replicas
        self.bound = 2**26 // (512 * 4)

    def pick(self, job: Job, now: float) -> int:
        high, low = max(self.inflight), min(self.inflight)
        if high - low > self.absolute and high > self.relative * low:
            chosen = self.least()
        else:
            matched = [self._match(tree, job.blocks) for tree in self.trees]
            best = max(range(len(matched)), key=matched.__getitem__)
            total = max(1, -(-job.prompt // 512))
            if matched[best] / total > self.threshold:
                chosen = best
            else:
                chosen = min(range(len(self.trees)), key=self.sizes.__getitem__)
        tree = self.trees[chosen]
        self.sizes[chosen] += job.prompt - 512 * self._match(tree, job.blocks)
        for block in reversed(job.blocks):
            tree.pop(block, None)
            tree[block] = now
        while len(tree) > self.bound:
            del tree[next(iter(tree))]
            self.sizes[chosen] -= 512
        return chosen

    @staticmethod
    def _match(tree: dict[int, float], blocks: tuple[int, ...]) -> int:
        return next((i for i, block in enumerate(blocks) if block not in tree), len(blocks))


class VllmPrefixAware(_Counting):
    """vllm-project/production-stack `prefixaware`: the longest match in a trie that is never evicted, a
    random one of those that match, no load term."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        self.holders: dict[int, set[int]] = {}

    def pick(self, job: Job, now: float) -> int:
        able = set(range(len(self.inflight)))
        for block in job.blocks:
            narrower = able & self.holders.get(block, set())
            if not narrower:
                break
            able = narrower
        chosen = self.rng.choice(sorted(able))
        for block in job.blocks:
            self.holders.setdefault(block, set()).add(chosen)
        return chosen


class DynamoKv(_Counting):
    """ai-dynamo KV router without events: the smallest `prefill blocks + decode blocks`, overlap weight 1.0,
    a routed prefix assumed to stay for 120 s."""

    def __init__(self, replicas: int, ttl: float = 120.0) -> None:
        super().__init__(replicas)
        self.ttl = ttl
        self.seen: list[dict[int, float]] = [{} for _ in range(replicas)]
        self.prefill = [0.0] * replicas
        self.decode = [0.0] * replicas
        self.mine: dict[int, float] = {}

    def pick(self, job: Job, now: float) -> int:
        total = job.prompt / 512
        missing = []
        for seen in self.seen:
            hit = next(
                (i for i, b in enumerate(job.blocks) if seen.get(b, -1e9) < now - self.ttl), len(job.blocks)
            )
            missing.append(total - hit)
        costs = [missing[i] + self.prefill[i] + self.decode[i] for i in range(len(missing))]
        low = min(costs)
        chosen = self.rng.choice([i for i, cost in enumerate(costs) if cost == low])
        self.prefill[chosen] += missing[chosen]
        self.mine[id(job)] = missing[chosen]
        self.decode[chosen] += total
        for block in job.blocks:
            self.seen[chosen][block] = now
        return chosen

    def told(self, event: str, replica: int, job: Job) -> None:
        super().told(event, replica, job)
        if event == "first":
            self.prefill[replica] -= self.mine.pop(id(job))
        else:
            self.decode[replica] -= job.prompt / 512


def _ring(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8], "big")


RIVALS = {
    "round robin": RoundRobin,
    "least loaded": LeastLoaded,
    "session hash": SessionHash,
    "SGLang cache_aware": SglangCacheAware,
    "vLLM prefixaware": VllmPrefixAware,
    "Dynamo KV (no events)": DynamoKv,
}
