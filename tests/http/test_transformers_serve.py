"""The official client and a real model server, the gateway in between. Needs torch and transformers: soak only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from upstream import Server

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

sys.path.insert(0, str(Path(__file__).parents[1] / "backend" / "standins"))
from transformers_server import transformers_server

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(URL, model) of the server."""
    with transformers_server(tmp_path_factory.mktemp("transformers"), ends=[THE]) as (
        address,
        model,
    ):
        url = f"http://{address}"
        with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, timeout=60) as client:
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


@pytest.mark.parametrize("end", ["stop", "length"])
def test_a_real_server_answers_once_and_the_gateway_after_it(
    asked: tuple[str, str], serving: Any, end: str
) -> None:
    """Whole and streamed: the first as the server said it, the others the same text, unless it was cut short."""
    url, model = asked
    flags = {"upstream": [{"url": url}], "cache.semantic": "off", "server.log": "off"}
    server: Server = serving(Gateway(load(None, {}, flags)))
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as straight,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as through,
    ):
        fields: Any = {
            "model": model,
            "messages": _said("Where is my parcel?"),
            "max_tokens": 24,
            "temperature": 0,
        }
        said = straight.chat.completions.create(**fields).choices[0]
        create = through.chat.completions.with_raw_response.create
        for stream in (True, False):
            fields["seed"] = int(stream)
            answers = [create(**fields, stream=kind) for kind in (stream, stream, not stream)]
            texts, ends = zip(*(_told(answer.parse()) for answer in answers), strict=True)
            assert set(ends) == {end}
            hits = ["; hit" in answer.headers["cache-status"] for answer in answers]
            assert hits == [False, end == "stop", end == "stop"]
            assert len(set(map(_whole, texts))) == 1
            assert _whole(texts[0]) == _whole(said.message.content or "")


def _told(answer: Any) -> tuple[str, str | None]:
    """Text and reason to end, of a whole answer or a stream."""
    if not isinstance(answer, openai.Stream):
        return answer.choices[0].message.content or "", answer.choices[0].finish_reason
    chunks = [chunk for chunk in answer if chunk.choices]
    return "".join(c.choices[0].delta.content or "" for c in chunks), chunks[-1].choices[0].finish_reason


def _whole(text: str) -> str:
    """This server writes U+FFFD for a character cut in two in whole answers only."""
    return text.replace("\ufffd", "")
