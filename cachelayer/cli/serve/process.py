"""Runs the gateway's app under uvicorn, in one process or several."""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Thread
from types import FrameType
from typing import Any

from ...errors import CacheLayerError, MissingExtra, broken
from .certificate import EVERY, Certificate
from .config import ConfigFault, build
from .gateway import Gateway
from .parts import Config, ServerPart
from .places import Places
from .protocol import protocol

LOADING = 600.0
"""Seconds that a worker may take to load its models, before it takes the place of another."""
PATIENCE = 30
"""Seconds until a worker that does not answer is replaced; the first ones must have begun to load by then."""


def serve(config: Config, again: Callable[[], Config] | None = None) -> int:
    """Serve until told to stop; the exit status. `again` reads the settings anew, for workers that are restarted.
    Raises ConfigFault, MissingExtra."""
    try:
        uvicorn: Any = importlib.import_module("uvicorn")
    except ImportError as fault:
        raise MissingExtra("cachelayer serve", "uvicorn", "serve", broken("uvicorn", fault)) from fault
    sockets = listening(config.server)
    part = replace(config.server, port=sockets[0].getsockname()[1])
    config = replace(config, server=part)
    options: dict[str, Any] = {
        "host": part.host, "port": part.port, "log_level": "warning", "access_log": False, "lifespan": "on",
        "timeout_graceful_shutdown": part.drain, "timeout_keep_alive": part.keep_alive, "backlog": part.backlog,
        "server_header": False, "date_header": True, "http": protocol(), "ws": "none",
    }  # fmt: skip
    if part.tls_cert:
        options |= {"ssl_certfile": part.tls_cert, "ssl_keyfile": part.tls_key}
    if part.workers > 1:
        _in_workers(uvicorn, config, sockets, options, again or (lambda: config))
        return 0
    gateway = Gateway(config, _settle)
    _quieten()

    class Server(uvicorn.Server):  # type: ignore[misc]
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Drain; at the second SIGINT stop. (uvicorn's own would end the process by the signal afterwards.)"""
            gateway.draining = True
            self.force_exit = bool(gateway.stopping) and sig == signal.SIGINT
            self.should_exit = gateway.stopping = True

    made = uvicorn.Config(gateway, **options)
    if part.tls_cert:
        made.callback_notify, made.timeout_notify = Certificate(part, made), EVERY
    server = Server(made)
    for told in (signal.SIGTERM, signal.SIGHUP):  # uvicorn puts back what it finds; the process ends later
        if signal.getsignal(told) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(told, server.handle_exit)
    server.run(sockets)
    return 0


def _in_workers(
    uvicorn: Any,
    config: Config,
    sockets: list[socket.socket],
    options: dict[str, Any],
    again: Callable[[], Config],
) -> None:
    options |= {"factory": True, "workers": config.server.workers, "timeout_worker_healthcheck": PATIENCE}
    handed = Handed(config)
    supervisor: Any = importlib.import_module("uvicorn.supervisors").Multiprocess
    workers = supervised(supervisor, partial(handed.renewed, again), handed.unusable)
    workers(uvicorn.Config(handed, **options), sockets).run()


@dataclass
class Handed:
    """What makes a worker's app: called by uvicorn in each process, which it reaches together with the settings as they
    are when that starts. (A variable of the environment holds 128 KiB, some hundreds of keys.)"""

    config: Config

    def __call__(self) -> Gateway:
        _quieten()
        if (supervisor := multiprocessing.parent_process()) is not None:
            Thread(target=_outlive, args=(supervisor,), name="cachelayer-supervisor", daemon=True).start()
        return Gateway(self._checked(), _settle)

    def _checked(self) -> Config:
        """Raises ConfigFault: files that the settings name may have changed since."""
        return build(self.config.plain(), Places("settings handed to a worker", ""))

    def unusable(self) -> str:
        """Why no worker could start now; "" where one could."""
        try:
            self._checked()
        except ConfigFault as fault:
            return str(fault)
        return ""

    def renewed(self, again: Callable[[], Config]) -> bool:
        """Whether the settings as they stand now work, which workers get then, all but those of the sockets."""
        try:
            found = again()
            Gateway(found)
        except CacheLayerError as fault:
            print(f"cachelayer: {fault}; nothing was restarted", file=sys.stderr, flush=True)
            return False
        bound = {name: getattr(self.config.server, name) for name in _BOUND}
        self.config = replace(found, server=replace(found.server, **bound))
        return True


_BOUND = ("host", "port", "workers", "backlog", "drain", "keep_alive", "tls_cert", "tls_key")
"""Settings of [server] that hold for as long as the supervisor's process."""


def supervised(supervisor: Any, renewed: Callable[[], bool], unusable: Callable[[], str]) -> Any:
    """uvicorn's class `supervisor` as we want it. Workers are restarted where `renewed` returns True; one that ended is
    replaced as soon as `unusable` tells of nothing that stands against it."""

    class Workers(supervisor):  # type: ignore[misc]
        def __init__(self, config: Any, sockets: list[socket.socket]) -> None:
            super().__init__(config, sockets)
            self.should_exit = StopRequested(self.signal_queue)
            self.held_up = ""

        def restart_all(self) -> None:
            """uvicorn gives a new worker no longer than it gives one to show that it does not hang."""
            if not renewed():
                return
            usual = self.config.timeout_worker_healthcheck
            self.config.timeout_worker_healthcheck = LOADING
            try:
                super().restart_all()
            finally:
                self.config.timeout_worker_healthcheck = usual

        def keep_subprocess_alive(self) -> None:
            """uvicorn replaces in silence: workers that died again and again were to be seen nowhere. It also keeps
            their ends of the pipes open, so that one which dies as it is asked whether it lives was waited for."""
            before = list(self.processes)
            for one in before:
                one.child_conn.close()
            if any(one.process.exitcode is not None for one in before) and self.is_held_up():
                return
            super().keep_subprocess_alive()
            for one in before:
                if one not in self.processes:
                    print(_ended(one.process), file=sys.stderr, flush=True)

        def is_held_up(self) -> bool:
            """Whether a worker could not start now; said once: started all the same, they die one after the other."""
            before, self.held_up = self.held_up, unusable()
            if self.held_up and self.held_up != before:
                print(f"cachelayer: {self.held_up}; a worker ended, and none takes its place until then",
                      file=sys.stderr, flush=True)  # fmt: skip
            return bool(self.held_up)

        def terminate_all(self) -> None:
            """No new connections: the kernel takes them for as long as any process has the sockets."""
            for one in self.sockets:
                one.close()
            super().terminate_all()

        def join_all(self) -> None:
            """uvicorn waits for ever for a worker that hears nothing any more."""
            until = time.monotonic() + self.config.timeout_graceful_shutdown + PATIENCE
            for one in self.processes:
                one.process.join(max(until - time.monotonic(), 0.0))
                if one.process.exitcode is None:
                    one.process.kill()
            super().join_all()

    return Workers


def _ended(worker: Any) -> str:
    how = f"signal {-worker.exitcode}" if worker.exitcode < 0 else f"exit status {worker.exitcode}"
    return (
        f"cachelayer: the worker {worker.pid} ended or gave no sign of life ({how}); another takes its place"
    )


class StopRequested(Event):
    """Whether to stop: set, or about to be by a signal that waits until a restart of the workers, a drain for each, is
    over; which ends early by this."""

    def __init__(self, signals: list[int]) -> None:
        super().__init__()
        self._signals = signals

    def is_set(self) -> bool:
        return super().is_set() or signal.SIGTERM in self._signals or signal.SIGINT in self._signals


def _outlive(supervisor: Any) -> None:
    """Once the supervisor is gone (killed, or out of memory), drain and end: nobody else could tell this worker to, and
    it held the port."""
    supervisor.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _settle() -> None:
    """The collector passes over what a gateway starts with (modules, tables, entries of an earlier life): its full
    rounds held the loop for 60 ms and more."""
    gc.collect()
    gc.freeze()


def _quieten() -> None:
    """uvicorn counts the streams that a drain was too short for; a traceback of each says nothing more."""
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], CancelledError))
    )


def listening(part: ServerPart) -> list[socket.socket]:
    """Sockets on which clients can connect from now on, one for each address of the host. Raises ConfigFault."""
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(
            part.host or None, part.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, protocol, _, address in found:
            port = made[0].getsockname()[1] if made else part.port
            try:
                made.append(
                    _bound(family, protocol, (address[0], port, *address[2:]), both=part.host == "::")
                )
            except OSError as fault:  # a host may have addresses of two kinds, and the machine of one
                if fault.errno != errno.EADDRNOTAVAIL or len(found) == 1:
                    raise
        for one in made:
            one.listen(part.backlog)
    except (OSError, UnicodeError) as fault:  # the latter of a name that no host can have
        for one in made:
            one.close()
        why = fault.strerror if isinstance(fault, OSError) else "no host can have this name"
        raise ConfigFault(
            f"cannot listen on {part.host}, port {part.port} ({why or fault}); give another server.host "
            "or server.port, or stop what listens there"
        ) from None
    return made


def _bound(family: int, protocol: int, address: Any, *, both: bool) -> socket.socket:
    """`protocol` is told: asyncio sends small pieces at once only where it knows that one. `both`: IPv4, too."""
    one = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return one
