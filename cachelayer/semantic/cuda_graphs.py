"""CUDA graphs: what many calls launch on a GPU, captured once and replayed by one call of the driver."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

_SPARE = 2**26
"""Bytes that must be free: torch ends the process when a graph is freed whose capture met a full device."""


class GraphCapture:
    """Captures on a stream of its own, for one thread. Graphs that share `memory` must not run at once."""

    def __init__(self, torch: ModuleType, device: Any, memory: Any = None) -> None:
        self._torch, self._device, self._memory = torch, device, memory
        self._stream: Any = None

    def capture(self, launch: Callable[[], T]) -> tuple[Any, T] | None:
        """The graph and what `launch` returned in it; None where too little memory is free.

        RuntimeError, or what the kernels raise, where it could not be captured.
        """
        cuda = self._torch.cuda
        if cuda.mem_get_info(self._device)[0] < _SPARE:
            return None
        self._stream = self._stream or cuda.Stream(self._device)
        graph = cuda.CUDAGraph()
        # the stream is named since a capture that fails leaves its own as the current one
        current = cuda.stream(cuda.current_stream(self._device))
        with self._torch.inference_mode(), cuda.device(self._device), current:
            launch()  # what is not compiled or chosen yet is so now
            cuda.current_stream().synchronize()
            with cuda.stream(self._stream):
                # in any other mode, memory that another thread asks for meanwhile is refused
                graph.capture_begin(self._memory, capture_error_mode="thread_local")
                try:
                    made = launch()
                finally:
                    graph.capture_end()
        return graph, made
