"""Pairs and conversations through a real cache: one is asked and stored, the other asked, in an empty cache.

    python -m benchmarks.decide pairs --data DATA --wordnet DIR --out benchmarks/results

Every pair has a function of its own, so that nothing is known when it is judged. Pairs are of the part 'report' of
benchmarks/decide/sources.py (other classes, other conversations and other edit words than were fitted and tuned on),
and those written by hand: fresh_natural_pairs.txt, late_natural_pairs.txt, natural_pairs.txt, late_pairs.txt,
blind_pairs.txt, handmade_pairs.txt, blind_talks.txt and late_talks.txt.

Prints and writes the share served wrongly and the share of true ones served, with 95 % intervals (Wilson), beside a
threshold of cosine chosen by hindsight on the very pairs; and the time of a decision. Writes decide_pairs.md, .json
and .png.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from record import command_of, machine

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query, Turn

from .blind import LATE as LATE_TALKS
from .blind import blind_talks
from .pair_times import decision_times
from .pairs_data import FAMILIES, Pair, by_hand, pairs
from .pairs_report import STRICTER, Row, Trial, draw, rows_of, table
from .rewordings import Reworder
from .talk_strings import strings
from .talks import TalkPair, talks
from .wordnet import WordNet

PATIENT = Budgets(embed="30s", search="30s", verify="30s")
"""On a busy machine a request would else go to the backend before it was compared."""
HANDMADE = Path(__file__).with_name("handmade_pairs.txt")
BLIND = Path(__file__).with_name("blind_pairs.txt")
LATE = Path(__file__).with_name("late_pairs.txt")
PUT = {
    name: Path(__file__).with_name(file)
    for name, file in {
        "fresh natural pairs": "fresh_natural_pairs.txt",
        "late natural pairs": "late_natural_pairs.txt",
        "first natural pairs": "natural_pairs.txt",
        "usual pairs": "unread_usual_pairs.txt",
        "members and bounds": "unread_members_pairs.txt",
        "prompts, support and facts": "unread_requests_pairs.txt",
        "typed requests": "unread_typed_pairs.txt",
    }.items()
}
"""Pairs as people would put them, at both bounds."""
TRAPS = {name: kinds for name, kinds in FAMILIES.items() if name != "question"}
TRUE = ("reworded", "reworded-both", "repeat", "advising:sql-paraphrase:1")


def handmade(path: Path = HANDMADE) -> list[Pair]:
    """The pairs written by hand, true ones of kind 'paraphrase', 'repeat' or 'same ...'."""
    true = ("paraphrase", "repeat", "same ")
    return [Pair(a, b, kind.startswith(true), kind, "report", "hand") for kind, a, b in by_hand(path)]


def reported(found: Sequence[Pair], each: int, seed: int) -> list[Pair]:
    """`each` traps of every family and as many true pairs in all, of the part 'report'."""
    rng, out = random.Random(seed), []
    mine = [p for p in found if p.part == "report"]
    for family, kinds in TRAPS.items():
        traps = [p for p in mine if p.kind.startswith("trap:") and p.kind.removeprefix("trap:") in kinds]
        drawn = rng.sample(traps, min(each, len(traps)))
        out += [Pair(p.a, p.b, False, family, p.part, p.source) for p in drawn]
    for kind in TRUE:
        true = [p for p in mine if p.kind == kind]
        count = min(each * len(TRAPS) // len(TRUE), len(true))
        out += [Pair(p.a, p.b, True, kind.split(":")[0], p.part, p.source) for p in rng.sample(true, count)]
    return out


class Bench:
    """A cache whose entries of different trials never meet."""

    def __init__(self, bound: float) -> None:
        self.embedder = CachedEmbedder(OnnxEmbedder(workers=1), max_bytes=64 * 2**20)
        self.layer = CacheLayer(policy=Policy(max_error_rate=bound, budgets=PATIENT), embedder=self.embedder)
        self._trials, self._verifier = 0, PairVerifier()

    async def trial(self, group: str, kind: str, same: bool, one: Any, other: Any) -> Trial:
        """Ask `one`, wait until it is findable, ask `other`. Both are texts or lists of messages."""
        self._trials += 1

        async def text(question: str) -> str:
            return f"the answer to: {question}"

        async def chat(messages: list[dict[str, Any]]) -> str:
            return f"the answer to: {messages}"

        cached = self.layer.cached(name=f"trial-{self._trials}")
        ask = cached(text) if isinstance(one, str) else cached(chat)
        await ask(one)
        await self.layer.flush()
        outcome = await ask.outcome(other)
        await self.layer.flush()
        served = outcome.source in (Source.INDEX, Source.MEMORY)
        seen = await self.embedder.embed([_last(one), _last(other)])
        cosine = float(seen.vectors[0] @ seen.vectors[1])
        query = Query(_last(other), seen.vectors[1], _turns(other))
        near = Candidate(0, cosine, _last(one), None, _turns(one))
        return Trial(group, kind, same, cosine, served, self._verifier.judge(query, [near])[0][0])


def _last(asked: Any) -> str:
    return asked if isinstance(asked, str) else str(asked[-1]["content"])


def _turns(asked: Any) -> tuple[Turn, ...]:
    """Earlier turns without the system prompt."""
    return () if isinstance(asked, str) else tuple(Turn(m["role"], m["content"]) for m in asked[1:-1])


def messages(history: Sequence[Any], last: str) -> list[dict[str, Any]]:
    said = [{"role": t.role, "content": t.text} for t in history]
    return [{"role": "system", "content": "You help."}, *said, {"role": "user", "content": last}]


async def run_pairs(found: list[Pair], group: str, bound: float) -> list[Trial]:
    bench = Bench(bound)
    async with bench.layer:
        out = []
        for i, p in enumerate(found):
            out.append(await bench.trial(group, p.kind, p.same, p.a, p.b))
            if i % 200 == 0:
                print(f"  {group}: {i} of {len(found)}", flush=True)
        return out


async def run_talks(found: list[TalkPair], group: str, bound: float, reword: Reworder) -> list[Trial]:
    """Every conversation beside its twin, and beside itself with the last words said a little otherwise."""
    bench, rng = Bench(bound), random.Random(0)
    async with bench.layer:
        out = []
        for i, p in enumerate(found):
            one = messages(p.a, p.last)
            out.append(await bench.trial(group, p.kind, p.same, one, messages(p.b, p.last)))
            out.append(await bench.trial(group, "the same again", True, one, one))
            again = messages(p.a, reword.repeat(p.last, rng))
            out.append(await bench.trial(group, "same history, last words reworded", True, one, again))
            if i % 100 == 0:
                print(f"  {group}: {i} of {len(found)}", flush=True)
        return out


async def measured(args: argparse.Namespace) -> list[Trial]:
    made = pairs(args.data, args.wordnet, seed=args.seed, scale=0.3)
    net = WordNet(args.wordnet)
    reword = Reworder("report", net)
    out: list[Trial] = []
    for name, path in PUT.items():
        found = handmade(path)
        out += await run_pairs(found, name, 0.05)
        out += await run_pairs(found, f"{name}{STRICTER}", 0.01)
    out += await run_pairs(handmade(LATE), "late pairs written by hand", 0.05)
    out += await run_pairs(handmade(BLIND), "new pairs written by hand", 0.05)
    out += await run_pairs(handmade(), "pairs written by hand", 0.05)
    out += await run_pairs(reported(made, args.each, args.seed), "pairs, unseen part", 0.05)
    late = blind_talks("report", args.talks, args.seed, LATE_TALKS)
    out += await run_talks(late, "late conversations written by hand", 0.10, reword)
    blind = blind_talks("report", args.talks, args.seed)
    out += await run_talks(blind, "conversations written by hand", 0.10, reword)
    out += await run_talks(talks("report", args.talks, args.seed), "scripted conversations", 0.10, reword)
    strung = strings("report", args.talks, args.data, args.wordnet, args.seed)
    return out + await run_talks(strung, "strung conversations", 0.10, reword)


def add(commands: Any) -> None:
    """The command `pairs`."""
    parser = command_of(commands, "pairs", "single pairs and conversations in an empty cache", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun, index.noun, ...")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--each", type=int, default=120, help="traps of each family (default %(default)s)")
    parser.add_argument(
        "--talks", type=int, default=300, help="conversations of each sort (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=11, help="of what is generated (default %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    started, load = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    trials = asyncio.run(measured(args))
    found: list[Row] = rows_of(trials)
    times = decision_times()
    options = f"--each {args.each} --talks {args.talks} --seed {args.seed}"
    text = table(found, times, started, load, options)
    print(text)
    (args.out / "decide_pairs.md").write_text(text, "utf-8")
    command = f"python -m benchmarks.decide pairs {options}"
    kept = {
        "command": command,
        "machine": machine(),
        "date": started,
        "load": load,
        "rows": [vars(r) for r in found],
        "times": times,
    }
    (args.out / "decide_pairs.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    draw(trials, args.out / "decide_pairs.png")
    return 0
