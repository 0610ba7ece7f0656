"""A function that is defined again, as cells of a notebook are run again, takes the place of the one before."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Source

CELL = """
@layer.cached
async def ask(question: str) -> str:
    return f"{question} by {model}"
"""
BOT = """
class Base:
    def hello(self): return "hello"

class Bot(Base):
    @layer.cached(share_self=True)
    def greet(self, name: str) -> str:
        calls.append(name)
        return f"{super().hello()} {name}"
"""


@pytest.fixture
def notebook() -> Any:
    """Runs cells of one module, which is what they are to each other."""
    module = ModuleType("a_notebook")
    module.__dict__.update(layer=CacheLayer(semantic=False), model="m", calls=[])
    sys.modules[module.__name__] = module

    def run(cell: str) -> ModuleType:
        exec(cell, module.__dict__)
        return module

    yield run
    del sys.modules[module.__name__]


async def test_a_cell_that_is_run_again_keeps_its_answers(notebook: Any) -> None:
    assert await notebook(CELL).ask("a") == "a by m"
    again = await notebook("\n\n" + CELL).ask.outcome("a")
    assert (again.answer, again.source) == ("a by m", Source.MEMORY)
    assert notebook("").layer.stats()["functions"]["a_notebook.ask"]["backend_calls"] == 1


async def test_a_cell_of_tools_and_prompts_may_be_run_again_and_be_edited(notebook: Any) -> None:
    """It was refused: another function was wrapped under the name."""
    cell = """
@layer.tools(keep="1m")
def price(item: str) -> str:
    calls.append(item)
    return f"{item} costs 3"

def encode(text):
    return [3]

hello = layer.prompts.template("hello", "Hello {name}")
layer.prompts.tokenizer(encode, name="words")
"""
    for _ in range(2):
        seen = notebook(cell)
        assert (seen.price("lamp"), seen.hello(name="Ann")) == ("lamp costs 3", "Hello Ann")
        assert seen.layer.prompts.ids("lamp").tolist() == [3] and seen.calls == ["lamp"]
    seen = notebook(cell.replace("3", "4").replace("Hello", "Hi"))
    assert (seen.price("lamp"), seen.hello(name="Ann")) == ("lamp costs 4", "Hi Ann")
    assert seen.layer.prompts.ids("lamp").tolist() == [4] and seen.calls == ["lamp"] * 2


async def test_a_cell_that_wraps_what_another_cell_defines_may_be_run_again(notebook: Any) -> None:
    notebook("""
def search(query):
    return [{"id": query}]

def price(item):
    return len(item)
""")
    for _ in range(2):
        seen = notebook('retrieve, ask = layer.retrieval(search), layer.tools(price, keep="1m")')
        assert (await seen.retrieve("a"), seen.ask("lamp")) == ([{"id": "a"}], 4)


async def test_limits_of_its_own_are_those_of_the_one_before(notebook: Any) -> None:
    cell = CELL.replace("@layer.cached", "@layer.cached(max_item_bytes=4096, max_bytes=1 << 20)")
    sources = [(await notebook(cell).ask.outcome("a")).source for _ in range(3)]
    assert sources == [Source.BACKEND, Source.MEMORY, Source.MEMORY]


@pytest.mark.parametrize(
    ("before", "now", "answer"),
    [
        ("{question} by", "{question}, by", "a, by m"),
        ("ask(question: str)", "ask(question: str, n: int = 1)", "a by m"),
    ],
)
async def test_one_that_was_edited_has_answers_of_its_own(
    notebook: Any, before: str, now: str, answer: str
) -> None:
    first = notebook(CELL).ask
    await first("a")
    edited = notebook(CELL.replace(before, now)).ask
    outcomes = [await ask.outcome("a") for ask in (edited, edited, first, notebook(CELL).ask)]
    assert [one.answer for one in outcomes] == [answer, answer, "a by m", "a by m"]
    assert [one.source for one in outcomes] == [Source.BACKEND, *[Source.MEMORY] * 3]
    layer = notebook("").layer
    assert await layer.invalidate(scope={"function": "a_notebook.ask"}) == 2


async def test_options_and_decorators_below_count_as_edits(notebook: Any) -> None:
    below = """
import functools
def loud(how):
    def made(fn):
        @functools.wraps(fn)
        async def louder(question: str) -> str:
            return await fn(question) + how
        return louder
    return made
"""
    answers = []
    for decorators in (
        "@layer.cached\n@loud('!')",
        "@layer.cached\n@loud('?')",
        "@layer.cached(normalize=as_it_is)",
    ):
        notebook("from cachelayer import Normalize\nas_it_is = Normalize(trim=False)\n" + below)
        ask = notebook(CELL.replace("@layer.cached", decorators)).ask
        answers.append((await ask("a "), await ask("a")))
    assert answers == [("a  by m!",) * 2, ("a  by m?",) * 2, ("a  by m", "a by m")]


def test_so_do_classes_and_callables_that_are_wrapped_again(notebook: Any) -> None:
    for _ in range(2):
        assert notebook(BOT).Bot().greet("Ada") == "hello Ada"
    assert notebook("").calls == ["Ada"]
    client = notebook(
        "class Client:\n  def create(self, text: str) -> str: return text\nclient = Client()"
    ).client
    layer = notebook("").layer
    for source in ("backend", "memory"):
        assert layer.wrap(client.create).outcome("a").source == source


CLIENT = """
class Client:
    def __init__(self, model: str) -> None:
        self.model = model

    def ask(self, text: str) -> str:
        calls.append(self.model)
        return f"{text} by {self.model}"

    def __call__(self, text: str) -> str:
        return self.ask(text)
"""


@pytest.mark.parametrize("options", [{}, {"name": "ask"}], ids=["unnamed", "named"])
@pytest.mark.parametrize("method", ["ask", "__call__"])
def test_a_client_made_anew_is_wrapped_again_where_it_is_said_what_of_it_counts(
    notebook: Any, method: str, options: dict[str, Any]
) -> None:
    def wrapped(model: str, cell: str = CLIENT, **more: Any) -> Any:
        client = notebook(cell).Client(model)
        return notebook("").layer.wrap(client if method == "__call__" else client.ask, **options, **more)

    one, other = wrapped("a", self_key="model"), wrapped("b", self_key="model")
    assert one("q") == "q by a" and other("q") == "q by b"
    assert wrapped("a", self_key="model")("q") == "q by a" and one("q") == "q by a"
    assert notebook("").calls == ["a", "b"]
    with pytest.raises(ConfigurationError, match="a method of another object; say with self_key="):
        wrapped("a")


def test_an_edited_class_and_another_class_of_clients_are_told_from_the_one_before(notebook: Any) -> None:
    layer = notebook(CLIENT).layer

    def wrapped(cell: str) -> Any:
        return layer.wrap(notebook(cell).Client("a").ask, name="ask", self_key="model")

    assert [wrapped(CLIENT)("q"), wrapped(CLIENT)("q")] == ["q by a"] * 2
    assert wrapped(CLIENT.replace("{text} by", "{text}, says"))("q") == "q, says a"
    assert wrapped(CLIENT)("q") == "q by a" and notebook("").calls == ["a", "a"]
    with pytest.raises(ConfigurationError, match="another function is wrapped under it"):
        wrapped(CLIENT.replace("Client", "Other") + "\nClient = Other")


def test_two_functions_under_one_name_are_refused(notebook: Any) -> None:
    module = notebook("def a(text: str): return 'a'\ndef b(text: str): return 'b'\nclass Client:\n  ask = a")
    layer = module.layer

    def make(answer: str) -> Any:
        return layer.cached(lambda text: answer)

    make("a")
    layer.wrap(module.a, name="one")
    layer.wrap(module.Client().ask)
    for fn, options in ((module.b, {"name": "one"}), (module.Client().ask, {})):
        with pytest.raises(ConfigurationError, match="another function is wrapped under it"):
            layer.wrap(fn, **options)
    with pytest.raises(ConfigurationError, match="it is wrapped under it already: make it once and use that"):
        layer.wrap(module.a, name="one")
    with pytest.raises(ConfigurationError, match="another function is wrapped under it"):
        make("b")


def test_a_method_that_is_reloaded_in_place_is_the_new_one(notebook: Any) -> None:
    """IPython's autoreload keeps what stands in a class, and gives it the dict of what a new class has there."""
    cell = BOT.replace("{super().hello()}", "hello")
    kept = notebook(cell).Bot
    old, bot = vars(kept)["greet"], kept()
    assert bot.greet("ann") == "hello ann"
    new = notebook(cell.replace('{name}"', '{name}!"')).Bot
    old.__dict__ = new.greet.__dict__
    assert bot.greet("ann") == "hello ann!" == bot.greet.outcome("ann").answer
    assert bot.greet.outcome("ann").match == "exact"
    assert pickle.loads(pickle.dumps(new.greet)) is new.greet
