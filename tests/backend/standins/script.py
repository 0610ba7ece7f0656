"""What every stand-in model says, read from its prompt, so that one test can ask all transports for the
same.

The prompt is a JSON object: `say` (text), `step` (characters a token), `hold` (a path: wait for it to exist
before token number `hold_after`), `fail_after` (tokens before an error), and keys of a single stand-in. Any
other prompt is echoed."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Script:
    say: str
    step: int = 3
    hold: str | None = None
    hold_after: int = 0
    fail_after: int | None = None
    rest: dict[str, Any] = field(default_factory=dict)

    def tokens(self, max_tokens: int) -> list[str]:
        cut = [self.say[i : i + self.step] for i in range(0, len(self.say), self.step)]
        return cut[:max_tokens]

    def finish(self, max_tokens: int) -> str:
        return "stop" if len(self.tokens(max_tokens + 1)) <= max_tokens else "length"

    def held(self, position: int) -> bool:
        return self.hold is not None and position >= self.hold_after and not os.path.exists(self.hold)


def parse(prompt: str) -> Script:
    try:
        body = json.loads(prompt)
    except ValueError:
        return Script(f"echo: {prompt}")
    known = {k: body.pop(k) for k in ("say", "step", "hold", "hold_after", "fail_after") if k in body}
    return Script(**known, rest=body)


def prompt(say: str, **keys: Any) -> str:
    return json.dumps({"say": say, **keys}, ensure_ascii=False)


def log(event: str, request: str) -> None:
    """One line with the system-wide monotonic clock, for tests in another process."""
    path = os.environ.get("STANDIN_LOG")
    if path:
        with open(path, "a") as file:
            file.write(f"{time.monotonic_ns()} {event} {request}\n")
