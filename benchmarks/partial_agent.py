"""An agent's trace replayed, for `partial.py`: decisions, tools that read, tools that act."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from cachelayer import CacheLayer

TASKS = 120
TURNS = 1_500
CITIES = "Ulm Bonn Kiel Jena Trier Essen Fulda Passau Lemgo Celle Aalen Goslar".split()
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
}


def trace() -> list[tuple[str, str]]:
    """(kind, city) of each turn: Zipf over tasks; one in five ends in a booking."""
    rng = random.Random(11)
    tasks = [(rng.choice(["weather", "route", "book"]), rng.choice(CITIES), n) for n in range(TASKS)]
    weights = [1 / (place + 1) for place in range(TASKS)]
    return [(kind, f"{city} {n % 7}") for kind, city, n in rng.choices(tasks, weights, k=TURNS)]


async def measure() -> list[dict[str, Any]]:
    """Calls of the model and of each tool, without a cache and with one."""
    rows: list[dict[str, Any]] = []
    for cached in (False, True):
        ran: Counter[str] = Counter()
        async with CacheLayer(semantic=False) as layer:
            await _replay(layer, ran, cached)
        rows.append({"": "with the layer" if cached else "without", **{name: ran[name] for name in NAMES}})
    rows[1]["acts skipped"] = rows[0]["book (acts)"] - rows[1]["book (acts)"]
    rows[0]["acts skipped"] = 0
    return rows


NAMES = ("decisions", "weather (10 m)", "route (pure)", "book (acts)")


async def _replay(layer: CacheLayer, ran: Counter[str], cached: bool) -> None:
    async def model(messages: list[dict[str, str]], tools: list[str]) -> dict[str, Any]:
        ran["decisions"] += 1
        kind, _, city = messages[-1]["content"].partition(" ")
        spelled = {"city": city} if ran["decisions"] % 2 else {"days": 3.0, "city": city}
        return {"tool": kind, "arguments": spelled}

    def tool(name: str, keep: str) -> Any:
        async def run(city: str, days: int = 3) -> str:
            ran[name] += 1
            return f"{name} {city} {days}"

        return layer.tools(run, keep=keep if cached else "never", name=name, schema=SCHEMA)

    tools = {
        "weather": tool(NAMES[1], "10m"),
        "route": tool(NAMES[2], "pure"),
        "book": tool(NAMES[3], "never"),
    }
    decide = layer.tools.decision(model, name="agent") if cached else model
    for kind, city in trace():
        with layer.scope():
            chosen = await decide([{"role": "user", "content": f"{kind} {city}"}], sorted(tools))
            await tools[chosen["tool"]](**chosen["arguments"])
