"""The official client and a real model server, the gateway in between. Needs torch and transformers: soak only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from transformers_server import transformers_server

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(URL, model) of the server."""
    with transformers_server(tmp_path_factory.mktemp("transformers"), ends=[THE]) as (
        address,
        model,
    ):
        url = f"http://{address}"
        with _client(url) as client:
            give_up = time.monotonic() + 120
            while True:
                try:
                    client.chat.completions.create(model=model, messages=_said("hi"), max_tokens=1)
                    break
                except openai.APIConnectionError:
                    assert time.monotonic() < give_up, "the server does not start"
                    time.sleep(0.2)
        yield url, model


THE = 259
"""The token "the", which is the fourth that this model says."""


def _said(text: str) -> Any:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("stream", [True, False])
def test_a_real_server_answers_once_and_the_gateway_after_it(
    asked: tuple[str, str], serving: Any, stream: bool
) -> None:
    """The first caller gets what the server says, the others the same text, whole and streamed."""
    url, model = asked
    server = serving(_gateway(url))
    with _client(url) as straight, _client(server.url) as through:
        fields: Any = {"model": model, "messages": _said("Where is my parcel?"), "max_tokens": 200}
        said = straight.chat.completions.create(**fields).choices[0].message.content
        create = through.chat.completions.with_raw_response.create
        texts, hits = set(), []
        for kind in (stream, stream, not stream):
            answer = create(**fields, stream=kind)
            texts.add(_whole(_text(answer.parse())))
            hits.append("; hit" in answer.headers["cache-status"])
    assert hits == [False, True, True] and texts == {_whole(said or "")} and said


def test_what_a_real_server_cut_short_is_not_kept(asked: tuple[str, str], serving: Any) -> None:
    url, model = asked
    with _client(serving(_gateway(url)).url) as client:
        create = client.chat.completions.with_raw_response.create
        answers = [create(model=model, messages=_said("Where is my parcel?"), max_tokens=1) for _ in range(2)]
    assert [a.parse().choices[0].finish_reason for a in answers] == ["length"] * 2
    assert all("kept:truncated" in answer.headers["cache-status"] for answer in answers)


def _gateway(url: str) -> Gateway:
    return Gateway(load(None, {}, {"upstream": [{"url": url}], "cache.semantic": "off", "server.log": "off"}))


def _client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, timeout=60)


def _text(answer: Any) -> str:
    if not isinstance(answer, openai.Stream):
        return answer.choices[0].message.content or ""
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


def _whole(text: str) -> str:
    """This server writes U+FFFD for a character cut in two in whole answers only."""
    return text.replace("\ufffd", "")
