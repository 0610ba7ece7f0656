"""A model and its tokenizer, opened; and texts as the token ids of the model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from ...errors import MissingExtra, broken
from ..text.marks import faceless
from .checks import CHARS_PER_TOKEN, readable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

TELEMETRY_OFF: Final = "ORT_DISABLE_TELEMETRY"
"""From version 1.29 on the runtime reports its use to its makers, by a thread that a forked child waits for in vain
when it ends. It reads this variable once, when it is imported."""


def open_session(model: str | bytes) -> InferenceSession:
    """An ONNX session that runs on its caller's thread; runs on several threads share its weights.

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


class Tokenized:
    """Reads texts for a model that sees `window` tokens, special ones included; from any thread."""

    def __init__(self, tokenizer: Tokenizer, window: int) -> None:
        self._tokenizer, self._window = tokenizer, window
        self._unknown = tokenizer.token_to_id("[UNK]")
        self._end = tokenizer.encode("").ids[-1]

    def __call__(self, text: str) -> tuple[list[int], bool]:
        """Token ids, at most a window of them, and whether they cover the whole text.

        A word the vocabulary cannot spell ([UNK]) is not covered: the vector would be the same for any other. A smile
        after a sentence is left out.
        """
        longest = self._window * CHARS_PER_TOKEN
        part = readable(text[:longest])
        ids: list[int] = self._tokenizer.encode(part).ids
        if self._unknown in ids:
            ids = self._tokenizer.encode(faceless(part)).ids
        complete = len(ids) <= self._window and len(text) <= longest and self._unknown not in ids
        if len(ids) > self._window:
            ids = [*ids[: self._window - 1], self._end]
        return ids, complete

    def lacks_words(self, text: str) -> bool:
        """Whether the text fits the window, but holds a word that the model cannot spell."""
        ids, _ = self(text)
        return self._unknown in ids and len(ids) < self._window
