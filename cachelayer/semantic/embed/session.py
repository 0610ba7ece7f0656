"""A model and its tokenizer, opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from ...errors import MissingExtra, broken

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

TELEMETRY_OFF: Final = "ORT_DISABLE_TELEMETRY"
"""From version 1.29 on the runtime reports its use to its makers, by a thread that a forked child waits for in vain
when it ends. It reads this variable once, when it is imported."""


def open_session(model: str | bytes) -> InferenceSession:
    """One thread per run; runs on several threads share the session's weights.

    The runtime reports nothing to its makers, unless the environment has another ORT_DISABLE_TELEMETRY.
    """
    os.environ.setdefault(TELEMETRY_OFF, "1")
    try:
        import onnxruntime
    except ImportError as fault:
        raise MissingExtra(
            "the embedding model", "onnxruntime", "local", broken("onnxruntime", fault)
        ) from fault
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # lengths differ from text to text
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_tokenizer(content: bytes) -> Tokenizer:
    """Without truncation and padding: the caller has to know how long a text really is."""
    try:
        from tokenizers import Tokenizer
    except ImportError as fault:
        raise MissingExtra(
            "the embedding model", "tokenizers", "local", broken("tokenizers", fault)
        ) from fault
    tokenizer = Tokenizer.from_str(content.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
