"""An agent with tools: decisions and what tools read are kept, what acts always runs. Runs offline:

python examples/agent_tools.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from cachelayer import CacheLayer

layer = CacheLayer(semantic=False)
STOCK = {"lamp": 3, "hub": 1}
calls = {"model": 0, "stock": 0, "order": 0}
TOOLS = {
    "stock": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    "order": {
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["item"],
    },
}


def look_up(item: str) -> int:
    """Reads: what it told may be kept for a minute."""
    calls["stock"] += 1
    return STOCK[item]


def place_order(item: str, count: int) -> str:
    """Acts: it must run every time it is called."""
    calls["order"] += 1
    STOCK[item] -= count
    return f"ordered {count} {item}"


stock = layer.tools(look_up, keep="1m", name="stock", schema=TOOLS["stock"])
order = layer.tools(place_order, name="order", schema=TOOLS["order"])


async def model(messages: list[dict[str, str]], tools: list[str]) -> dict[str, Any]:
    """Stands in for a model that chooses a tool."""
    calls["model"] += 1
    await asyncio.sleep(0.2)
    item = next(item for item in STOCK if item in messages[-1]["content"])
    name = "order" if "order" in messages[-1]["content"] else "stock"
    arguments: dict[str, Any] = {"item": item}
    return {"name": name, "arguments": {**arguments, "count": 1} if name == "order" else arguments}


decide = layer.tools.decision(model, name="shop", version="1")


async def turn(text: str) -> str:
    """One turn of the agent."""
    with layer.scope():
        chosen = await decide([{"role": "user", "content": text}], sorted(TOOLS))
        if chosen["name"] == "order":
            told = order(**chosen["arguments"])
            await layer.invalidate(tools=["stock"])  # what was read before is outdated
            return str(told)
        return f"{stock(**chosen['arguments'])} left"


async def main() -> None:
    """The same questions again and again, orders in between."""
    async with layer:
        for text in ("how many lamp are there", "how many lamp are there", "order a lamp", "order a lamp",
                     "how many lamp are there", "how many hub are there"):  # fmt: skip
            print(f"{text}: {await turn(text)}")
        print("calls: " + ", ".join(f"{name} {count}" for name, count in calls.items()))


if __name__ == "__main__":
    asyncio.run(main())
