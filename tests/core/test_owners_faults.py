"""What the owner's functions get wrong about an answer costs its keeping, never the answer."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cachelayer import CacheLayer, Policy, Reason, Source, Trace
from cachelayer.testing import Gate, WordEmbedder


class Live:
    """What cannot be copied truthfully."""


OPTIONS: list[dict[str, Any]] = [
    {"tags": ["kb:{topic[name]}"]},
    {"tags": ["kb:{topic.name}"]},
    {"cache_if": lambda answer: np.array([True, False])},
    {"ttl": lambda answer: None},
    {"ttl": lambda answer: "soon"},
    {"ttl": lambda answer: answer["ttl"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: next(iter(options)))
async def test_an_answer_whose_terms_cannot_be_told_is_returned_and_not_kept(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(**options)
    async def ask(topic: Any) -> str:
        return "answer"

    outcome = await ask.outcome({"title": "returns"})
    assert outcome.answer == "answer" and outcome.stored in (Reason.FAULT, Reason.TTL_ZERO)
    assert await ask({"title": "returns"}) == "answer" and sum(layer.stats()["faults"].values()) == 2
    (told,) = [record.message for record in caplog.records]  # once a minute
    assert f"{next(iter(options))} of {ask.function.name} failed" in told and "not stored" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ttl": lambda answer: "soon"}, "failed with ConfigurationError (ttl(answer): give seconds"),
        ({"ttl": lambda answer: answer["secret"]}, "failed with TypeError at test_owners_faults.py:"),
        ({"cache_if": lambda answer, more: True}, "failed with TypeError when it was called"),
        ({"key": lambda other: other}, "failed with TypeError when it was called"),
        ({"key": lambda topic: int(topic)}, "failed with ValueError at test_owners_faults.py:"),
        ({"tags": ["{topic:%}"]}, "failed with ValueError; "),
    ],
)
async def test_the_log_says_where_a_function_of_the_owners_failed_and_no_word_of_a_request(
    options: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(topic: str) -> str:
        return "answer"

    assert await CacheLayer(semantic=False).wrap(ask, **options)(topic="secret") == "answer"
    assert said in caplog.text and "secret" not in caplog.text


def failing(text: str, *_: str) -> Any:
    return int(text)


@pytest.mark.parametrize("stage", ["fresh", "judge", "traffic"])
async def test_the_log_says_where_a_function_of_texts_failed_and_no_word_of_them(
    stage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given: Any = {"fresh": failing, "judge": failing, "traffic": Trace(path=tmp_path, redact=failing)}[stage]
    layer = CacheLayer(embedder=WordEmbedder())
    backend = Gate(lambda question: f"a secret of {question}", opened=True)
    ask = layer.wrap(backend, **{"record" if stage == "traffic" else stage: given})
    async with layer:
        for question in ("where is my red secret", "where is my blue secret"):
            assert await ask(question) == f"a secret of {question}"
            await layer.flush()
    line = failing.__code__.co_firstlineno + 1
    assert f"stage {stage} failed with ValueError at test_owners_faults.py:{line}" in caplog.text
    assert "secret" not in caplog.text


async def test_an_owner_who_says_for_ever_has_an_answer_kept_for_long() -> None:
    async with CacheLayer(semantic=False) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", ttl=lambda answer: 1e308)
        assert [(await ask.outcome("q")).source for _ in range(2)] == [Source.BACKEND, Source.MEMORY]


async def test_a_stream_of_chunks_that_cannot_be_kept_passes_as_it_is() -> None:
    layer, chunks = CacheLayer(semantic=False), [Live(), Live(), "text", Live()]

    @layer.cached
    async def stream(question: str) -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    @layer.cached
    def plain(question: str) -> Iterator[Any]:
        yield from chunks

    for _ in range(2):
        assert [chunk async for chunk in stream("a")] == chunks
        assert list(plain("a")) == chunks
    told = layer.stats()["functions"]
    for cached in (stream, plain):
        assert told[cached.function.name]["not_stored"] == {"not_keepable": 2}


def test_a_plain_stream_too_large_to_keep_is_not_held_while_it_is_read() -> None:
    layer = CacheLayer(policy=Policy(max_item_bytes=10_000), semantic=False)

    @layer.cached
    def stream(question: str) -> Iterator[bytes]:
        for i in range(10_000):
            yield b"%d" % i * 1000

    gc.collect()
    tracemalloc.start()
    try:
        assert sum(1 for _ in stream("a")) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert layer.stats()["functions"][stream.function.name]["not_stored"] == {"oversize": 1}


@pytest.mark.parametrize(("limit", "size"), [("max_item_bytes", 10_000), ("max_bytes", 70_000)])
def test_the_log_says_once_of_a_function_that_its_answers_are_too_large_and_what_to_raise(
    caplog: pytest.LogCaptureFixture, limit: str, size: int
) -> None:
    layer = CacheLayer(policy=Policy(**{limit: size}), semantic=False)  # type: ignore[arg-type]

    @layer.cached(name="picture")
    def picture(size: int) -> bytes:
        return bytes(size)

    @layer.cached(name="stream")
    def stream(size: int) -> Iterator[bytes]:
        yield bytes(size)

    for more in (2 * size, 3 * size):
        assert len(picture(more)) == len(b"".join(stream(more))) == more
    why = f"an answer, with its arguments, is larger than {limit}={size:,}: raise it, or return less"
    assert [record.getMessage() for record in caplog.records] == [
        f"calls of {name} are not cached: {why}" for name in ("picture", "stream")
    ]


def test_readers_of_a_plain_stream_too_large_to_keep_each_get_all_of_it() -> None:
    layer = CacheLayer(policy=Policy(max_item_bytes=1_000), semantic=False)

    @layer.cached
    def stream(question: str) -> Iterator[int]:
        yield from range(1000)

    one, other = iter(stream("a")), iter(stream("a"))
    read = [next(one), next(other), next(one)]
    assert read == [0, 0, 1]
    assert list(one) == list(range(2, 1000)) and list(other) == list(range(1, 1000))


class Expired:
    """What reads something else to tell what it holds, as objects of a database session do."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise LookupError("the session is closed")


async def test_an_answer_that_cannot_be_read_to_be_kept_is_its_caller_s_all_the_same() -> None:
    layer, row = CacheLayer(semantic=False), Expired()

    @layer.cached(share=True)
    async def ask(question: str) -> Any:
        return row

    @layer.cached(share=True)
    async def stream(question: str) -> AsyncIterator[Any]:
        yield row

    outcome = await ask.outcome("q")
    assert outcome.answer is row and outcome.stored is Reason.NOT_KEEPABLE
    assert [chunk async for chunk in stream("q")] == [row] and layer.stats()["entries"] == 0


def broken(answer: Any) -> Any:
    raise LookupError("no such field")


@pytest.mark.parametrize(("view", "answer"), [(broken, {"text": "an answer"}), (None, Expired())])
@pytest.mark.parametrize("prompts", [False, True])
async def test_what_a_trace_cannot_read_of_an_answer_is_left_out_of_it(
    view: Any, answer: Any, prompts: bool
) -> None:
    spans, provider, layer = InMemorySpanExporter(), TracerProvider(), CacheLayer(semantic=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    layer.trace(provider, prompts=prompts)

    @layer.cached(view=view)
    async def ask(question: str) -> Any:
        return answer

    @layer.cached(view=view)
    def plain(question: str) -> Any:
        return answer

    @layer.cached(view=view)
    async def stream(question: str) -> AsyncIterator[Any]:
        yield answer

    assert (await ask("q"), plain("q"), [c async for c in stream("q")]) == (answer, answer, [answer])
    assert len(spans.get_finished_spans()) >= 6 and layer.stats()["faults"]["trace:LookupError"] >= 2


@pytest.mark.parametrize(("view", "why"), [(broken, Reason.FAULT), (lambda _: Reason.VETOED, Reason.VETOED)])
async def test_what_cannot_be_read_or_is_refused_where_it_is_read_is_not_kept(view: Any, why: Reason) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(view=view)
    async def ask(question: str) -> str:
        return "an answer"

    @layer.cached(view=view)
    async def stream(question: str) -> AsyncIterator[str]:
        yield "an answer"

    assert (await ask.outcome("q")).stored is why
    assert [chunk async for chunk in stream("q")] == ["an answer"]
    await layer.flush()
    assert layer.stats()["entries"] == 0


async def test_what_cannot_be_read_to_be_compared_with_a_reference_s_answer_is_not() -> None:
    layer, looks = CacheLayer(semantic=False), count()

    @layer.cached(view=lambda answer: broken(answer) if next(looks) else answer)
    async def ask(question: str) -> str:
        return "an answer"

    comparison = layer.compare(ask, ask.bypass, share=1.0)
    assert await ask("q") == "an answer"
    await layer.flush()
    assert comparison.report()["answers"] == 0 and layer.stats()["faults"]["compare:LookupError"] == 1
