"""The errors a user can meet. Faults of the cache at run time are never raised: they are misses with a reason."""

from __future__ import annotations

from typing import Any

from .types import Reason


class CacheLayerError(Exception):
    """Base of every error that cachelayer raises itself; a backend's errors pass through unchanged."""


class ConfigurationError(CacheLayerError, ValueError):
    """A setting that cannot work, found at construction or decoration.

    The message names the field, the value and the remedy.
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        shown = repr(value)
        if len(shown) > 200:
            shown = f"{shown[:150]} ... {shown[-20:]}"
        super().__init__(f"{field}={shown}: {remedy}")
        self.field, self.value, self.remedy = field, value, remedy

    def __reduce__(self) -> tuple[Any, ...]:
        # a process pool hangs on an exception that does not unpickle
        return type(self), (self.field, self.value, self.remedy)


class MissingExtra(ConfigurationError, ImportError):
    """An optional package is needed and not installed; the message names the extra that brings it.

    It is an ImportError, too, whose `name` is the package, for code that tries an optional feature. If the package is
    installed and cannot be imported, `broken` says why.
    """

    def __init__(self, feature: str, package: str, extra: str, broken: str = "") -> None:
        found, remedy = "not installed", f"pip install 'cachelayer[{extra}]'"
        if broken:  # installing an extra would not help
            found, remedy = f"installed and cannot be imported ({broken})", "mend or reinstall it"
        CacheLayerError.__init__(self, f"{feature} needs the package {package!r}, which is {found}: {remedy}")
        self.field, self.value, self.remedy = feature, package, remedy
        self.name, self.extra, self.broken = package, extra, broken

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.value, self.extra, self.broken)


def broken(package: str, fault: ImportError, *beside: str) -> str:
    """Why an installed package cannot be imported; "" if it, or one of the packages `beside` it, is not installed."""
    missing = isinstance(fault, ModuleNotFoundError) and fault.name in (package, *beside)
    return "" if missing else str(fault)


class LooseningError(CacheLayerError, ValueError):
    """A request tried to loosen a policy; requests may only tighten."""


class StoreError(CacheLayerError):
    """A shared tier gave no usable answer; `reason` says why. Callers never see it; `CacheLayer.erase` raises it."""

    def __init__(self, message: str, reason: Reason = Reason.FAULT) -> None:
        super().__init__(message)
        self.reason = reason


class StoreFault(StoreError):
    """The store itself failed: unreachable, hung, full, read-only or incoherent. Circuit breakers count these."""


class Unusable(StoreError):
    """The store works, but its entry may not be served: expired, invalidated, corrupt, of another schema."""
