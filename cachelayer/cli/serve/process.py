"""Runs the gateway's app under uvicorn, in one process or several."""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import signal
import socket
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from ...errors import CacheLayerError, MissingExtra, broken
from .certificate import EVERY, Certificate
from .config import ConfigFault, build
from .gateway import Gateway
from .logs import say
from .parts import Config, ServerPart
from .places import Places
from .protocol import protocol
from .workers import Reporting, Workers, begun


def serve(config: Config, again: Callable[[], Config] | None = None) -> int:
    """Serve until told to stop; the exit status. `again` reads the settings anew, for workers that are restarted.
    Raises ConfigFault, MissingExtra."""
    _uvicorn()
    sockets = listening(config.server)
    config = replace(config, server=replace(config.server, port=sockets[0].getsockname()[1]))
    if config.server.workers == 1:
        _run(config, sockets)
        return 0
    handed = Handed(config, again or (lambda: config))

    def close() -> None:
        for one in sockets:
            one.close()

    return Workers(
        lambda: begun(_work, handed.config, sockets),
        number=config.server.workers,
        drain=config.server.drain,
        renewed=handed.renewed,
        unusable=handed.unusable,
        closed=close,
    ).run()


def _uvicorn() -> Any:
    try:
        return importlib.import_module("uvicorn")
    except ImportError as fault:
        raise MissingExtra("cachelayer serve", "uvicorn", "serve", broken("uvicorn", fault)) from fault


def _work(config: Config, sockets: list[socket.socket], reporting: Reporting) -> None:
    """In a process of its own. Raises ConfigFault: files that the settings name may have changed since."""
    _run(_checked(config), sockets, reporting)


def _run(config: Config, sockets: list[socket.socket], reporting: Reporting | None = None) -> None:
    uvicorn: Any = _uvicorn()
    gateway = Gateway(config, _settle)
    _quieten()

    class Server(uvicorn.Server):  # type: ignore[misc]
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Drain; at the second SIGINT stop. (uvicorn's own would end the process by the signal afterwards.)"""
            gateway.draining = True
            self.force_exit = bool(gateway.stopping) and sig == signal.SIGINT
            self.should_exit = gateway.stopping = True

    made = uvicorn.Config(gateway, **_options(config.server))
    if config.server.tls_cert:
        made.callback_notify, made.timeout_notify = Certificate(config.server, made), EVERY
    server = Server(made)
    for told in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # uvicorn puts back what it finds
        if signal.getsignal(told) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(told, server.handle_exit)
    if reporting is not None:
        reporting.start(lambda: bool(server.started))
    server.run(sockets)


def _options(part: ServerPart) -> dict[str, Any]:
    return {
        "host": part.host, "port": part.port, "log_level": "warning", "access_log": False, "lifespan": "on",
        "timeout_graceful_shutdown": part.drain, "timeout_keep_alive": part.keep_alive, "backlog": part.backlog,
        "server_header": False, "date_header": True, "http": protocol(), "ws": "none",
        "ssl_certfile": part.tls_cert or None, "ssl_keyfile": part.tls_key or None,
    }  # fmt: skip


def _checked(config: Config) -> Config:
    return build(config.plain(), Places("settings handed to a worker", ""))


class Handed:
    """The settings that workers get as they start. (A variable of the environment holds some hundreds of keys.)"""

    def __init__(self, config: Config, again: Callable[[], Config]) -> None:
        self.config, self._again = config, again

    def unusable(self) -> str:
        """Why no worker could start now; "" where one could."""
        try:
            _checked(self.config)
        except ConfigFault as fault:
            return str(fault)
        return ""

    def renewed(self) -> bool:
        """Whether the settings as they stand now work, which workers get then, all but those of the sockets."""
        try:
            found = self._again()
            Gateway(found)
        except CacheLayerError as fault:
            say(f"{fault}; nothing was restarted")
            return False
        bound = {name: getattr(self.config.server, name) for name in _BOUND}
        self.config = replace(found, server=replace(found.server, **bound))
        return True


_BOUND = ("host", "port", "workers", "backlog", "drain", "keep_alive", "tls_cert", "tls_key")
"""Settings of [server] that hold for as long as the supervisor's process."""


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
