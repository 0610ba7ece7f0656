"""The shared tier on Redis. `RedisStore` implements `protocols.Store`; needs the extra `redis`.

store           start here: the interface that the tiers use
lane            what one event loop owns: connections, epochs, leases
url             where the store lives
names           what things are called in Redis

Reading and writing:

wire            a record as bytes
writing         puts entries without overwriting newer ones
recall          recognizes entries that were read before
epochs          tokens by which tags and scopes are invalidated
coherence       what this process knows of them
replication     what was declared invalid and no replica may have
news            passes on what other processes invalidated
erase           physical removal
feed, reports   what became findable by meaning; which requests are kept apart
lease           one process computes, the others wait
seal            signatures and encryption

Connections:

topology, node  which server owns a name; one server
link, pipe      a connection that is kept open; requests of one tick leave together
waiters         what waits for a reply
calls           asks several nodes, follows redirections
doctor, rights  what is wrong with a Redis; what its user may not do
"""

from __future__ import annotations

from .doctor import Finding
from .lease import RedisLease
from .news import Changed
from .store import RedisStore

__all__ = ["Changed", "Finding", "RedisLease", "RedisStore"]
