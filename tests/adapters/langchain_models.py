"""A chat model that counts and streams, and a judge of words, for the tests of the LangChain adapters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable


class Counting(BaseChatModel):
    """Answers with the number of the call; asks for a tool where one is bound. `finish`: why it ended."""

    calls: int = 0
    temperature: float = 0.0
    finish: str = "stop"
    breaks: bool = False

    @property
    def _llm_type(self) -> str:
        return "counting"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[{"name": tool.name} for tool in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.calls += 1
        called = (
            [{"name": kwargs["tools"][0]["name"], "args": {"a": 2}, "id": "call_1"}]
            if "tools" in kwargs
            else []
        )
        message = AIMessage(
            f"answer {self.calls}", tool_calls=called, response_metadata={"finish_reason": self.finish}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        self.calls += 1
        for piece in ("answer", " ", str(self.calls)):
            yield ChatGenerationChunk(message=AIMessageChunk(piece))
            if self.breaks:
                raise ConnectionError("the line broke")
        end = AIMessageChunk("", response_metadata={"finish_reason": self.finish})
        yield ChatGenerationChunk(message=end)
