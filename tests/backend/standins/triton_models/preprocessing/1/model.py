"""Stand-in tokenizer: a token id is a byte."""

import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            text = pb.get_input_tensor_by_name(request, "QUERY").as_numpy().reshape(-1)[0]
            ids = np.frombuffer(text, np.uint8).astype(np.int32).reshape(1, -1)
            length = np.array([[ids.shape[1]]], np.int32)
            limit = pb.get_input_tensor_by_name(request, "REQUEST_OUTPUT_LEN").as_numpy()
            answers.append(
                pb.InferenceResponse(
                    [
                        pb.Tensor("INPUT_ID", ids),
                        pb.Tensor("REQUEST_INPUT_LEN", length),
                        pb.Tensor("REQUEST_OUTPUT_LEN", limit),
                    ]
                )
            )
        return answers
