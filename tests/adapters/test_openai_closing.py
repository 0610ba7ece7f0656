"""Where a wrapped client or one of its streams ends."""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import Any

import openai
from cachelayer.adapters.openai import wrap
from openai_upstream import HELLO, Responding
from upstream import Server

from cachelayer import CacheLayer
from cachelayer.types import Reason


async def test_the_block_of_a_wrapped_client_closes_the_client(url: str, layer: CacheLayer) -> None:
    plain, awaited = openai.OpenAI(base_url=url, api_key="k"), openai.AsyncOpenAI(base_url=url, api_key="k")
    with wrap(plain, layer=layer) as client:
        client.chat.completions.create(model="m", messages=HELLO)
    async with wrap(awaited, layer=layer) as aclient:
        await aclient.chat.completions.create(model="m", messages=HELLO)
    assert plain.is_closed() and awaited.is_closed()


async def test_a_stream_that_was_closed_says_no_more(url: str, layer: CacheLayer) -> None:
    with wrap(openai.OpenAI(base_url=url, api_key="k"), layer=layer) as client:
        with closing(client.chat.completions.create(model="m", messages=HELLO, stream=True)) as stream:
            next(stream)
        assert [*stream] == []
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="k"), layer=layer) as aclient:
        for close in ("close", "aclose"):
            told: Any = await aclient.chat.completions.create(model="m", messages=HELLO, stream=True)
            await anext(told)
            await getattr(told, close)()
            assert [chunk async for chunk in told] == []
        async with aclosing(told):
            pass


class Breaking(Responding):
    """The stream of a response ends after the first words of its text."""

    async def _reply(self, send: Any, status: int, body: bytes, headers: Any) -> None:
        piece = (
            b'data: {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "m", "output_index": 0,'
            b' "content_index": 0, "delta": "You", "logprobs": []}\n\n'
        )
        begun = body.split(b"\n\n")[0] + b"\n\n"
        await super()._reply(send, status, begun + piece, headers)


async def test_a_response_whose_stream_ends_before_its_end_is_incomplete(layer: CacheLayer) -> None:
    with Server(Breaking()) as server:
        async with wrap(openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k"), layer=layer) as client:
            told: Any = await client.responses.create(model="m", input="hi", stream=True)
            assert [event.type async for event in told][-1] == "response.output_text.delta"
    (counted,) = layer.stats()["functions"].values()
    assert counted["not_stored"] == {Reason.INCOMPLETE: 1}
