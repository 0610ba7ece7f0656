"""`transformers serve` with a tiny random model on the CPU: a real server of real, if senseless, answers.

Needs torch and `transformers[serving]`; CACHELAYER_TRANSFORMERS_PYTHON names the interpreter that has them.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

NEEDED = "torch==2.13.0", "transformers[serving]==5.23.0"
HAS = "import importlib.util as u, sys; sys.exit(not (u.find_spec('torch') and u.find_spec('transformers')))"
RUN = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"


@contextmanager
def transformers_server(folder: Path, *options: str, ends: Sequence[int] = ()) -> Iterator[tuple[str, str]]:
    """(host:port, model) of a server that starts; it answers some seconds later.

    `ends`: tokens that end an answer; a model of random weights hardly ever says the one that should.
    """
    python = os.environ.get("CACHELAYER_TRANSFORMERS_PYTHON", sys.executable)
    if subprocess.run([python, "-c", HAS], check=False).returncode:
        pytest.skip(f"needs {' and '.join(NEEDED)} in {python}, or in CACHELAYER_TRANSFORMERS_PYTHON")
    model = folder / "tiny"
    subprocess.run([python, Path(__file__).parent / "tiny_llama.py", model], check=True)
    if ends:
        (model / "generation_config.json").write_text(
            json.dumps({"eos_token_id": list(ends), "do_sample": False})
        )
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    arguments = ["serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("wb") as log:
        command = [python, "-c", RUN, *arguments, "--default-seed", "1", *options]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield f"127.0.0.1:{port}", str(model)
    finally:
        process.terminate()
        process.wait()
