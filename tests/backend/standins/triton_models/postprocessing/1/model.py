"""Stand-in detokenizer: bytes to text, step by step."""

import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            ids = pb.get_input_tensor_by_name(request, "TOKENS_BATCH").as_numpy().reshape(-1)
            text = bytes(ids.astype(np.uint8))
            answers.append(pb.InferenceResponse([pb.Tensor("OUTPUT", np.array([[text]], np.object_))]))
        return answers
