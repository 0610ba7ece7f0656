"""The settings: frozen, keyword-only, validated at construction; requests may tighten them, never loosen them."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from . import checks
from .durations import Duration, seconds
from .errors import ConfigurationError, LooseningError

MIB = 1024 * 1024
MOST_VARIANTS = 1000
_THRESHOLDS = frozenset({"threshold", "similarity_threshold", "score_threshold", "distance_threshold"})
"""What other semantic caches ask for."""
NO_THRESHOLD = (
    "no similarity alone is safe here: max_error_rate=0.01 says which share of similar answers may be wrong"
)


class _Settings:
    """Base class whose error for an unknown field suggests the nearest known one."""

    __slots__ = ()

    def __new__(cls, *unnamed: Any, **fields: Any) -> Any:
        for value in unnamed:
            first = dataclasses.fields(cls)[0].name  # type: ignore[arg-type]
            remedy = f"name each setting, as in {cls.__name__}({first}={value!r})"
            raise ConfigurationError(cls.__name__, value, remedy)
        check_names("field", fields, [f.name for f in dataclasses.fields(cls)])  # type: ignore[arg-type]
        return super().__new__(cls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Budgets(_Settings):
    """How long each stage may keep a caller waiting. An overrun is a miss and starts the backend.

    Durations become seconds; `backend=None` sets no limit to the call itself, whose overrun is a TimeoutError.
    """

    store: Duration = 0.005
    embed: Duration = 0.015
    search: Duration = 0.005
    verify: Duration = 0.005
    backend: Duration | None = None

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if value is not None:
                object.__setattr__(self, f.name, seconds(f"budgets.{f.name}", value, zero=False))
            elif f.name != "backend":
                raise ConfigurationError(
                    f"budgets.{f.name}", value, "give a duration above 0; only backend may be None"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalize(_Settings):
    """When two texts count as the same. The defaults preserve the meaning; the others may not.

    `nfc`: Unicode NFC (UAX #15). `trim`: drop white space at the ends. `case`: full case folding. `whitespace`: runs
    of white space become one space (spoils code). `punctuation`: dropped at the end of a text. `invisible`:
    zero-width and other format characters are dropped. `confusables`: Greek and Cyrillic letters that look
    Latin become Latin inside words that also hold Latin letters (after UTS #39).
    """

    nfc: bool = True
    trim: bool = True
    case: bool = False
    whitespace: bool = False
    punctuation: bool = False
    invisible: bool = False
    confusables: bool = False

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            checks.either(f"normalize.{f.name}", getattr(self, f.name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace(_Settings):
    """Where and how traffic is recorded, for `cachelayer replay` and `cachelayer calibrate`.

    Files hold what people asked: they are made with mode 0600 and never leave the machine by themselves.
    """

    path: str | Path
    """A directory; created with mode 0700 if it does not exist."""
    answers: Literal["text", "digest", "none"] = "digest"
    """What is kept of an answer. A digest tells equal answers from others; calibrating on prose needs the text."""
    redact: Callable[[str], str] | None = None
    """Every recorded text passes through it, in a thread; if it raises, the request is not recorded."""
    max_bytes: int = 16 * MIB
    """Size at which the next file is begun."""
    files: int = 8
    """How many files are kept; the oldest is removed first. Every process writes its own files."""

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path) or not str(self.path):
            raise ConfigurationError("record.path", self.path, "name a directory")
        if self.answers not in ("text", "digest", "none"):
            raise ConfigurationError("record.answers", self.answers, "give 'text', 'digest' or 'none'")
        if self.redact is not None and not callable(self.redact):
            raise ConfigurationError("record.redact", self.redact, "give a function from text to text")
        for name, least in (("max_bytes", 64 * 1024), ("files", 1)):
            checks.whole(f"record.{name}", getattr(self, name), least)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy(_Settings):
    """How answers are kept and served. Every field is also an argument of `CacheLayer.cached` and `wrap`.

    docs/reference.md explains every field. Raises ConfigurationError naming field, value and remedy.
    """

    ttl: Duration | Callable[[Any], Duration] = "24h"
    """How long an answer stays fresh, or a function of the answer that returns it; 0 keeps nothing."""
    ttl_jitter: float = 0.1
    """Up to this share of the TTL is subtracted at random, so that entries made together do not expire together."""
    stale_while_revalidate: Duration = 0
    """After the TTL: serve stale for this long while one refresh runs (RFC 5861)."""
    stale_if_error: Duration = 0
    """After the TTL: serve stale for this long if the backend fails (RFC 5861)."""
    refresh_ahead: bool = False
    """Refresh popular answers shortly before they expire, at random (XFetch)."""
    max_bytes: int = 256 * MIB
    """Size of the in-process tier, including all overhead; 0 turns it off, and with it the similar tier."""
    max_item_bytes: int = 1 * MIB
    """Size limit of one answer; a stream of some twenty thousand words fits."""
    semantic: bool | Literal["auto"] = "auto"
    """Whether to compare by meaning; "auto": if the extras for it are installed."""
    max_error_rate: float = 0.01
    """Largest share of wrong answers among similar hits; 0 turns similar hits off."""
    shadow: float | Literal["auto"] = "auto"
    """Share of similar hits checked by a call of the backend in the background; 0 leaves the tier unverified."""
    shadow_limit: int = 1000
    """Largest number of checks of one function per hour, whatever the share; 0: no limit."""
    fresh: Literal["auto", "bypass", "off"] | Callable[[str], bool] = "auto"
    """Questions about things that change by the hour ("now", "latest", prices, weather): 'auto' keeps their answers for
    at most `fresh_ttl`; 'bypass' also never compares them by meaning. A function of the text replaces the detection."""
    fresh_ttl: Duration = "10m"
    """Longest TTL of answers to such questions."""
    quarantine: int = 0
    """How many principals (see `CacheLayer.scope`) must have been given an answer before it is served by similarity to
    anyone but its author; below 2 it is served at once."""
    write_quota: int = 1000
    """How many findable answers a principal may add per hour to a scope that others also write to; 0: no limit."""
    budgets: Budgets = field(default_factory=Budgets)
    sampled: bool = True
    """Whether answers sampled at a temperature above 0, or at their provider's own, are cached."""
    variants: int = 1
    """How many different answers are kept for one request."""
    normalize: Normalize = field(default_factory=Normalize)
    cache_if: Callable[[Any], bool] | None = None
    """A function of the answer; an answer for which it returns False is not kept."""
    pure: bool = True
    """False: call the function only when a caller waits for it (no shadow checks, no background refreshes)."""
    keep_truncated: bool = False
    """Whether answers cut by a token limit (`finish_reason="length"`) are kept."""
    rider_wait: Duration = "30s"
    """How long a caller waits for another caller's identical call before making its own."""
    flight_age: Duration = "5m"
    """Callers no longer join a call in flight that is older than this."""
    record: Trace | str | Path | None = None
    """Record requests and who answered them: a `Trace`, or just a directory. Hits are slower while this is on."""

    def __post_init__(self) -> None:
        for name in ("stale_while_revalidate", "stale_if_error", "rider_wait", "flight_age", "fresh_ttl"):
            object.__setattr__(self, name, seconds(name, getattr(self, name)))
        if not callable(self.ttl):
            object.__setattr__(self, "ttl", seconds("ttl", self.ttl))
        checks.share("ttl_jitter", self.ttl_jitter)
        checks.share("max_error_rate", self.max_error_rate)
        if self.shadow != "auto":
            checks.share("shadow", self.shadow)
        if self.max_bytes != 0 or isinstance(self.max_bytes, bool):
            checks.whole("max_bytes", self.max_bytes, 64 * 1024, ", or 0 to turn the in-process tier off")
        for name in ("max_item_bytes", "variants", "quarantine", "write_quota", "shadow_limit"):
            checks.whole(name, getattr(self, name), 1 if name in ("max_item_bytes", "variants") else 0)
        if self.variants > MOST_VARIANTS:  # invalidating one request goes through all of them
            raise ConfigurationError("variants", self.variants, f"give {MOST_VARIANTS} at most")
        if not callable(self.fresh) and self.fresh not in ("auto", "bypass", "off"):
            remedy = "give 'auto', 'bypass', 'off', or a function of the question that returns bool"
            raise ConfigurationError("fresh", self.fresh, remedy)
        checks.semantic(self.semantic)
        if self.semantic is True and not self.max_bytes:
            raise ConfigurationError("max_bytes", 0, "similar answers are served from memory: give it room")
        for name, kind in (("budgets", Budgets), ("normalize", Normalize)):
            if not isinstance(getattr(self, name), kind):
                raise ConfigurationError(name, getattr(self, name), f"give a cachelayer.{kind.__name__}(...)")
        for name in ("refresh_ahead", "sampled", "pure", "keep_truncated"):
            checks.either(name, getattr(self, name))
        if isinstance(self.record, str | Path):
            object.__setattr__(self, "record", Trace(path=self.record))
        if self.record is not None and not isinstance(self.record, Trace):
            raise ConfigurationError(
                "record", self.record, "give a cachelayer.Trace(path=...) or a directory"
            )
        if self.cache_if is not None and not callable(self.cache_if):
            raise ConfigurationError(
                "cache_if", self.cache_if, "give a function of the answer that returns bool"
            )
        for name in ("ttl", "fresh", "cache_if"):
            if is_coroutine_function(getattr(self, name)):
                raise ConfigurationError(
                    name, getattr(self, name), "give a plain function: it is not awaited"
                )

    def override(self, **fields: Any) -> Policy:
        """A copy with other fields. Raises ConfigurationError for an unknown name, with the nearest one."""
        check_names("option", fields, [f.name for f in dataclasses.fields(self)])
        return dataclasses.replace(self, **fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tightening(_Settings):
    """What a request restricts beyond the policy."""

    no_cache: bool = False
    """Do not read."""
    no_store: bool = False
    """Do not write."""
    no_similar: bool = False
    max_error_rate: float | None = None
    max_age: float | None = None
    """Seconds; an older answer is a miss."""
    max_stale: float | None = None
    """Seconds; an answer that expired longer ago is a miss."""

    def and_(self, own: float | None = None, /, **fields: Any) -> Tightening:
        """The stricter of these and the given fields; itself if that is no other. Raises LooseningError if a given one
        is looser.

        `own`: the highest max_error_rate that any policy allows.
        """
        check_names("restriction", fields, [f.name for f in dataclasses.fields(self)])
        merged = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name, new in fields.items():
            if name == "max_error_rate":
                checks.share(name, new)
            elif name in ("max_age", "max_stale"):
                new = seconds(name, new, most=math.inf)
            else:
                checks.either(name, new)
            old = own if name == "max_error_rate" and merged[name] is None else merged[name]
            looser = (old is True and new is False) or (
                isinstance(old, float | int) and not isinstance(old, bool) and new > old
            )
            if looser:
                raise LooseningError(f"{name}={new!r} would loosen {name}={old!r}: requests may only tighten")
            merged[name] = new
        made = Tightening(**merged)
        return self if made == self else made


def check_names(what: str, given: dict[str, Any], known: list[str]) -> None:
    """Raise ConfigurationError for the first name not known, with the nearest known one."""
    for name, value in given.items():
        if name not in known:
            if name in _THRESHOLDS:
                raise ConfigurationError(name, value, NO_THRESHOLD)
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.65)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
            raise ConfigurationError(name, value, f"unknown {what}; {hint}")


def strings(name: str, given: object, *, empty: bool = True) -> tuple[str, ...]:
    """A list of strings as a tuple. Raises ConfigurationError for anything else, a single string included."""
    listed = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(one, str) and (one or empty) for one in listed):
        raise ConfigurationError(name, given, "give a list of strings")
    return listed


def is_coroutine_function(given: object) -> bool:
    """Whether calling it returns a coroutine, which would be truthy whatever it returns when awaited."""
    return inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(getattr(given, "__call__", None))  # noqa: B004


AS_IT_IS: Final = Normalize(nfc=False, trim=False)
"""For what depends on the very text: vectors, token ids."""
NOT_TIGHTENED = Tightening()
