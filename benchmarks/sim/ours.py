"""The project's router as a rule of the simulator."""

from __future__ import annotations

import random
from typing import Any

from cachelayer.adapters.tensorrt_llm.router import Choice, Router, RouterPolicy

from .engine import Job


class PrefixAware:
    def __init__(self, replicas: int, **options: Any) -> None:
        policy = RouterPolicy(**({"block": 512, "capacity": 937} | options))
        self.router = Router.over([str(i) for i in range(replicas)], policy, random.Random(7))
        self.choices: dict[int, Choice] = {}

    def choose(self, job: Job, now: float) -> int:
        choice = self.router.choose(job.blocks, job.prompt, now, session=str(job.session))
        assert choice is not None
        self.router.sent(choice, now, str(job.session))
        self.choices[id(job)] = choice
        return int(choice.replica.name)

    def told(self, event: str, replica: int, job: Job) -> None:
        if event == "first":
            self.router.first(self.choices[id(job)], job.first)
        else:
            self.router.finished(self.choices.pop(id(job)), job.end, begun=True)
