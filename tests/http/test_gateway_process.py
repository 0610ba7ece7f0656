"""The gateway's process: what it says of itself is so, and what it has begun it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn
from upstream import Server, Upstream
from uvicorn.supervisors import Multiprocess

from cachelayer.cli.serve.config import Places, build
from cachelayer.cli.serve.process import serve, supervised

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


def test_a_restart_of_the_workers_ends_early_when_they_are_told_to_stop() -> None:
    """SIGTERM waited until each of them had been replaced, which takes as long as its streams."""
    before = {one: signal.getsignal(one) for one in signal.valid_signals()}
    try:
        workers = supervised(Multiprocess, lambda: True, str)(uvicorn.Config("no:app", workers=2), sockets=[])
        workers.processes = [object(), object()]  # neither is touched
        signal.raise_signal(signal.SIGTERM)
        workers.restart_all()
        workers.handle_signals()
        assert workers.should_exit.wait(0)
    finally:
        for one, handler in before.items():
            if handler is not None and signal.getsignal(one) is not handler:
                signal.signal(one, handler)


def test_a_worker_may_take_its_time_to_load_before_it_takes_the_place_of_another() -> None:
    """Where that took more than five seconds, as models do, nothing was ever restarted."""

    class Supervisor:
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            self.config, self.sockets, self.signal_queue = config, sockets, list[int]()

        def restart_all(self) -> None:
            self.waited = self.config.timeout_worker_healthcheck

    config = uvicorn.Config("no:app")
    usual = config.timeout_worker_healthcheck
    workers = supervised(Supervisor, lambda: True, str)(config, sockets=[])
    workers.restart_all()
    assert workers.waited > 60 > config.timeout_worker_healthcheck == usual


def test_a_worker_that_ended_by_itself_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Killed for memory again and again, workers were replaced in silence."""
    killed, failed, alive = (
        SimpleNamespace(process=SimpleNamespace(pid=pid, exitcode=how), child_conn=Pipe()[0])
        for pid, how in ((7, -9), (8, 1), (9, None))
    )

    class Supervisor:
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            self.signal_queue, self.processes = list[int](), [killed, alive, failed]

        def keep_subprocess_alive(self) -> None:
            self.processes[::2] = [SimpleNamespace(), SimpleNamespace()]

    supervised(Supervisor, lambda: True, str)(uvicorn.Config("no:app"), sockets=[]).keep_subprocess_alive()
    first, second = capsys.readouterr().err.splitlines()
    assert "worker 7 " in first and "(signal 9); another takes its place" in first
    assert "worker 8 " in second and "(exit status 1)" in second


def test_a_worker_that_hears_nothing_any_more_is_not_waited_for_for_ever() -> None:
    """SIGTERM and Ctrl-C ended nothing where one worker hung."""
    waited: list[float] = []

    class Deaf:
        exitcode: int | None = None

        def join(self, timeout: float) -> None:
            waited.append(timeout)

        def kill(self) -> None:
            self.exitcode = -signal.SIGKILL

    class Supervisor:
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            self.config, self.signal_queue = config, list[int]()
            self.processes = [SimpleNamespace(process=Deaf()) for _ in range(2)]

        def join_all(self) -> None:
            assert all(one.process.exitcode for one in self.processes)

    config = uvicorn.Config("no:app", timeout_graceful_shutdown=60)
    supervised(Supervisor, lambda: True, str)(config, sockets=[]).join_all()
    assert 90 >= waited[0] >= waited[1] > 60


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


def test_a_worker_that_dies_while_it_is_asked_whether_it_lives_is_not_waited_for() -> None:
    """Ctrl-C in the first seconds ended the workers, and the supervisor half a minute later."""
    ours, its = Pipe()
    ended = []

    class Supervisor:
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            worker = SimpleNamespace(process=SimpleNamespace(exitcode=None), child_conn=its)
            self.signal_queue, self.processes = list[int](), [worker]

        def keep_subprocess_alive(self) -> None:
            ended.append(ours.poll())  # true of a pipe whose other end nobody holds any more

    supervised(Supervisor, lambda: True, str)(uvicorn.Config("no:app"), sockets=[]).keep_subprocess_alive()
    assert ended == [True]


def test_a_worker_that_takes_long_to_start_is_not_replaced_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn gives one five seconds: where starting takes longer, no worker ever served."""
    given = []

    class Supervisor:
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            given.append(config.timeout_worker_healthcheck)
            self.sockets, self.signal_queue = sockets, list[int]()

        def run(self) -> None:
            for one in self.sockets:
                one.close()

    monkeypatch.setattr("uvicorn.supervisors.Multiprocess", Supervisor)
    settings = {"server": {"port": 0, "workers": 2}, "upstream": [{"url": "http://127.0.0.1:9"}]}
    assert serve(build(settings, Places("settings of a test", ""))) == 0
    assert given == [30]


def _hears_hangups() -> None:
    """Also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
