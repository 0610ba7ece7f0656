"""A real tritonserver process on the CPU, over a model repository of stand-ins."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PATIENCE = 120.0
"""Seconds for a start, over all attempts."""
STALLED = "boost::interprocess::lock_exception", "is not healthy"
"""Triton's last words where one of its own model processes was not scheduled for a second while it started: it takes
it for dead, a bound that cannot be set. Whoever runs Triton starts it again, and so do we."""


class TritonServer:
    """`start` returns when every model is ready. The environment is `CACHELAYER_TRITON_ENV` or
    `.venv-triton`."""

    def __init__(self, work: Path, models: Path = HERE / "triton_models") -> None:
        self.env = Path(os.environ.get("CACHELAYER_TRITON_ENV", ROOT / ".venv-triton"))
        if not (self.env / "bin/python").exists():
            raise RuntimeError(f"no Triton in {self.env}: set the test environment up (see README)")
        self.log, self.output = work / "events.log", work / "triton.log"
        self.repository, self.backends = work / "models", work / "backends"
        shutil.copytree(models, self.repository, dirs_exist_ok=True)
        for model in self.repository.glob("*/1/model.py"):
            shutil.copy(HERE / "script.py", model.parent)
        self.http, self.grpc, self.metrics = _free_ports(3)
        self.process: subprocess.Popen[bytes] | None = None
        self._site = next((self.env / "lib").glob("python3*/site-packages"))
        self._make_backend()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.grpc}"

    def _make_backend(self) -> None:
        python, server = self.backends / "python", self._site / "pytriton/tritonserver"
        python.mkdir(parents=True, exist_ok=True)
        for file in (server / "backends/python").glob("*.*"):
            shutil.copy(file, python)
        version = self._site.parent.name.removeprefix("python")
        shutil.copy(server / "python_backend_stubs" / version / "triton_python_backend_stub", python)

    def start(self) -> None:
        python = self.env / "bin/python"
        code = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
        library = subprocess.check_output([python, "-c", code], text=True).strip()
        environment = os.environ | {
            "LD_LIBRARY_PATH": f"{library}:{self._site / 'nvidia_pytriton.libs'}",
            "PATH": f"{self.env / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self._site),
            "STANDIN_LOG": str(self.log),
        }
        command = [
            str(self._site / "pytriton/tritonserver/bin/tritonserver"),
            f"--model-repository={self.repository}",
            f"--backend-directory={self.backends}",
            "--allow-gpu-metrics=false",
            "--exit-timeout-secs=1",
            "--disable-auto-complete-config",  # the configurations are whole: half the processes at the start
            "--grpc-infer-allocation-pool-size=16",
        ]
        for kind, port in (("http", self.http), ("grpc", self.grpc), ("metrics", self.metrics)):
            command += [f"--{kind}-address=127.0.0.1", f"--{kind}-port={port}"]
        deadline = time.monotonic() + PATIENCE
        while True:
            with self.output.open("wb") as output:
                self.process = subprocess.Popen(
                    command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
            if self._ready_by(deadline):
                return
            told = self.output.read_text()
            if not any(words in told for words in STALLED) or time.monotonic() > deadline:
                raise RuntimeError(f"tritonserver is not ready:\n{told[-4000:]}")

    def _ready_by(self, deadline: float) -> bool:
        """False if it ended, or is not ready by then."""
        assert self.process is not None
        address = f"http://127.0.0.1:{self.http}/v2/health/ready"
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(address, timeout=1) as answer:
                    if (
                        answer.status == 200 and self.process.poll() is None
                    ):  # else another's, on the same port
                        return True
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        return False

    def kill(self) -> None:
        """As if the machine died: the server and its model processes at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def events(self) -> list[tuple[int, str, str]]:
        """(monotonic ns, event, request id) as the models logged them."""
        if not self.log.exists():
            return []
        rows = [line.split(" ") for line in self.log.read_text().splitlines()]
        return [(int(at), event, request) for at, event, request in rows]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports: list[int] = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
