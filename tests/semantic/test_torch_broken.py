"""What is wrong with torch or Triton is no fault of an index: FAISS and the host do the work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("faiss")

PROGRAM = """
from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex
from cachelayer.semantic.index.replayed import imported_kernels
FaissGpuIndex(16)
assert imported_kernels() is None
"""


@pytest.mark.parametrize(
    ("package", "text"),
    [("torch", "raise OSError('libcudart.so')"), ("torch", "import nothing_there"), ("triton", "old = True")],
)
def test_a_torch_or_triton_that_is_broken_or_old_is_as_none(tmp_path: Path, package: str, text: str) -> None:
    """In a process of its own, since what is imported stays."""
    for name in ("torch", "triton"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text if name == package else "")
    (tmp_path / "triton" / "language.py").write_text("")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
