"""Stand-in for BLS with accumulate_tokens: busy while it answers, ends with an empty FINAL, no counts."""

import time

import numpy as np
import triton_python_backend_utils as pb
from script import log, parse

FINAL = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            prompt = pb.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)[0].decode()
            limit = int(pb.get_input_tensor_by_name(request, "max_tokens").as_numpy().reshape(-1)[0])
            script, text = parse(prompt), ""
            log("start", request.request_id())
            for position, token in enumerate(script.tokens(limit)):
                while script.held(position) and not sender.is_cancelled():
                    time.sleep(0.001)
                text += token
                output = pb.Tensor("text_output", np.array([[text.encode()]], np.object_))
                sender.send(pb.InferenceResponse([output]))
            sender.send(flags=FINAL)
