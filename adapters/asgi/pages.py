"""CORS of an app that handles it itself (Fetch standard): which web pages may read a cached answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

Headers = tuple[tuple[bytes, bytes], ...]


class Pages:
    """The CORS headers that the app last sent to each origin, at most `capacity`; cached answers repeat them."""

    capacity = 1024

    def __init__(self) -> None:
        self._headers: OrderedDict[tuple[str, bytes], Headers] = OrderedDict()

    def known(self, path: str, origin: bytes) -> Headers | None:
        """The headers for this origin; None if the app was not asked yet."""
        return self._headers.get((path, origin))

    def heard(self, path: str, origin: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Note the headers of the app's answer."""
        lower = [(name.lower(), value) for name, value in headers]
        cors = [one for one in lower if one[0].startswith(b"access-control-")]
        varies = b",".join([value.lower() for name, value in lower if name == b"vary"])
        if b"origin" in [part.strip() for part in varies.split(b",")]:
            cors.append((b"vary", b"Origin"))
        self._headers[path, origin] = tuple(cors)
        self._headers.move_to_end((path, origin))
        if len(self._headers) > self.capacity:
            self._headers.popitem(last=False)
