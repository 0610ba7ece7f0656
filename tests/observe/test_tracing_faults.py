"""What follows spans may fail: it is the owner's, and no fault of who asks."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler

from cachelayer import CacheLayer


class Failing(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise KeyError(span.name)


class Undecided(Sampler):
    def should_sample(self, *args: Any, **kwargs: Any) -> Any:
        raise KeyError("user")

    def get_description(self) -> str:
        return "fails"


@pytest.mark.parametrize("sampler", [ALWAYS_ON, Undecided(), ParentBased(Undecided())])
async def test_an_answer_is_its_callers_whatever_becomes_of_its_spans(sampler: Sampler) -> None:
    layer, provider, asked = CacheLayer(semantic=False), TracerProvider(sampler=sampler), []
    provider.add_span_processor(Failing())
    layer.trace(provider)

    @layer.cached
    async def later(question: str) -> str:
        asked.append(question)
        return question.upper()

    @layer.cached
    def now(question: str) -> str:
        asked.append(question)
        return question.upper()

    assert [await later("a"), await later("a"), now("b"), now("b")] == ["A", "A", "B", "B"]
    assert asked == ["a", "b"] and layer.stats()["faults"]["trace:KeyError"] >= 4
