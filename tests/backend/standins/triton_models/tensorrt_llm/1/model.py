"""Stand-in for the C++ engine: one thread a request, only new ids a response, FINAL on the last content."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb
from script import log, parse

FINAL = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def initialize(self, args):
        self.running = {}

    def execute(self, requests):
        for request in requests:
            sender, id_ = request.get_response_sender(), request.request_id()
            stop = pb.get_input_tensor_by_name(request, "stop")
            if stop is not None and bool(stop.as_numpy().reshape(-1)[0]):
                if id_ in self.running:
                    self.running[id_].set()
                sender.send(flags=FINAL)
                continue
            ids = pb.get_input_tensor_by_name(request, "input_ids").as_numpy().reshape(-1)
            limit = int(pb.get_input_tensor_by_name(request, "request_output_len").as_numpy().reshape(-1)[0])
            streaming = pb.get_input_tensor_by_name(request, "streaming")
            stream = streaming is not None and bool(streaming.as_numpy().reshape(-1)[0])
            self.running[id_] = threading.Event()
            work = (sender, id_, bytes(ids.astype(np.uint8)).decode(), limit, stream)
            threading.Thread(target=self.work, args=work, daemon=True).start()

    def work(self, sender, id_, prompt, limit, stream):
        script, stopped = parse(prompt), self.running[id_]
        tokens = script.tokens(limit)
        log("start", id_)
        sent = []
        for position, token in enumerate(tokens):
            while script.held(position) and not stopped.is_set():
                time.sleep(0.001)
            if stopped.is_set():
                log("stopped", id_)
                break
            if script.fail_after == position:
                error = pb.TritonError("the engine failed")
                sender.send(pb.InferenceResponse(error=error), flags=FINAL)
                break
            sent.append(token)
            last = position + 1 == len(tokens)
            if stream or last:
                self.send(
                    sender, token if stream else "".join(sent), len(sent), len(prompt), FINAL if last else 0
                )
        else:
            log("end", id_)
        if stopped.is_set():
            sender.send(flags=FINAL)
        self.running.pop(id_, None)

    def send(self, sender, text, count, prompt, flags):
        ids = np.frombuffer(text.encode(), np.uint8).astype(np.int32)
        outputs = [
            pb.Tensor("output_ids", ids.reshape(1, 1, -1)),
            pb.Tensor("sequence_length", np.array([[ids.size]], np.int32)),
            pb.Tensor("num_output_tokens", np.array([[count]], np.int32)),
            pb.Tensor("num_input_tokens", np.array([[prompt]], np.int32)),
            pb.Tensor("kv_cache_reused_blocks", np.array([[2]], np.int32)),
        ]
        sender.send(pb.InferenceResponse(outputs), flags=flags)
