"""TensorRT-LLM as a backend: trtllm-serve, Triton and the in-process LLM API behind one async callable."""

from .client import TensorRTLLM
from .errors import (
    BackendError,
    Cancelled,
    DeadlineExceeded,
    Interrupted,
    Overloaded,
    ProtocolFault,
    RequestRejected,
    Shed,
    Unavailable,
)
from .events import Capabilities, Delta, End, Event, Start, Transport, Usage

__all__ = [
    "BackendError",
    "Cancelled",
    "Capabilities",
    "DeadlineExceeded",
    "Delta",
    "End",
    "Event",
    "Interrupted",
    "Overloaded",
    "ProtocolFault",
    "RequestRejected",
    "Shed",
    "Start",
    "TensorRTLLM",
    "Transport",
    "Unavailable",
    "Usage",
]
