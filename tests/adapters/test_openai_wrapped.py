"""The official client, wrapped, against a real server: the second time is a hit, and nothing else differs."""

from __future__ import annotations

import copy
from typing import Any

import openai
import pytest
from cachelayer.adapters.openai import wrap
from openai_upstream import HELLO, Responding, plain
from upstream import Server, Upstream
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy
from cachelayer.testing import WordEmbedder

TOOL: Any = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
CALLS: list[Any] = [{"role": "user", "content": '{"calls": [{"name": "f", "arguments": "{\\"a\\": 1}"}]}'}]


async def test_whole_answers_streams_and_their_helpers_async(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as client:
        first, again = [await client.chat.completions.create(model="m", messages=HELLO) for _ in range(2)]
        assert first == again and type(again) is type(first) and len(upstream.requests) == 1
        told = []
        for _ in range(2):
            async with await client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
                told.append("".join([chunk.choices[0].delta.content or "" async for chunk in stream]))
        assert told == ["You said: hello"] * 2 and len(upstream.requests) == 2


def test_a_wrapped_client_asks_once_for_a_whole_answer_and_once_for_a_stream(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    with plain(url, layer) as client:
        first, again = [client.chat.completions.create(model="m", messages=HELLO) for _ in range(2)]
        assert first == again and len(upstream.requests) == 1
        for _ in range(2):
            with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
                assert "".join(c.choices[0].delta.content or "" for c in stream) == "You said: hello"
        assert len(upstream.requests) == 2
        other = client.with_options(timeout=5).chat.completions.create(model="m", messages=HELLO)
        assert other == first and len(upstream.requests) == 2


async def test_a_stream_is_one_to_whoever_asks_for_its_class(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    """As Semantic Kernel does: what is no stream it takes for a whole answer, and asks for its usage."""
    with plain(url, layer) as client:
        for _ in range(2):
            answer: Any = client.chat.completions.create(model="m", messages=HELLO, stream=True)
            assert isinstance(answer, openai.Stream) and len([*answer]) > 2
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as aclient:
        for _ in range(2):
            answer = await aclient.chat.completions.create(model="m", messages=HELLO, stream=True)
            assert isinstance(answer, openai.AsyncStream) and len([chunk async for chunk in answer]) > 2
    assert len(upstream.requests) == 2


async def test_the_question_is_compared_by_meaning_and_not_the_server(url: str, upstream: Upstream) -> None:
    policy = Policy(max_error_rate=0.05, budgets=Budgets(embed=5, search=5, verify=5), shadow=0)
    async with (
        CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer,
        wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as client,
    ):
        for stream in (False, True):
            for words in ("how do I return it", "it return I do how"):
                said: list[Any] = [{"role": "user", "content": words}]
                answer: Any = await client.chat.completions.create(model="m", messages=said, stream=stream)
                assert not stream or [chunk async for chunk in answer]
                await layer.flush()
        assert len(upstream.requests) == 2  # one for each form
        await client.with_options(project="p").chat.completions.create(model="m", messages=said)
        assert len(upstream.requests) == 3
        (told,) = layer.stats()["functions"].values()
        assert told["similar_hits"] == 2
        for words in ("how do I return it", "it return I do how"):
            await client.embeddings.create(model="e", input=words)
            await layer.flush()
        assert len(upstream.requests) == 5  # a vector is that of the very words


def test_a_stream_with_usage_is_not_replayed_to_who_did_not_ask_for_it(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    with plain(url, layer) as client:
        for usage in (True, False):
            options: Any = {"stream_options": {"include_usage": True}} if usage else {}
            stream = client.chat.completions.create(model="m", messages=HELLO, stream=True, **options)
            assert any(not chunk.choices for chunk in stream) is usage


@pytest.mark.parametrize(
    "changed", [{"extra_query": {"v": "2"}}, {"extra_headers": {"OpenAI-Organization": "b"}}]
)
def test_what_one_call_asks_beside_its_body_sets_answers_apart(
    url: str, upstream: Upstream, layer: CacheLayer, changed: dict[str, Any]
) -> None:
    with plain(url, layer) as client:
        create = client.chat.completions.create
        for told in ({}, changed):
            for _ in range(2):
                create(model="m", messages=HELLO, **told)
        create(model="m", messages=HELLO, extra_headers={"x-trace": "1"}, timeout=20)
        assert len(upstream.requests) == 2
        for options in ({"default_query": {"v": "3"}}, {"default_headers": {"Accept-Language": "de"}}):
            other: Any = client.with_options(**options)  # type: ignore[arg-type]
            other.chat.completions.create(model="m", messages=HELLO)
        assert len(upstream.requests) == 4


def test_tool_calls_and_tools_in_the_key(url: str, upstream: Upstream, layer: CacheLayer) -> None:
    with plain(url, layer) as client:
        told = [client.chat.completions.create(model="m", messages=CALLS, tools=[TOOL]) for _ in range(2)]
        calls = told[1].choices[0].message.tool_calls
        assert calls is not None and calls[0].function.arguments == '{"a": 1}'  # type: ignore[union-attr]
        client.chat.completions.create(model="m", messages=CALLS)
        assert len(upstream.requests) == 2


def test_embeddings_completions_and_what_is_not_cached(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    with plain(url, layer) as client:
        for _ in range(2):
            made = client.embeddings.create(model="e", input="text", encoding_format="float")
            assert made.data[0].embedding == [4.0, 0.5]
            assert client.completions.create(model="m", prompt="go").choices[0].text == "You said: go"
        assert len(upstream.requests) == 2
        client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
        client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
        assert len(upstream.requests) == 4


@pytest.mark.parametrize("stream", [False, True])
def test_responses_are_kept_unless_they_are_incomplete(stream: bool, layer: CacheLayer) -> None:
    upstream = Responding()

    def ask(client: openai.OpenAI, text: str) -> Any:
        answer: Any = client.responses.create(model="m", input=text, stream=stream)
        return [event.response.output_text for event in answer][-1] if stream else answer.output_text

    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        told = [ask(client, text) for text in ("hi", "hi", "cut", "cut", "ho")]
    assert told == ["You said: hi"] * 2 + ["You said: cut"] * 2 + ["You said: ho"]
    assert [asked["input"] for asked in upstream.requests] == ["hi", "cut", "cut", "ho"]


def test_what_does_something_at_the_server_is_asked_of_it_each_time(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    client = wrap(openai.OpenAI(base_url=url, api_key="sk-test"), layer=layer)
    for body in ({"store": True}, {"extra_body": {"conversation": "c"}}, {"store": False}):
        for _ in range(2):
            client.chat.completions.create(model="m", messages=HELLO, **body)
    assert len(upstream.requests) == 5
    client.chat.completions.create(model="m", messages=HELLO)
    assert len(upstream.requests) == 5  # what is not to be stored is what says nothing of it


def test_a_response_that_the_server_does_not_hold_is_not_for_who_may_go_on_from_it(
    layer: CacheLayer,
) -> None:
    """The Responses API stores unless it is told otherwise, and `previous_response_id` names what is stored."""
    upstream = Responding()
    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        told = [
            client.responses.create(model="m", input="hi", **body).id
            for body in ({"store": False}, {}, {"store": openai.omit}, {"store": False})
        ]
    assert told == ["r1", "r2", "r2", "r1"]


def test_what_is_left_out_by_the_clients_own_word_for_it_is_left_out(layer: CacheLayer) -> None:
    upstream = Responding()
    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        for none in (openai.omit, openai.not_given, None):
            client.responses.create(model="m", input="hi", stream_options=none)  # type: ignore[arg-type, call-overload]
    assert len(upstream.requests) == 1


def test_another_server_is_another_scope_and_faults_come_through(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    failing: list[Any] = [{"role": "user", "content": '{"status": 400}'}]
    other = Upstream()
    with Server(other) as server, plain(url, layer) as client:
        client.chat.completions.create(model="m", messages=HELLO)
        plain(f"{server.url}/v1", layer).chat.completions.create(model="m", messages=HELLO)
        assert len(upstream.requests) == len(other.requests) == 1
        for _ in range(2):
            with pytest.raises(openai.BadRequestError):
                client.chat.completions.create(model="m", messages=failing)
        assert len(upstream.requests) == 3


def test_a_wrapped_client_is_one_of_openais_for_whoever_asks(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    """Libraries that are given a client ask for its class, and copy what holds it."""
    client = plain(url, layer)
    assert isinstance(client, openai.OpenAI) and not isinstance(client, openai.AsyncOpenAI)
    assert isinstance(client.chat.completions, openai.resources.chat.Completions)
    said = [{"role": "user", "content": "a"}]
    for one in (client, copy.copy(client)):
        one.chat.completions.create(model="m", messages=said)  # type: ignore[arg-type]
    assert len(upstream.requests) == 1
    with pytest.raises(ConfigurationError, match="client"):
        wrap(client, layer=layer)


def test_what_is_set_on_a_wrapped_client_counts_for_its_requests(url: str, layer: CacheLayer) -> None:
    inner = openai.OpenAI(base_url=url, api_key="old", max_retries=0)
    client = wrap(inner, layer=layer)
    client.api_key, client.timeout = "new", 3.0
    assert (inner.api_key, inner.timeout, client.api_key) == ("new", 3.0, "new")


def test_what_the_owner_ignores_sets_no_answers_apart(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as inner:
        client = wrap(inner, layer=layer, ignore=["seed"])
        for seed in (1, 2):
            client.chat.completions.create(model="m", messages=HELLO, seed=seed)
        assert len(upstream.requests) == 1
        with pytest.raises(ConfigurationError, match="ignore"):
            wrap(inner, layer=CacheLayer(semantic=False), ignore="seed")


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="client"):
        wrap(object())  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("text/html", b"<h1>Sign in</h1>"), ("application/json", b'{"status": "up"}')],
    ids=["a page", "JSON of something else"],
)
def test_what_no_model_said_reaches_its_caller_and_is_not_kept(
    kind: str, told: bytes, layer: CacheLayer
) -> None:
    """The client hands on what a proxy answers with 200, or a server whose base URL lacks its /v1."""

    class Other(Upstream):
        async def _complete(self, scope: Any, receive: Any, send: Any, asked: dict[str, Any]) -> None:
            await self._reply(send, 200, told, [(b"content-type", kind.encode())])

    upstream = Other()
    with Server(upstream) as server, plain(f"{server.url}/v1", layer) as client:
        for _ in range(2):
            client.chat.completions.create(model="m", messages=HELLO)
            client.completions.create(model="m", prompt="hello")
            client.responses.create(model="m", input="hello")
    assert len(upstream.requests) == 6


async def test_who_answered_and_why_can_be_asked_of_a_wrapped_client(
    url: str, upstream: Upstream, layer: CacheLayer
) -> None:
    """Of a method that was wrapped by hand it could, and not of the client that `wrap` returns."""
    create: Any = plain(url, layer).chat.completions.create
    assert [create.outcome(model="m", messages=HELLO).source for _ in range(2)] == ["backend", "memory"]
    assert create.explain(model="m", messages=HELLO).verdict == "exact hit"
    assert create.invalidate(model="m", messages=HELLO) == 1
    async with wrap(openai.AsyncOpenAI(base_url=url, api_key="sk-test"), layer=layer) as client:
        acreate: Any = client.chat.completions.create
        sources = [(await acreate.outcome(model="m", messages=HELLO)).source for _ in range(2)]
        assert sources == ["backend", "memory"] and len(upstream.requests) == 2
