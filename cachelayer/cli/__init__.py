"""The command line.

demo/, bench/, replay/, calibrate/, serve/   a package per command
doctor, trtllm  commands of one file
checks          what `doctor` looks at
traces/         recorded traffic, for `replay` and `calibrate`
arguments       types of arguments, and the form of --help
chats           a server that `demo` and `bench` ask
terminal        text for terminals
report          HTML reports
charts, plots   pictures in them
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .. import __version__
from .arguments import Help

_START = """\
where to start:
  cachelayer demo            # see it work: half a minute, nothing to set up
  cachelayer doctor          # what is installed here, and what is missing
  cachelayer COMMAND --help  # what a command does, with examples"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Faults that a user can mend are one line, not a traceback."""
    with _ctrl_c_ends_at_once():
        from ..errors import CacheLayerError
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:  # it was closed when the program was started
            nowhere = os.open(os.devnull, mode)  # the lowest number that is free: in this order its own
            os.set_inheritable(nowhere, True)  # workers are started with it, too
            setattr(sys, name, os.fdopen(nowhere, "r" if mode == os.O_RDONLY else "w"))
    for out in (sys.stdout, sys.stderr):
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="replace")  # a terminal without our dashes shows question marks
    try:
        status = _run(arguments)
        print(end="", flush=True)
    except CacheLayerError as fault:
        print(f"cachelayer: {fault}", file=sys.stderr)
        return 2
    except OSError as fault:
        if isinstance(fault.filename, str):  # what no command expects of a file: a name too long, a bad disk
            print(f"cachelayer: {fault.filename}: {fault.strerror}", file=sys.stderr)
            return 2
        if fault.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        # whoever read has seen enough, or a disk is full; nothing is left to be told at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if fault.errno == errno.ENOSPC:
            print(f"cachelayer: the output cannot be written: {fault.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


@contextmanager
def _ctrl_c_ends_at_once() -> Iterator[None]:
    """While modules are loaded: raised in the midst of it, an interrupt may be lost, or be told as another fault."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _run(arguments: Sequence[str] | None) -> int:
    with _ctrl_c_ends_at_once():
        from . import bench, calibrate, demo, doctor, replay, serve, trtllm

    parser = argparse.ArgumentParser(
        prog="cachelayer",
        description="The semantic cache that is safe to turn on: see it work, measure it, check an installation.",
        epilog=_START,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"cachelayer {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (demo, serve, replay, calibrate, bench, doctor, trtllm):
        command.register(commands)
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help(sys.stderr)
        return 2
    status: int = options.run(options)
    return status
