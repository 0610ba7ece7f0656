"""What is right and wrong with a Redis, for `cachelayer doctor`: findings with remedies."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from typing import Any, Literal

from .lane import Lane
from .names import Names
from .node import Node, incarnation_in, parse_info
from .pipe import pack
from .rights import granting, refused

Level = Literal["ok", "advice", "problem"]
PINGS = 50
SKEW = 1.0
"""Seconds between clocks from which expiry differs visibly."""
SLOW = 0.002
"""Seconds of median round trip above which the default budget of 5 ms is at risk."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    level: Level
    subject: str
    found: str
    remedy: str = ""


async def examine(lane: Lane, names: Names, *, trust_reloaded: bool) -> list[Finding]:
    """Look at every node. Raises StoreFault if one cannot be reached."""
    findings: list[Finding] = []
    for node in lane.topology:
        where = "" if len(lane.topology.nodes) == 1 else f"{_at(node)}: "
        pipe = await node.writer.ready()
        info, persist = await pipe.ask([pack(b"INFO"), pack(b"CONFIG", b"GET", b"appendfsync")])
        if isinstance(info, Exception):
            findings.append(
                Finding("advice", where + "INFO", str(info), "allow INFO, or restarts go unnoticed")
            )
        else:
            facts = parse_info(info)
            if incarnation_in(facts) is None:
                remedy = "restarts of the server go unnoticed: keep its persistence off"
                findings.append(Finding("advice", where + "INFO", "no run_id and uptime", remedy))
            found = [_version(facts), _role(facts), _memory(facts), _policy(facts)]
            found.append(_persistence(facts, persist, trust_reloaded))
            found += _clock(facts, time.time())
            findings += [Finding(f.level, where + f.subject, f.found, f.remedy) for f in found]
        findings.append(_rights(await refused(pipe, names), names, where))
        findings.append(await _latency(node, where, lane.topology.silence))
    if lane.cluster:
        findings.append(await _cluster(lane))
    return findings


def _at(node: Node) -> str:
    return "unix socket" if node.address is None else f"{node.address[0]}:{node.address[1]}"


def _version(facts: dict[str, str]) -> Finding:
    version = facts.get("redis_version", "unknown")
    if version.split(".")[0].isdecimal() and int(version.split(".")[0]) < 6:
        return Finding("problem", "version", version, "client-side tracking needs Redis 6 or later")
    name = facts.get("server_name", "redis")  # Valkey tells its own beside the last of Redis that it is like
    own = facts.get(f"{name}_version", version)
    return Finding("ok", "version", version if own == version else f"{name} {own}, like redis {version}")


def _role(facts: dict[str, str]) -> Finding:
    role = facts.get("role", "unknown")
    if role == "slave":
        found = f"replica, its link to the primary is {facts.get('master_link_status', 'unknown')}"
        return Finding("problem", "role", found, "name the primary: a replica takes no writes")
    return Finding("ok", "role", f"primary with {facts.get('connected_slaves', '0')} replicas")


def _memory(facts: dict[str, str]) -> Finding:
    limit, used = int(facts.get("maxmemory", "0")), int(facts.get("used_memory", "0"))
    if not limit:
        return Finding(
            "problem", "maxmemory", f"none, {used >> 20} MiB used",
            "set maxmemory below the machine's memory: CONFIG SET maxmemory 2gb",
        )  # fmt: skip
    evicted = facts.get("evicted_keys", "0")
    return Finding("ok", "maxmemory", f"{used >> 20} of {limit >> 20} MiB used, {evicted} evicted")


def _clock(facts: dict[str, str], now: float) -> list[Finding]:
    """This machine's clock beside the server's, which tells it from Redis 7 on."""
    theirs = facts.get("server_time_usec")
    if theirs is None:
        return []
    off = now - int(theirs) / 1e6
    if abs(off) > SKEW:
        remedy = "synchronize both by NTP: entries expire by the clock of the process that wrote them"
        return [Finding("problem", "clock", f"{off:+.1f} s off the server's", remedy)]
    return [Finding("ok", "clock", f"within {SKEW:g} s of the server's")]


def _policy(facts: dict[str, str]) -> Finding:
    policy = facts.get("maxmemory_policy", "unknown")
    if policy == "noeviction" and int(facts.get("maxmemory", "0")):
        return Finding(
            "problem", "maxmemory-policy", policy,
            "a full server refuses new entries: CONFIG SET maxmemory-policy allkeys-lfu",
        )  # fmt: skip
    if policy.endswith("random"):
        return Finding(
            "advice", "maxmemory-policy", policy,
            "it evicts epochs in use and with them all their entries: use allkeys-lfu",
        )  # fmt: skip
    if policy == "volatile-ttl":
        return Finding(
            "problem", "maxmemory-policy", policy,
            "it evicts first what remembers deletions, so a deleted answer may come back: use allkeys-lfu",
        )  # fmt: skip
    return Finding("ok", "maxmemory-policy", policy)


def _persistence(facts: dict[str, str], fsync: Any, trust_reloaded: bool) -> Finding:
    log = facts.get("aof_enabled") == "1"
    always = log and isinstance(fsync, dict) and b"always" in fsync.values()
    what = f"append-only file{', fsync always' if always else ''}" if log else "snapshots or none"
    if facts.get("rdb_last_bgsave_status", "ok") != "ok":
        return Finding(
            "problem", "persistence", "the last snapshot failed", "look at the disk: writes may be refused"
        )
    if trust_reloaded and not always:
        return Finding(
            "advice", "persistence", what,
            "trust_reloaded may serve what an invalidation lost in a crash forbade: set appendfsync always",
        )  # fmt: skip
    if log and not trust_reloaded:
        return Finding(
            "advice", "persistence", what,
            "what a restarted server reads back is not served: spare the disk, or set trust_reloaded",
        )  # fmt: skip
    return Finding("ok", "persistence", what)


def _rights(missing: list[str], names: Names, where: str) -> Finding:
    if not missing:
        return Finding("ok", where + "rights", "all that is needed")
    remedy = granting(names.prefix.decode())
    return Finding("problem", where + "rights", f"the user may not {', '.join(missing)}", remedy)


async def _latency(node: Node, where: str, silence: float) -> Finding:
    pipe, loop, times = await node.reader.ready(), asyncio.get_running_loop(), []
    for _ in range(PINGS):
        start = loop.time()
        await pipe.ask([pack(b"PING")])
        times.append(loop.time() - start)
    middle, worst = statistics.median(times), max(times)
    found = f"median {middle * 1e6:.0f} us, worst of {PINGS} {worst * 1e6:.0f} us"
    if middle > SLOW:
        remedy = "move Redis nearer, or raise Budgets(store=...)"
        if middle > silence / 2:  # it is taken for silent when a reply is a little late
            remedy += f" and add ?lag={4000 * middle:.0f}ms to the URL, or memory is emptied again and again"
        return Finding("problem", where + "latency", found, remedy)
    return Finding("ok", where + "latency", found)


async def _cluster(lane: Lane) -> Finding:
    node = next(iter(lane.topology))
    facts = parse_info((await (await node.writer.ready()).ask([pack(b"CLUSTER", b"INFO")]))[0])
    state, slots = facts.get("cluster_state", "unknown"), facts.get("cluster_slots_ok", "0")
    found = f"{state}, {slots} of 16384 slots served by {len(lane.topology.nodes)} primaries"
    if state != "ok" or slots != "16384":
        return Finding("problem", "cluster", found, "redis-cli --cluster check, then fix")
    if not lane.topology.replicas:
        return Finding(
            "advice", "cluster", f"{found}, no replicas", "add replicas: a dead primary loses its slots"
        )
    return Finding("ok", "cluster", found)
