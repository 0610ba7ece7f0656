"""Stand-in for the LLM-API model: cumulative text, echo unless excluded, metrics as text, polls for
cancels."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb
from script import log, parse

FINAL = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


def value(request, name, default):
    tensor = pb.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().reshape(-1)[0]


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            work = (
                request.get_response_sender(),
                request.request_id(),
                value(request, "text_input", b"").decode(),
                int(value(request, "sampling_param_max_tokens", 32)),
                bool(value(request, "streaming", False)),
                bool(value(request, "sampling_param_exclude_input_from_output", False)),
            )
            threading.Thread(target=self.work, args=work, daemon=True).start()

    def work(self, sender, id_, prompt, limit, stream, exclude):
        script = parse(prompt)
        tokens = script.tokens(limit)
        text = "" if exclude else prompt
        log("start", id_)
        for position, token in enumerate(tokens):
            while script.held(position) and not sender.is_cancelled():
                time.sleep(0.001)
            if sender.is_cancelled():
                log("cancelled", id_)
                error = pb.TritonError("Request cancelled by client", pb.TritonError.CANCELLED)
                sender.send(pb.InferenceResponse(error=error), flags=FINAL)
                return
            if script.fail_after == position:
                error = pb.TritonError("the engine failed", pb.TritonError.INTERNAL)
                sender.send(pb.InferenceResponse(error=error), flags=FINAL)
                return
            text += token
            last = position + 1 == len(tokens)
            if stream or last:
                # a character cut in two shows as U+FFFD until its rest is there
                shown = text if last or "cut" not in script.rest else text[:-1] + "\ufffd"
                self.send(
                    sender, shown, script.rest.get("finish", script.finish(limit)) if last else "", last
                )
        log("end", id_)

    def send(self, sender, text, finish, last):
        fields = {"text_output": text, "finish_reason": finish, "kv_cache_reused_block": "3"}
        fields |= {
            "stop_reason": "",
            "arrival_time_ns": "1000000000",
            "first_scheduled_time_ns": "1250000000",
        }
        tensors = [pb.Tensor(k, np.array([v.encode()], np.object_)) for k, v in fields.items()]
        sender.send(pb.InferenceResponse(tensors), flags=FINAL if last else 0)
