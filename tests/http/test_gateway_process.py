"""The gateway's process: what it says of itself is so, and what it has begun it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from upstream import Server, Upstream

COMMAND = [sys.executable, "-m", "cachelayer", "serve", "--semantic", "off", "--public"]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_begun_is_ended_and_nothing_new_is_taken(
    serving: Callable[..., Server], upstream: Upstream, workers: int, told: signal.Signals
) -> None:
    options = ["--upstream", serving(upstream).url, "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, text=True, preexec_fn=_hears_hangups
    ) as process:
        assert process.stdout is not None
        (url,) = {json.loads(process.stdout.readline())["base_url"] for _ in range(workers)}
        script = json.dumps({"say": "a b c", "hold": "held", "hold_after": 2})
        asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": script}]}
        with httpx.stream("POST", f"{url}/chat/completions", json=asked, timeout=30) as answer:
            pieces = answer.iter_raw()
            said = next(pieces)
            process.send_signal(told)
            if told is signal.SIGTERM or workers == 1:
                _until_refused(url)
            upstream.gates["held"].set()
            said += b"".join(pieces)
        assert said.endswith(b"data: [DONE]\n\n")
        process.terminate()
        assert process.wait(30) == 0


TOLD_AGAIN = """
import atexit, os, signal, sys
from cachelayer.cli import main
atexit.register(os.kill, os.getpid(), signal.{})
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("told", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_tells_a_process_again_that_has_ended_all_does_not_kill_it(
    upstream: Upstream, serving: Callable[..., Server], workers: str, told: str
) -> None:
    options = ["--upstream", serving(upstream).url, "--port", "0", "--workers", workers]
    command = [COMMAND[0], "-c", TOLD_AGAIN.format(told), *COMMAND[3:], *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=_hears_hangups) as process:
        assert process.stdout is not None
        for _ in range(int(workers)):
            process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_that_outlasts_the_drain_is_cut_without_a_traceback(
    serving: Callable[..., Server], upstream: Upstream, workers: int
) -> None:
    options = ["--upstream", serving(upstream).url, "--port", "0", "--workers", str(workers)]
    environment = {**os.environ, "CACHELAYER_SERVER__DRAIN": "10ms"}
    with subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        (url,) = {json.loads(process.stdout.readline())["base_url"] for _ in range(workers)}
        said = [{"role": "user", "content": json.dumps({"say": "a b", "hold": "never", "hold_after": 1})}]
        asked = {"model": "m", "stream": True, "messages": said}
        with httpx.stream("POST", f"{url}/chat/completions", json=asked, timeout=30) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            process.terminate()
            with pytest.raises(httpx.RemoteProtocolError):  # never taken for an end
                list(pieces)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and '"cut":true' in out and "Traceback" not in err


def test_an_idle_connection_is_closed_once_it_was_so_for_as_long_as_is_told() -> None:
    environment = {**os.environ, "CACHELAYER_SERVER__KEEP_ALIVE": "10ms"}
    options = ["--upstream", "http://127.0.0.1:9", "--port", "0"]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        port = httpx.URL(json.loads(process.stdout.readline())["base_url"]).port
        with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
            one.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            said = b"".join(iter(lambda: one.recv(65536), b""))
        process.terminate()
    assert said.endswith(b'{"status":"alive"}')


def test_workers_whose_supervisor_was_killed_end_what_they_have_begun_and_free_the_port(
    serving: Callable[..., Server], upstream: Upstream
) -> None:
    """They served on for ever, and the next gateway could not listen."""
    options = ["--upstream", serving(upstream).url, "--port", "0", "--workers", "2"]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        (url,) = {json.loads(process.stdout.readline())["base_url"] for _ in range(2)}
        script = json.dumps({"say": "a b c", "hold": "held", "hold_after": 2})
        asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": script}]}
        with httpx.stream("POST", f"{url}/chat/completions", json=asked, timeout=30) as answer:
            pieces = answer.iter_raw()
            said = next(pieces)
            process.kill()
            _until_refused(url)
            upstream.gates["held"].set()
            said += b"".join(pieces)
        out, _ = process.communicate(timeout=60)
    assert said.endswith(b"data: [DONE]\n\n") and out.count('"stopped"') == 2


def test_the_collector_passes_over_what_a_gateway_starts_with(
    serving: Callable[..., Server], upstream: Upstream
) -> None:
    telling = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count()))"
    module = "import runpy; runpy.run_module('cachelayer', run_name='__main__')"
    command = [
        sys.executable,
        "-c",
        f"{telling}; {module}",
        *COMMAND[3:],
        "--upstream",
        serving(upstream).url,
    ]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.terminate()
        assert int(process.communicate(timeout=30)[0].split()[-1]) > 10_000


def _of_a_terminal(**more: Any) -> subprocess.Popen[str]:
    """Two workers and their supervisor, in a session of their own."""
    options = ["--upstream", "http://127.0.0.1:9", "--port", "0", "--workers", "2"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *options], stdout=pipe, stderr=pipe, text=True, start_new_session=True, **more
    )


@pytest.mark.parametrize("has", ["", "numpy", "uvloop"])
def test_ctrl_c_while_workers_start_ends_all_without_a_traceback(has: str) -> None:
    """A terminal sends it to all of them, and each that was just being loaded wrote one."""
    with _of_a_terminal(preexec_fn=_hears_hangups) as process:
        assert process.stdout is not None
        while len(workers := _children(process.pid, has)) < 2:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGSTOP)  # the supervisor is slow to tell them what to do
        os.killpg(process.pid, signal.SIGINT)
        while not all(map(_heard, workers)):
            assert process.poll() is None
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in err


def test_workers_of_a_terminal_that_hangs_up_go_on_until_they_are_replaced() -> None:
    """It tells every one of its processes, and the workers died of it."""
    with _of_a_terminal() as process:
        assert process.stdout is not None
        assert ['"started"' in process.stdout.readline() for _ in range(2)] == [True, True]
        os.killpg(process.pid, signal.SIGHUP)
        told = [json.loads(process.stdout.readline())["event"] for _ in range(4)]
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert (told, process.returncode, err) == (["started", "stopped"] * 2, 0, "")


def _children(pid: int, has: str) -> list[str]:
    """Worker processes, also those that are just starting, that have loaded this."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    begun = [one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return [one for one in begun if has in Path(f"/proc/{one}/maps").read_text()]


def _heard(pid: str) -> bool:
    """It ended, or holds SIGINT back and waits for what the supervisor has not told yet."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    waits, held = status["State"].split()[0] == "S", int(status["ShdPnd"], 16) >> (signal.SIGINT - 1) & 1
    return status["State"].split()[0] == "Z" or (waits and bool(held))


def _hears_hangups() -> None:
    """Also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _until_refused(url: str) -> None:
    """New connections are refused soon: what was told works on its way."""
    for _ in range(10_000):
        try:
            httpx.get(url.replace("/v1", "/healthz"), timeout=20)
        except httpx.ConnectError:
            return
        except httpx.TransportError:  # one that was waiting when the socket was closed
            continue
    pytest.fail("connections are taken still")
