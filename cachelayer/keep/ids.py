"""Ids of outcomes, by which any process can report an answer.

`e...` is an entry's: its number, its key, and of its tenant a digest, so that it can be found in the store once it left
memory. `k...` is the key of an answer that only the store holds. Behind a point stands the request to which an entry
was served, if that is another one. `o...` names nothing that was kept.
"""

from __future__ import annotations

import re
from typing import Final

import xxhash

_ENTRY: Final = re.compile(r"e([0-9a-f]{1,16})k([0-9a-f]{32})([0-9a-f]{8})?(?:\.([0-9a-f]{16}))?")
_KEY: Final = re.compile("k([0-9a-f]{32})")


def entry_id(number: int, digest: int, tenant: str | None) -> str:
    """The id of an entry that lies under a digest."""
    return f"e{number:x}k{digest:032x}{'' if tenant is None else _marked(tenant)}"


def number_of(name: str) -> int | None:
    """The number of the entry that an id names; None if it is no entry's."""
    named = _ENTRY.fullmatch(name)
    return int(named[1], 16) if named else None


def key_of(name: str) -> int | None:
    """The digest under which what an id names is kept, if it is."""
    entry, key = _ENTRY.fullmatch(name), _KEY.fullmatch(name)
    return int(entry[2], 16) if entry else int(key[1], 16) if key else None


def of_another(name: str, tenant: str | None) -> bool:
    """Whether an entry's id names another tenant's; None is the owner, who may name all."""
    named = _ENTRY.fullmatch(name)
    return named is not None and tenant is not None and named[3] != _marked(tenant)


def asked_of(name: str) -> bytes | None:
    """The digest of the request to which another request's answer was served; else None."""
    named = _ENTRY.fullmatch(name)
    return bytes.fromhex(named[4]) if named and named[4] else None


def _marked(tenant: str) -> str:
    return xxhash.xxh32_hexdigest(tenant.encode("utf-8", "surrogatepass"))
