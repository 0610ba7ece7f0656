"""A block that is cancelled by a sign: by nothing else, and only while it runs."""

from __future__ import annotations

import asyncio

import pytest

from cachelayer.flow.watch import Watch


async def test_a_sign_cancels_the_block_and_nothing_after_it() -> None:
    sign = asyncio.Event()

    async def given() -> None:
        await sign.wait()

    async with Watch(given) as watch:
        asyncio.get_running_loop().call_soon(sign.set)
        await asyncio.Event().wait()
    assert watch.rang
    await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("ended", [False, True])
async def test_a_sign_that_comes_as_the_block_ends_cancels_nothing_after_it(turns: int, ended: bool) -> None:
    sign = asyncio.Event()

    async def given() -> None:
        await sign.wait()

    rang = False
    try:
        async with Watch(given) as watch:
            await asyncio.sleep(0)
            sign.set()
            if ended:
                watch.end()
            for _ in range(turns):
                await asyncio.sleep(0)
    finally:
        rang = watch.rang
    for _ in range(6):
        await asyncio.sleep(0)  # no cancellation is left over
    assert not (ended and rang)


async def test_a_cancellation_from_elsewhere_passes() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def block() -> None:
        async with Watch(never):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(block())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
