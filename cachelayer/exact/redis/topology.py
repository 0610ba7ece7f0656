"""Which node owns which name: one server for all, or the slots of a cluster (Redis Cluster specification)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...errors import StoreFault
from .names import SLOTS, slot_of
from .node import Node
from .url import Address


@dataclass(frozen=True, slots=True)
class Owner:
    """A line of CLUSTER NODES that can be used: an address, whether it is a primary, its slots."""

    address: Address
    primary: bool
    slots: tuple[range, ...]


def hosts_in(reply: object, asked: Address) -> dict[str, str]:
    """By a node's id, the host by which clients are to reach it, as CLUSTER SLOTS says.

    It is the name in its certificate, say, or the only address that leads to it from outside.
    """
    rows = reply if isinstance(reply, list) else []  # it may be forbidden
    nodes = {node[2].decode(): node[0] for row in rows for node in row[2:]}
    hosts = {name: asked[0] if host is None else host.decode() for name, host in nodes.items()}
    return {name: host for name, host in hosts.items() if host not in ("", "?")}


def parse_nodes(text: str, asked: Address, hosts: Mapping[str, str]) -> list[Owner]:
    """What CLUSTER NODES says; `asked` is the address that answered, for a node that does not know its own."""
    owners = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8:
            continue
        flags = fields[2].split(",")
        host, _, port = fields[1].split("@")[0].rpartition(":")
        if "noaddr" in flags or "handshake" in flags or "fail" in flags or port == "0":
            continue
        slots = tuple(_range(word) for word in fields[8:] if not word.startswith("["))
        host = hosts.get(fields[0]) or host or asked[0]
        owners.append(Owner((host, int(port)), "master" in flags, slots))
    return owners


def redirect(reply: object) -> tuple[str, int, Address] | None:
    """("MOVED" or "ASK", slot, address) where Redis sends us elsewhere, else None."""
    if not isinstance(reply, Exception):
        return None
    words = str(reply).split(" ")
    if words[0] not in ("MOVED", "ASK") or len(words) != 3:
        return None
    host, _, port = words[2].rpartition(":")
    if not words[1].isdecimal() or not port.isdecimal():
        return None
    slot, number = int(words[1]), int(port)
    return (words[0], slot, (host, number)) if slot < SLOTS and number < 65536 else None


class Topology:
    """The nodes in use. `make(address)` constructs one; a node that owns nothing any more is closed.

    `silence`: seconds for which a node may say nothing.
    """

    def __init__(
        self,
        make: Callable[[Address | None], Node],
        address: Address | None,
        *,
        cluster: bool,
        silence: float,
    ) -> None:
        self._make, self.silence = make, silence
        self.nodes: dict[Address | None, Node] = {}
        self.only: Node | None = None
        self.replicas: list[Address] = []
        self.stale = cluster
        self.moves = 0  # changes of who owns what
        self._slots: list[Node | None] = [None] * SLOTS if cluster else []
        if not cluster:
            self.only = self.at(address)

    def __iter__(self) -> Iterator[Node]:
        return iter(tuple(self.nodes.values()))

    @property
    def coherent(self) -> bool:
        """Whether every invalidation made `silence` seconds ago is known here."""
        return bool(self.nodes) and all(node.coherent for node in self.nodes.values())

    @property
    def confirmed(self) -> float:
        """Loop time up to which no invalidation is unknown here."""
        return min((node.confirmed for node in self.nodes.values()), default=float("-inf"))

    def route(self, name: bytes) -> Node:
        """The node that owns `name`. Raises StoreFault if none is known."""
        if self.only is not None:
            return self.only
        node = self._slots[slot_of(name)]
        if node is None:
            self.stale = True
            raise StoreFault("no node of the cluster owns the slot")
        return node

    def at(self, address: Address | None) -> Node:
        """The node at `address`, made and opened where it is new."""
        node = self.nodes.get(address)
        if node is None:
            node = self.nodes[address] = self._make(address)
            node.open()
        return node

    def moved(self, slot: int, address: Address, asked: Node) -> Node:
        """Note that `address` owns `slot`, as node `asked` says."""
        self.stale = True
        self.moves += 1
        node = self._slots[slot] = self.at(_complete(address, asked))
        return node

    def ask(self, address: Address, asked: Node) -> Node:
        """The node that holds a key of a slot on the move."""
        return self.at(_complete(address, asked))

    def take(self, owners: list[Owner]) -> None:
        """Adopt what a node says about the whole cluster."""
        primaries = [owner for owner in owners if owner.primary]
        self.replicas = [owner.address for owner in owners if not owner.primary]
        slots: list[Node | None] = [None] * SLOTS
        for owner in primaries:
            if not owner.slots and owner.address not in self.nodes:
                continue  # new, or about to become a replica
            node = self.at(owner.address)
            for span in owner.slots:
                slots[span.start : span.stop] = [node] * len(span)
        self.moves += slots != self._slots
        self._slots = slots
        self.stale = None in slots
        for address in set(self.nodes) - {owner.address for owner in primaries}:
            self.nodes.pop(address).close()

    def close(self) -> None:
        for node in self:
            node.close()


def _complete(address: Address, asked: Node) -> Address:
    """An empty host means the host that was asked (Redis >= 7)."""
    return address if address[0] or asked.address is None else (asked.address[0], address[1])


def _range(word: str) -> range:
    first, _, last = word.partition("-")
    return range(int(first), int(last or first) + 1)
