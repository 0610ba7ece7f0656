"""What can go wrong between a miss and the model, as one small tree for every transport."""

from __future__ import annotations

from typing import Any

from cachelayer.errors import CacheLayerError


class BackendError(CacheLayerError):
    """Base of what the adapter raises for a request.

    `status` is the HTTP status a gateway would answer with. `retryable` says that another replica may well
    succeed and that nothing was streamed yet. `retry_after` is in seconds, None if nothing is known.
    """

    status = 500
    retryable = False

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        if status is not None:
            self.status = status


class RequestRejected(BackendError):
    """The request itself cannot be served: a field, a length, a schema, a missing tenant salt."""

    status = 400


class Overloaded(BackendError):
    """The server's or the adapter's queue is full."""

    status = 503
    retryable = True


class Shed(Overloaded):
    """The adapter itself declined the request before any replica saw it; `reason` says why."""

    retryable = False

    def __init__(self, reason: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, str(self)), vars(self)


class Unavailable(BackendError):
    """No connection, a server that is not ready, or a stream that broke before its first delta."""

    status = 503
    retryable = True


class Interrupted(BackendError):
    """The stream broke after its first delta: the caller holds a partial answer, which is never retried."""

    status = 502


class DeadlineExceeded(BackendError, TimeoutError):
    """The request's time was used up, here or in the engine."""

    status = 504


class Cancelled(BackendError):
    """The server ended the request as cancelled although the caller is still there. A fleet asks another replica."""

    status = 502


class ProtocolFault(BackendError):
    """The server sent what its protocol does not allow."""

    status = 502


def from_status(status: int, message: str, retry_after: float | None = None) -> BackendError:
    """The error for an HTTP status: 429 is overload, other 4xx are the caller's, 5xx the server's, and what is neither
    a 200 nor a refusal is no answer at all. 408 and 504 say that a proxy or the server waited for too long, which is
    not the request's own deadline."""
    if status < 400:
        return ProtocolFault(f"the server answered with status {status} where 200 was due")
    if status == 429:
        return Overloaded(message, status=status, retry_after=retry_after)
    if status == 408 or (status >= 500 and status != 501):
        return Unavailable(message, status=status, retry_after=retry_after)
    return RequestRejected(message, status=status)
