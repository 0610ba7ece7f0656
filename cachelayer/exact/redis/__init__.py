"""The shared tier on Redis. `RedisStore` implements `protocols.Store`; needs the extra `redis`."""

from __future__ import annotations

from .doctor import Finding
from .erase import Erased
from .lease import RedisLease
from .news import Changed
from .store import RedisStore

__all__ = ["Changed", "Erased", "Finding", "RedisLease", "RedisStore"]
