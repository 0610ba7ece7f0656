"""The client's own helpers, `parse` and `stream`: they too are answered once."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from cachelayer.adapters.openai import wrap
from openai_upstream import HELLO, Responding, plain
from pydantic import BaseModel, ValidationError
from upstream import Server, Upstream

from cachelayer import CacheLayer


class Step(BaseModel):
    say: str
    n: int = 1


def test_structured_output_is_parsed_anew_from_one_answer(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    asked: list[Any] = [{"role": "user", "content": '{"say": "{\\"say\\": \\"hi\\", \\"n\\": 3}"}'}]
    with plain(url, layer) as client:
        for _ in range(2):
            told = client.chat.completions.parse(model="m", messages=asked, response_format=Step)
            assert told.choices[0].message.parsed == Step(say="hi", n=3)
            old = client.beta.chat.completions.parse(model="m", messages=asked, response_format=Step)
            assert old.choices[0].message.parsed == Step(say="hi", n=3)
        sent = upstream.requests[0]["response_format"]
        assert len(upstream.requests) == 1 and sent["json_schema"]["name"] == "Step"


async def test_the_asynchronous_client_asks_for_a_parsed_answer_once(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    asked: list[Any] = [{"role": "user", "content": '{"say": "{\\"say\\": \\"hi\\"}"}'}]
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as client:
        for _ in range(2):
            told = await client.chat.completions.parse(model="m", messages=asked, response_format=Step)
            assert told.choices[0].message.parsed == Step(say="hi")
    assert len(upstream.requests) == 1


def test_a_helper_streams_what_was_streamed_before(url: str, upstream: Upstream, layer: CacheLayer) -> None:
    asked: list[Any] = [{"role": "user", "content": '{"say": "{\\"say\\": \\"hi\\"}"}'}]
    with plain(url, layer) as client:
        for _ in range(2):
            with client.chat.completions.stream(model="m", messages=asked, response_format=Step) as stream:
                assert "content.done" in [event.type for event in stream]
                assert stream.get_final_completion().choices[0].message.parsed == Step(say="hi")
    assert len(upstream.requests) == 1


async def test_a_helper_streams_what_was_streamed_before_async(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as client:
        for _ in range(2):
            async with client.chat.completions.stream(model="m", messages=HELLO) as stream:
                said = (await stream.get_final_completion()).choices[0].message.content
            assert said == "You said: hello"
        chunks = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
        assert [chunk async for chunk in chunks]
    assert len(upstream.requests) == 1


def test_responses_are_parsed_and_streamed_by_the_clients_helpers_from_one_answer(layer: CacheLayer) -> None:
    upstream = Responding()
    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        for _ in range(2):
            told = client.responses.parse(model="m", input="hi", text_format=Step)
            assert told.output_parsed == Step(say="hi")
            with client.responses.stream(model="m", input="hi", text_format=Step) as stream:
                assert stream.get_final_response().output_parsed == Step(say="hi")
    assert [asked.get("stream", False) for asked in upstream.requests] == [False, True]
    assert upstream.requests[0]["text"]["format"]["name"] == "Step"


def test_what_is_parsed_tells_the_number_of_its_request_as_all_answers_do(layer: CacheLayer) -> None:
    with Server(Responding()) as server, plain(f"{server.url}/v1", layer) as client:
        for _ in range(2):
            told = client.responses.parse(model="m", input="hi", text_format=Step)
            assert told._request_id == "q1" and told.output_parsed == Step(say="hi")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_repeats_what_its_own_caller_said_beside_the_question(
    layer: CacheLayer, stream: bool
) -> None:
    """Its first caller's metadata, and name, came with every hit."""
    upstream = Responding()
    said: list[dict[str, Any]] = [
        {"metadata": {"ticket": "1"}, "user": "ann"},
        {"metadata": {"ticket": "2"}},
        {},
    ]

    def repeated(answers: list[Any]) -> list[Any]:
        held = [one.response if stream else one for one in answers]
        return [(one.metadata, one.user) for one in held]

    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        url, key = f"{server.url}/v1", "sk-test"
        async with wrap(openai.AsyncOpenAI(base_url=url, api_key=key), layer=layer) as awaited:
            for body in (*said, *said):
                plainly: Any = client.responses.create(model="m", input="hi", stream=stream, **body)
                told: Any = await awaited.responses.create(model="m", input="hi", stream=stream, **body)
                own = [(body.get("metadata") or {}, body.get("user"))]
                assert repeated([*plainly] if stream else [plainly]) == own * (2 if stream else 1)
                assert repeated([one async for one in told] if stream else [told]) == own * (
                    2 if stream else 1
                )
    assert len(upstream.requests) == 2


def test_what_a_helper_is_told_beside_the_body_is_asked(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    asked: list[Any] = [{"role": "user", "content": '{"say": "{\\"say\\": \\"hi\\"}"}'}]
    sent: list[Any] = []
    through = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    with wrap(openai.OpenAI(base_url=url, api_key="sk-test", http_client=through), layer=layer) as client:
        for body, query in (({"top_k": 1}, {}), ({"top_k": 2}, {}), ({"top_k": 2}, {"v": "2"})) * 2:
            client.chat.completions.parse(
                model="m",
                messages=asked,
                response_format=Step,
                extra_body=body,
                extra_query=query,
                extra_headers={"x-trace": "t"},
                timeout=7,
            )
    assert [one["top_k"] for one in upstream.requests] == [1, 2, 2]
    assert [dict(one.url.params) for one in sent] == [{}, {}, {"v": "2"}]
    assert {(one.headers["x-trace"], one.extensions["timeout"]["read"]) for one in sent} == {("t", 7)}


async def test_an_answer_that_does_not_parse_is_asked_for_again(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    """Whoever tried again was given the same answer for as long as it lived."""
    told: dict[str, Any] = {"model": "m", "response_format": Step}
    asked: list[Any] = [{"role": "user", "content": '{"say": "{\\"n\\": 3}"}'}]
    fit: list[Any] = [{"role": "user", "content": '{"say": "{\\"say\\": \\"hi\\"}"}'}]
    with plain(url, layer) as client:
        for number in (1, 2):
            with pytest.raises(ValidationError):
                client.chat.completions.parse(messages=asked, **told)
            assert client.chat.completions.parse(messages=fit, **told).choices[0].message.parsed
            assert len(upstream.requests) == number + 1
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as awaited:
        for number in (1, 2):
            with pytest.raises(ValidationError):
                await awaited.chat.completions.parse(messages=asked, **told)
            assert len(upstream.requests) == number + 3
