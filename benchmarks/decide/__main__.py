"""When is a hit right? Measured: python -m benchmarks.decide COMMAND --help"""

from __future__ import annotations

import argparse
import sys

from . import ablate, chain, one_off, outside, pairs, picture, streams, table, traffic, warmed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decide", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    streams.add(commands)
    picture.add(commands)
    pairs.add(commands)
    one_off.add(commands)
    outside.add(commands)
    traffic.add(commands)
    warmed.add(commands)
    chain.add(commands)
    ablate.add(commands)
    table.add(commands)
    args = parser.parse_args()
    if out := getattr(args, "out", None):  # sooner than after minutes of work
        (out.parent if out.suffix else out).mkdir(parents=True, exist_ok=True)
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
