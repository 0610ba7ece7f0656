"""The first five minutes: exact hits, similar hits, and why a request missed. Runs offline:

python examples/quickstart.py
"""

from __future__ import annotations

import asyncio

from cachelayer import CacheLayer, Policy

layer = CacheLayer(policy=Policy(ttl="1h", max_error_rate=0.02))
ANSWERS = {
    "return": "Send it back within 30 days with the label from your account.",
    "deliver": "Parcels take two to three working days.",
    "password": "Use 'Forgot password' on the sign-in page.",
}


@layer.cached
async def ask(question: str) -> str:
    """Stands in for a model: half a second of thought."""
    await asyncio.sleep(0.5)
    return next((a for word, a in ANSWERS.items() if word in question.lower()), "I do not know.")


async def main() -> None:
    """Ask, ask again, ask in other words."""
    async with layer:  # loads the embedding model, so that every tier serves
        for question in (
            "How do I return a product?",
            "How do I return a product?",
            "how can i return a product",
            "How do I not return a product?",
            "How long do you take to deliver?",
        ):
            outcome = await ask.outcome(question)
            missed = ", ".join(f"{tier}: {reason}" for tier, reason in outcome.misses.items())
            spent = sum(outcome.timings.values())
            print(
                f"{outcome.source:10} {spent * 1e3:8.2f} ms  {question}   {f'({missed})' if missed else ''}"
            )
            await layer.flush()  # what was answered is findable from here on
        print(f"\nWhy would this one miss?\n{await ask.explain('How do I return two products?')}")
        print(f"\nHit rate: {layer.stats()['functions']['quickstart.ask']['hit_rate']:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
