"""What a request may ask of the cache: RFC 9111 request directives and the project's own, tightening only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cachelayer.errors import ConfigurationError

DIRECTIVES = (
    "no-cache", "no-store", "max-age", "min-fresh", "max-stale", "only-if-cached", "no-similar", "max-error-rate",
)  # fmt: skip
"""Every directive understood. `no-similar` and `max-error-rate` come in the header `CacheLayer`, the others in
`Cache-Control` (RFC 9111, section 5.2.1)."""
OWN = frozenset({"no-similar", "max-error-rate"})
_PART = re.compile(r'(?<![A-Za-z-])([A-Za-z-]++)\s*+(?:=\s*+(?:"([^"]*)"|([^\s,;"]*+)))?+\s*+(?:[,;]|$)')
"""Nothing is tried twice: a header of any length is read in time proportional to it."""
_FOREVER = 2.0**31
"""Seconds; RFC 9111, section 1.2.2, for numbers too large."""


class Asked(NamedTuple):
    """What one request asked. None or False if it said nothing."""

    no_cache: bool = False
    no_store: bool = False
    max_age: float | None = None
    min_fresh: float | None = None
    max_stale: float | None = None
    only_if_cached: bool = False
    no_similar: bool = False
    max_error_rate: float | None = None

    def tightening(self) -> dict[str, Any]:
        """The fields for `CacheLayer.tighten`."""
        stale = None if self.max_stale == _FOREVER else self.max_stale
        if self.min_fresh is not None or (self.max_age is not None and self.max_stale is None):
            stale = 0.0  # RFC 9111, sections 5.2.1.1 and 5.2.1.3
        given = {
            "no_cache": self.no_cache or None,
            "no_store": self.no_store or None,
            "max_age": self.max_age,
            "max_stale": stale,
            "no_similar": self.no_similar or None,
            "max_error_rate": self.max_error_rate,
        }
        return {name: value for name, value in given.items() if value is not None}


NOTHING = Asked()


def allowed(names: Iterable[str]) -> frozenset[str]:
    """The directives that headers may use. Raises ConfigurationError for one that is not understood."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise ConfigurationError("allow", names, "give a list of directives, such as ['no-cache']")
    chosen = frozenset(names)
    for name in sorted(chosen - set(DIRECTIVES)):
        raise ConfigurationError("allow", name, f"the directives are {', '.join(DIRECTIVES)}")
    return chosen


def asked(control: bytes, own: bytes, allow: frozenset[str]) -> Asked:
    """What the headers `Cache-Control` (or `Pragma`) and `CacheLayer` say; what is not allowed or makes no sense is
    passed over, but a lifetime that makes no sense counts as the strictest (RFC 9111, section 4.2.1)."""
    found: dict[str, Any] = {}
    for name, value in [*_parts(control, own=False), *_parts(own, own=True)]:
        if name not in allow:
            continue
        field = name.replace("-", "_")
        match name:
            case "max-age" | "min-fresh":
                given = _seconds(value)
                number = (0.0 if name == "max-age" else _FOREVER) if given is None else given
                stricter = min if name == "max-age" else max
                found[field] = stricter(found.get(field, number), number)
            case "max-stale":
                limit = _FOREVER if value is None else _seconds(value) or 0.0
                found[field] = min(found.get(field, limit), limit)
            case "max-error-rate":
                rate = _share(value)
                found[field] = min(found.get(field, rate), rate)
            case _:
                found[field] = True
    return Asked(**found) if found else NOTHING


def _parts(header: bytes, own: bool) -> Iterator[tuple[str, str | None]]:
    text = header.decode("latin-1")
    for found in _PART.finditer(text):
        name = found[1].lower()
        if (name in OWN) is own:
            yield name, found[2] if found[2] is not None else found[3]


def _seconds(value: str | None) -> float | None:
    if value is None or not value.isascii() or not value.isdigit():
        return None
    return min(float(value[:12]), _FOREVER)


def _share(value: str | None) -> float:
    try:
        number = float(value or "0")
    except ValueError:
        return 0.0
    return number if 0.0 <= number <= 1.0 else 0.0
