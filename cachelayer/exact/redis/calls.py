"""Asking several nodes at once, and following a cluster's redirections."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...errors import StoreFault
from ...types import Reason
from .node import Node, Role
from .pipe import pack
from .topology import Topology, redirect
from .waiters import Act, Waiter

Answers = list[Any] | StoreFault
ASKING, MULTI, EXEC = pack(b"ASKING"), pack(b"MULTI"), pack(b"EXEC")
FORCE = (
    b"redis.call('unlink',KEYS[1]) redis.call('set',KEYS[1],ARGV[1],'px',ARGV[2]) "
    b"local n=0 for i=2,#KEYS do n=redis.call('unlink',KEYS[i]) end return n"
)
"""A full server lets a script write what is small once it has removed something, were it nothing."""
WRAPPED = re.compile("ERR Error running script .*?: -(?=[A-Z]+ )|EXECABORT .*?because of: (?=[A-Z]+ )")
"""What Redis puts before why it carries no transaction out, and before version 7 before what a script ran into."""
_READABLE = ("OOM ", "MISCONF ", "NOREPLICAS ")
"""Refusals of writes by a server that answers all the same: full, with a disk that failed, or too few replicas."""
HOPS = 5
STEP = 8
"""Requests that are made in one turn of the loop; a batch of 64 held it for a millisecond."""


@dataclass(frozen=True, slots=True)
class Request:
    """Commands on one name, or on names that share its slot, executed in order with none of ours between them.

    `act(node, reply)` sees the last reply before any later push of its connection does, unless it is an error other
    than that something else lies under the name.
    """

    name: bytes
    commands: Sequence[bytes]
    act: Callable[[Node, Any], None] | None = None
    atomic: bool = False
    """Wrapped in MULTI and EXEC; where a slot is on the move the commands run one by one instead."""


def plainly(name: bytes, value: bytes, lifetime: int) -> bytes:
    """Set `name` for `lifetime` milliseconds; a full server refuses it."""
    return pack(b"SET", name, value, b"PX", lifetime)


def forced(name: bytes, value: bytes, lifetime: int, *others: bytes) -> bytes:
    """Sets a value, on a full server too, and unlinks `others`; the reply is whether the last of these was there."""
    return pack(b"EVAL", FORCE, 1 + len(others), name, *others, value, lifetime)


def checked(reply: Any) -> Any:
    """`reply`, or StoreFault where it is an error."""
    if isinstance(reply, Exception):
        refusal = said(reply)
        why = Reason.OVERLOAD if refusal.startswith(_READABLE) else Reason.FAULT
        raise StoreFault(f"Redis answered {_without_data(refusal)}", why)
    return reply


def said(refusal: Exception) -> str:
    """The text of an error that Redis answered; of a script's or a transaction's, what that ran into."""
    return WRAPPED.sub("", str(refusal))


def _without_data(refusal: str) -> str:
    """What may be told of an error: its code, and of what the server will not do at all the command, never the data."""
    if refusal.startswith(("NOPERM ", "ERR unknown command ")):
        return refusal.partition(", with args")[0]
    if refusal.startswith(("MOVED ", "ASK ")):
        return "as one of a cluster: name it by redis+cluster:// or rediss+cluster://"
    return refusal.split(" ", 1)[0]


def answers(result: Answers) -> list[Any]:
    """The replies of one request; raises the StoreFault that came in their place, or the one they hold."""
    if isinstance(result, StoreFault):
        raise result
    return [checked(reply) for reply in result]


def refusals(results: Sequence[Answers]) -> list[StoreFault]:
    """Why requests were not carried out."""
    faults = []
    for result in results:
        try:
            answers(result)
        except StoreFault as fault:
            faults.append(fault)
    return faults


def full(result: Answers) -> bool:
    """Whether the server had no memory left for one request."""
    faults = () if isinstance(result, StoreFault) else result
    return any(isinstance(reply, Exception) and said(reply).startswith("OOM ") for reply in faults)


def other_type(reply: object) -> bool:
    """Whether what lies under the name is no string, so nothing of ours."""
    return isinstance(reply, Exception) and str(reply).startswith("WRONGTYPE ")


def moving(result: Answers) -> bool:
    """Whether a script found one of its keys on either side, because the slot is on the move."""
    return isinstance(result, list) and str(result[0]).startswith("TRYAGAIN")


def number(reply: Any) -> int:
    """`reply` as the number it must be. Raises StoreFault."""
    if not isinstance(reply, int):
        raise StoreFault(f"Redis answered {type(reply).__name__} where a number belongs")
    return reply


async def call(
    topology: Topology, role: Role, requests: Iterable[Request], *, wait: bool = True
) -> list[Answers]:
    """The replies to each request's commands, errors that Redis answered among them, or a StoreFault for a request
    whose connection is missing or broke. The requests do not wait for one another, and those of a STEP travel together;
    `wait` for a connection that is being made.
    """
    posted: list[tuple[Request, list[asyncio.Future[Any]]] | StoreFault] = []
    for request in requests:
        if posted and len(posted) % STEP == 0:
            await asyncio.sleep(0)
        try:
            posted.append(await _post(topology, role, request, wait))
        except StoreFault as fault:
            posted.append(fault)
    return [item if isinstance(item, StoreFault) else await _settle(topology, role, *item) for item in posted]


async def _post(
    topology: Topology, role: Role, request: Request, wait: bool
) -> tuple[Request, list[asyncio.Future[Any]]]:
    node = topology.route(request.name)
    link = node.link(role)
    pipe = await link.ready() if wait else link.need()
    await pipe.drained()
    commands = [MULTI, *request.commands, EXEC] if request.atomic else request.commands
    waiters, futures = _waiters(node, request, len(commands))
    pipe.post(commands, waiters)
    return request, futures


async def _settle(
    topology: Topology, role: Role, request: Request, futures: list[asyncio.Future[Any]]
) -> Answers:
    try:
        replies = [await future for future in futures]
        if topology.only is None and any(map(redirect, replies)):
            return [await _follow(topology, role, request, command) for command in request.commands]
    except StoreFault as fault:
        return fault
    if not request.atomic:
        return replies
    done, refusals = replies[-1], [reply for reply in replies if isinstance(reply, Exception)]
    return list(done) if isinstance(done, list) else [*refusals, done][:1] * len(request.commands)


async def _follow(topology: Topology, role: Role, request: Request, command: bytes) -> Any:
    """The reply to one command, from wherever its key is by now."""
    node, asking = topology.route(request.name), False
    for _ in range(HOPS):
        pipe = await node.link(role).ready()
        commands = [ASKING, command] if asking else [command]
        last = command is request.commands[-1]
        waiters, futures = _waiters(node, request if last else Request(request.name, ()), len(commands))
        pipe.post(commands, waiters)
        reply = [await future for future in futures][-1]
        elsewhere = redirect(reply)
        if elsewhere is None:
            return reply
        kind, slot, address = elsewhere
        asking = kind == "ASK"
        node = topology.ask(address, node) if asking else topology.moved(slot, address, node)
    raise StoreFault("the cluster sends us in circles")


def _waiters(node: Node, request: Request, count: int) -> tuple[list[Waiter], list[asyncio.Future[Any]]]:
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[Any]] = [loop.create_future() for _ in range(count)]
    waiters: list[Waiter] = list(futures)
    if request.act is not None:
        last = Act(loop, partial(_act, node, request.act))
        waiters[-1], futures[-1] = last, last.future
    return waiters, futures


def _act(node: Node, act: Callable[[Node, Any], None], reply: Any) -> None:
    if not isinstance(reply, Exception) or other_type(reply):
        act(node, reply)
