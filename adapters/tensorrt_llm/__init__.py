"""TensorRT-LLM as a backend: trtllm-serve, Triton and the in-process LLM API behind one async callable.

Requests:

client          `TensorRTLLM`: start here
request         what is asked
events          the event sequence of every transport
guard           the laws of that sequence
serve, sse      over HTTP
local           in this process
tensors, tensor_answer   Triton's tensors, for `adapters.triton`
wire            OpenAI-style JSON to events and back
errors          what can go wrong

Several replicas:

fleet           as one transport
router, blocks  which one; what its prefix cache holds
prefix          a burst with one new prefix computes it once
admission, brownout   how many requests it gets; the surge after a lost cache
attempt         one request at one replica
signals         what is measured

Engine settings:

__main__        prints them
profiles, settings   for latency or throughput; one by one
memory          what fits on a GPU
render          as files and commands
prompts         prompts whose beginnings stay equal
"""

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
