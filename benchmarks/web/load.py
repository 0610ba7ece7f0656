"""Load: a closed-loop client over one connection for latencies, wrk in a process of its own for rates, servers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
HEADERS = (
    b"host: 127.0.0.1\r\naccept: application/json\r\naccept-encoding: identity\r\nuser-agent: OpenAI/Python 3\r\n"
    b"authorization: Bearer sk-bench\r\ncontent-type: application/json\r\nx-stainless-lang: python\r\n"
    b"x-stainless-runtime: CPython\r\nx-stainless-os: Linux\r\nx-stainless-arch: x64\r\n"
)

_ASGI_HEADERS = [(name, value) for name, _, value in (line.partition(b": ") for line in HEADERS.splitlines())]


def asgi_post(path: str) -> dict[str, Any]:
    """The scope of a POST with these headers, for an app without a socket."""
    return {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": _ASGI_HEADERS}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Connection:
    """One keep-alive connection, requests one after the other."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, path: str, body: bytes) -> tuple[float, float, bytes]:
        """(seconds to the first byte of the body, to the last, the response)."""
        request = b"POST %b HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n" % (path.encode(), HEADERS, len(body))
        started = time.perf_counter()
        self.socket.sendall(request + body)
        got, first = b"", 0.0
        while True:
            part = self.socket.recv(65536)
            if not part:
                raise ConnectionError("closed")
            got += part
            head = got.find(b"\r\n\r\n")
            if head < 0:
                continue
            if not first and len(got) > head + 4:
                first = time.perf_counter() - started
            length = re.search(rb"content-length: (\d+)", got[:head])
            if (length and len(got) >= head + 4 + int(length[1])) or (
                not length and got.endswith(b"0\r\n\r\n")
            ):
                return first, time.perf_counter() - started, got

    def close(self) -> None:
        self.socket.close()


@contextmanager
def process(
    command: list[str], port: int, *, env: dict[str, str] | None = None, patience: float = 90
) -> Iterator[int]:
    """A server until the block ends; the port once it answers."""
    path = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    log = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115 - lives as long as the server
    running = subprocess.Popen(
        command, cwd=BENCHMARKS, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": path, **(env or {})}
    )
    try:
        give_up = time.monotonic() + patience
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if running.poll() is not None or time.monotonic() > give_up:
                    log.seek(0)
                    raise RuntimeError(f"{command[:4]} does not start:\n{log.read()[-2000:]}") from None
                time.sleep(0.05)
        yield running.pid
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        log.close()


def uvicorn(app: str, port: int, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "uvicorn",
        app,
        "--port",
        str(port),
        "--log-level",
        "error",
        "--no-access-log",
        "--timeout-keep-alive",
        "60",  # a connection waits while others have their turns
        *more,
    ]


def wrk_program() -> str | None:
    """wrk, where it is installed or named by the variable WRK."""
    return os.environ.get("WRK") or shutil.which("wrk")


def wrk(port: int, path: str, body: bytes, *, seconds: float = 3, connections: int = 16) -> float:
    """Answers of status 200 a second, closed loop."""
    script = f"wrk.body=[==[{body.decode()}]==]\n"
    told = _wrk(port, path, script, seconds, connections, "--timeout", "30s")
    if "Non-2xx" in told:
        raise RuntimeError(told)
    found = re.search(r"Requests/sec:\s+([\d.]+)", told)
    assert found is not None, told
    return float(found[1])


def wrk_misses(
    port: int, path: str, body: bytes, first: int, *, seconds: int = 2, connections: int = 1
) -> tuple[float, float]:
    """(p50, p99) in microseconds; every request is another one, numbered from `first`."""
    assert body.count(b"@") == 1
    before, after = (part.decode() for part in body.split(b"@"))
    ask = f"local n={first}\nfunction request() n=n+1\n"
    ask += f"return wrk.format(nil,nil,nil,[==[{before}]==]..n..[==[{after}]==]) end\n"
    report = (
        "function done(summary, latency, requests)\n"
        'io.write(string.format("p50=%d p99=%d errors=%d\\n", latency:percentile(50), latency:percentile(99), '
        "summary.errors.status + summary.errors.timeout)) end\n"
    )
    told = _wrk(port, path, ask + report, seconds, connections)
    found = re.search(r"p50=(\d+) p99=(\d+) errors=0", told)
    assert found is not None, told
    return float(found[1]), float(found[2])


def _wrk(port: int, path: str, script: str, seconds: float, connections: int, *more: str) -> str:
    """What wrk prints that POSTs with our headers by `script`."""
    program = wrk_program()
    assert program is not None
    headers = dict(line.split(": ", 1) for line in HEADERS.decode().strip().split("\r\n"))
    told = "".join(f'wrk.headers["{name}"]="{value}"\n' for name, value in headers.items() if name != "host")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(f'wrk.method="POST"\n{told}{script}')
        file.flush()
        where = ["-s", file.name, f"http://127.0.0.1:{port}{path}"]
        command = [program, "-t1", *more, f"-c{connections}", f"-d{seconds:g}s", *where]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used, its threads included."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def rss_of(pid: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
