"""What is said of the slips of a first day: results in place of functions, options without names."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.testing import WordEmbedder


def words(question: str) -> Iterator[str]:
    yield from question.split()


class Agent:
    @asynccontextmanager
    async def run_stream(self, question: str) -> AsyncIterator[str]:
        yield question


class Awaited:
    def __await__(self) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda layer: layer.wrap(Awaited()), "the function itself, as in wrap(ask)"),
        (lambda layer: layer.wrap(object()), "a method as in wrap(client.ask)"),
        (lambda layer: layer.retrieval(5), "fn=5: give a callable"),
        (lambda layer: layer.tools(5), "fn=5: give a callable"),
        (lambda layer: layer.tools(words, keep="1m", ttl="2m"), "ttl='2m': say by keep="),
        (lambda layer: layer.tools(words, keep="1m", ttl=0), "ttl=0: say by keep="),
        (lambda layer: layer.tools(words, keep="1m", ignore=["user"]), "ignore=['user']: give key="),
        (
            lambda layer: layer.tools(words, keep="1m", semantic=True),
            "semantic=True: the arguments of a tool",
        ),
        (lambda layer: layer.retrieval(words, view=str), "say by content= where their text is"),
        (lambda layer: CacheLayer.cached(words), "layer=<function words at "),
        (
            lambda layer: layer.cached(cached_property(words)),
            "put cached_property above the layer's decorator",
        ),
        (lambda layer: layer.cached("1h"), "fn='1h': options have names, as in cached(ttl='10m')"),
        (lambda layer: layer.wrap(Agent().run_stream), "each caller enters its own: wrap what is called"),
        (lambda layer: layer.cached(contextmanager(words)), "a context manager cannot be cached"),
    ],
)
def test_what_cannot_be_wrapped_is_told_with_what_can(make: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        make(CacheLayer(semantic=False))
    assert said in str(raised.value)


def test_a_setting_without_a_name_is_told_to_be_named_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="CacheLayer=<str>: name each setting") as raised:
        CacheLayer("redis://user:secret@host")  # type: ignore[misc]
    assert "secret" not in str(raised.value)


def test_a_class_below_the_layer_may_take_settings_without_names() -> None:
    class Own(CacheLayer):
        def __init__(self, place: str) -> None:
            super().__init__(semantic=False)
            self.place = place

    assert Own("here").place == "here"


def test_a_setting_of_no_such_name_is_told_the_nearest_and_not_shown() -> None:
    with pytest.raises(
        ConfigurationError, match="stor=<str>: unknown argument; did you mean 'store'"
    ) as raised:
        CacheLayer(stor="redis://user:secret@host")  # type: ignore[call-arg]
    assert "secret" not in str(raised.value)


def test_a_scope_that_is_left_in_another_context_says_that_no_call_was_in_it() -> None:
    layer = CacheLayer(semantic=False)
    for block in (layer.scope(tenant="acme"), layer.tighten(no_store=True)):
        contextvars.copy_context().run(block.__enter__)  # as FastAPI enters what is not async
        with pytest.raises(ConfigurationError, match="did not cover the calls in between") as raised:
            block.__exit__(None, None, None)
        assert "acme" not in str(raised.value)


def test_an_error_inside_a_scope_that_is_left_in_another_context_is_what_its_caller_gets() -> None:
    block = CacheLayer(semantic=False).scope(tenant="acme")
    contextvars.copy_context().run(block.__enter__)
    error = KeyError("not found")
    assert not block.__exit__(KeyError, error, None)


async def test_a_generator_that_was_left_inside_a_scope_ends_in_silence() -> None:
    layer, ended = CacheLayer(semantic=False), []

    async def events() -> AsyncIterator[str]:
        with layer.scope(tenant="acme"):
            yield "one"

    source = events()
    assert await contextvars.copy_context().run(asyncio.ensure_future, anext(source)) == "one"
    ended.append(await contextvars.copy_context().run(asyncio.ensure_future, source.aclose()))
    assert ended == [None]


def test_a_function_of_an_instruction_and_a_text_says_which_is_compared() -> None:
    """A prompt that was reworded was answered with what the old one had given."""
    layer = CacheLayer(embedder=WordEmbedder())

    async def classify(prompt: str, text: str) -> str:
        return text

    async def run(input: str, prompt: str) -> str:
        return input

    async def answer(prompt: str, question: str, text: str) -> str:
        return question

    for unclear, remedy in ((classify, "text='text'"), (run, "text='input'")):
        with pytest.raises(ConfigurationError, match=remedy):
            layer.cached(unclear)
        assert layer.cached(text="prompt")(unclear).function.identifier.text == "prompt"
    assert layer.cached(answer).function.identifier.text == "question"
    CacheLayer(semantic=False).cached(classify)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("policy", "policy=<str>: give its fields as options, as in cached(ttl='10m')"),
        ("store", "store=<str>: it belongs to the layer: CacheLayer(store=...)"),
        ("tenant", "tenant=<str>: it belongs to a call: with layer.scope(tenant=...): ..."),
        ("maxsize", "maxsize='a value': unknown option; known are budgets, "),
        ("TTL", "TTL='a value': unknown option; did you mean 'ttl'?"),
        (
            "similarity_threshold",
            "similarity_threshold='a value': no similarity alone is safe here: max_error_rate=",
        ),
    ],
)
def test_what_is_no_option_is_told_where_it_belongs(option: str, said: str) -> None:
    """A tenant was taken for a mistyped `text`, a store for `share`, and lru_cache's `maxsize` for `normalize`."""
    with pytest.raises(ConfigurationError) as raised:
        CacheLayer(semantic=False).cached(**{option: "a value"})(len)  # type: ignore[arg-type]
    assert str(raised.value).startswith(said)


async def test_a_function_given_for_its_name_is_told_where_that_stands() -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.cached(lambda question: question, name="ask")
    with pytest.raises(ConfigurationError, match=r"as ask\.function\.name is the name of ask"):
        await layer.invalidate(scope={"function": ask})
    ask("how?")
    assert await layer.invalidate(scope={"function": ask.function.name}) == 1


def test_a_name_that_no_metrics_can_show_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^name=.* that can be written as UTF-8$"):
        CacheLayer(semantic=False).cached(name="\ud800x")(len)


def test_a_value_too_long_to_read_is_shown_in_part() -> None:
    with pytest.raises(ConfigurationError, match=r"^ttl=\[0, 1, .{130,160} 9998, 9999\]: give seconds"):
        Policy(ttl=list(range(10_000)))  # type: ignore[arg-type]


def test_a_directory_may_be_a_path_and_is_no_url(tmp_path: Path) -> None:
    """A store's URL given as `index` made a directory called `redis:`."""
    with pytest.raises(ConfigurationError, match=f"embedder='{tmp_path}': the directory of a model lacks"):
        asyncio.run(CacheLayer(embedder=tmp_path).start())
    with pytest.raises(ConfigurationError, match=r"index='redis://host': .* a URL belongs to store="):
        CacheLayer(index="redis://host")
    with pytest.raises(ConfigurationError, match="embedder='': name a model"):
        CacheLayer(embedder="")


def test_a_directory_needs_memory(tmp_path: Path) -> None:
    """Nothing was kept there, and nothing said so."""
    with pytest.raises(ConfigurationError, match="max_bytes=0 keeps nothing that it could hold"):
        CacheLayer(index=tmp_path, policy=Policy(max_bytes=0))


async def test_an_exact_layer_has_no_model_to_change() -> None:
    """It was told to start first."""
    with pytest.raises(ConfigurationError, match="this layer is exact only"):
        await CacheLayer(semantic=False).change_model(WordEmbedder())


async def test_another_model_may_be_named_as_the_first_one_is(tmp_path: Path) -> None:
    """The error asked for a name, and did not take one."""
    async with CacheLayer(embedder=WordEmbedder()) as layer:
        with pytest.raises(
            ConfigurationError, match=f"embedder='{tmp_path}': the directory of a model lacks"
        ):
            await layer.change_model(tmp_path)


@pytest.mark.parametrize("tag", ["topic:{body[topic]}", "part:{parts[0]}", "all:{parts}"])
def test_a_tag_over_any_number_of_arguments_is_told_to_name_one(tag: str) -> None:
    """It was taken, and no answer was ever kept."""

    async def ask(question: str, *parts: str, **body: Any) -> str:
        return question

    with pytest.raises(
        ConfigurationError, match="any number of arguments: name one, a keyword by its own name"
    ):
        CacheLayer(semantic=False).cached(tags=[tag])(ask)


async def test_a_tag_may_name_a_keyword_that_the_signature_does_not() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(tags=["topic:{topic}"])
    async def ask(question: str, **body: str) -> str:
        return question

    await ask("how?", topic="kites")
    assert await layer.invalidate(tags=["topic:kites"]) == 1
