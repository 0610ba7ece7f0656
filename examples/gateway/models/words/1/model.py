"""Stands in for a model behind Triton: says the prompt back word by word, 40 ms each, and polls for cancels."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import triton_python_backend_utils as pb

FINAL = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    """The tensors of TensorRT-LLM's LLM-API model."""

    def execute(self, requests: Any) -> None:
        """One thread a request."""
        for request in requests:
            text = pb.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)[0].decode()
            threading.Thread(target=self.say, args=(request.get_response_sender(), text), daemon=True).start()

    def say(self, sender: Any, prompt: str) -> None:
        """Cumulative text, as the LLM API gives it."""
        words, said = prompt.split(), ""
        for position, word in enumerate(words):
            time.sleep(0.04)
            if sender.is_cancelled():
                error = pb.TritonError("Request cancelled by client", pb.TritonError.CANCELLED)
                sender.send(pb.InferenceResponse(error=error), flags=FINAL)
                return
            said += word if position == 0 else f" {word}"
            last = position + 1 == len(words)
            fields = {"text_output": said, "finish_reason": "stop" if last else "", "stop_reason": ""}
            fields |= {"kv_cache_reused_block": "0", "arrival_time_ns": "0", "first_scheduled_time_ns": "0"}
            tensors = [
                pb.Tensor(name, np.array([value.encode()], np.object_)) for name, value in fields.items()
            ]
            sender.send(pb.InferenceResponse(tensors), flags=FINAL if last else 0)
